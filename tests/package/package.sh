#!/usr/bin/env bash
# package.sh installed|built|embedded BUILD WORK COMPILER LAUNCHER: builds tests/package/consumer and tries what came out.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$(cd "$here/../.." && pwd)
kind=$1 build=$2 work=$3 compiler=$4 launcher=$5
rm -rf "$work"
mkdir -p "$work"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

case $kind in
  installed)
    prefix=$work/prefix
    cmake --install "$build" --prefix "$prefix" >"$work/install.log"
    # Nothing of the tree that it was built in.
    if grep -rlF --include='*.cmake' "$source" "$prefix"; then fail "an installed file names the source tree"; fi
    "$prefix/bin/pgflow" --version | grep -q '^pgflow' || fail "the installed program does not say its version"
    arguments=(-DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release)
    ;;
  built)
    # Found by the program on the PATH, as an installed one is.
    PATH=$build/bin:$PATH
    arguments=(-DCMAKE_BUILD_TYPE=Release)
    ;;
  embedded)
    arguments=(-DPGFLOW_SOURCE="$source" -DCMAKE_BUILD_TYPE=Debug)
    ;;
esac
cmake -G Ninja -S "$here/consumer" -B "$work/build" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" "${arguments[@]}" >"$work/configure.log"
build() { cmake --build "$work/build" --target "$@" >"$work/build.log" || { cat "$work/build.log" >&2; fail "the consumer does not build"; }; }

build hello_shape
"$work/build/hello_shape" | grep -q '"slug":"greet"' || fail "the definition does not describe itself"
if [[ $kind == embedded ]]; then
  # The worker's libraries would be compiled once more, by the same rules: that they can be is enough.
  build hello_flow hello_test -- -n
  exit
fi
if [[ $kind == built ]]; then
  build hello_flow
  exit
fi
build hello_flow hello_test

flow=$work/build/hello_flow
[[ $("$flow" --pgflow-describe) == "$(cat "$work/build/hello_flow.manifest.json")" ]] || fail "the manifest is not what the program says"
grep -q '"flowSlug":"helloV1"' "$work/build/hello_flow.manifest.json" || fail "the manifest does not describe the flow"
[[ $(echo '{"name":"Ada"}' | "$flow" --pgflow-invoke greet) == '"Hello, Ada!"' ]] || fail "the handler does not run"
"$work/build/hello_test" || fail "the consumer's test fails"

# What only run time can know fails the build, and leaves no manifest behind.
if cmake --build "$work/build" --target broken_flow >"$work/broken.log" 2>&1; then fail "a broken flow builds"; fi
grep -q 'max_attempts' "$work/broken.log" || fail "the build does not say what is wrong with the broken flow"
[[ ! -e $work/build/broken_flow.manifest.json ]] || fail "the broken flow has a manifest"
