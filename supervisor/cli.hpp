// The command line of pgflow: from arguments to one verb, from its outcome to texts and an exit
// code.
#pragma once

namespace pgflow::cli {

int run(int argc, char** argv);

}  // namespace pgflow::cli
