# What the tests of READMEs share; to be sourced.

# prints_what_it_shows README FOLDER LOG: the commands of its console block are run here, and what they print is compared
# with what stands there. Ids, times and durations may differ. False, with the difference on stdout, when it does.
prints_what_it_shows() {
  local readme=$1 folder=$2 log=$3 line
  sed -n '/^```console$/,/^```$/{//!p}' "$readme" >"$folder/shown"
  [[ -s $folder/shown ]] || { echo "$readme has no console block"; return 1; }
  while IFS= read -r line; do
    [[ $line == '$ '* ]] || continue
    echo "$line"
    eval "${line#'$ '}" </dev/null || { echo "ended with $?"; break; }
  done <"$folder/shown" >"$folder/printed" 2>>"$log"
  diff -u --label "$readme" --label printed <(same_everywhere "$folder/shown") <(same_everywhere "$folder/printed")
}

same_everywhere() {
  sed -E -e 's/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/ID/g' -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}/TIME/' \
    -e 's/(queued|ran|took) [0-9.]+ ?[a-zµ]+/\1 SPAN/g' -e 's/ +/ /g' "$1"
}
