// How the verbs that tell of pgflow itself are called: `completion`, `man`, `version`.
#include "supervisor/cli_scripts.hpp"
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/commands/verbs.hpp"

namespace pgflow::cli {

void add_about_verbs(Verbs& verbs) {
  auto& completion = verbs.add<std::string>(
      verbs.app,
      "completion",
      "Print the completion script of a shell",
      [&app = verbs.app](const Common&, const std::string& shell) -> Outcome<Exit> {
        print(completion_script(app, shell));
        return Exit::ok;
      }
  );
  completion.add_option("shell", *completion, "Which")
      ->required()
      ->check(one_of({"bash", "zsh", "fish"}))
      ->type_name("bash|zsh|fish");

  verbs.add(
      verbs.app,
      "man",
      "Print the man page: pgflow man | man -l -",
      [&app = verbs.app](const Common&) -> Outcome<Exit> {
        print(man_page(app, PGFLOW_VERSION));
        return Exit::ok;
      }
  );

  auto& version = verbs.add(verbs.app, "version", "Print the version", cli::version);
  version.add_output();
}

}  // namespace pgflow::cli
