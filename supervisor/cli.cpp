#include "supervisor/cli.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

#include "base/did_you_mean.hpp"
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/commands/verbs.hpp"

namespace pgflow::cli {
namespace {

// The verb that the arguments had reached when parsing stopped.
const CLI::App& innermost(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().back();
  return *at;
}

// "pgflow run start"
std::string path_of(const CLI::App& verb) {
  if (verb.get_parent() == nullptr) return verb.get_name();
  return path_of(*verb.get_parent()) + " " + verb.get_name();
}

std::vector<std::string> names_below(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::App* below : verb.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(below->get_name());
  }
  return names;
}

std::vector<std::string> options_of(const CLI::App& verb) {
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string with_guess(
    const std::string& given, const std::vector<std::string>& known, const std::string& otherwise
) {
  std::string guess = did_you_mean_hint(given, known);
  return guess.empty() ? otherwise : guess + "  " + otherwise;
}

// What CLI11 could not read, in our words.
Error explain(const CLI::ParseError& error, const CLI::App& app, int argc, char** argv) {
  const CLI::App& at = innermost(app);
  const std::string help = fmt::format("`{} --help` lists what there is.", path_of(at));
  const bool has_verbs = !names_below(at).empty();
  auto is = [&error](CLI::ExitCodes code) {
    return error.get_exit_code() == static_cast<int>(code);
  };

  // What nobody took: an option before anything else, since its value may stand alone beside it.
  std::vector<std::string> rest = app.remaining(true);
  std::ranges::stable_partition(rest, [](const std::string& argument) {
    return argument.starts_with('-');
  });
  const std::string stranger = rest.empty() ? std::string() : rest.front();
  if (is(CLI::ExitCodes::ExtrasError) && !stranger.empty()) {
    if (stranger.starts_with('-') && argc > 1 && stranger == argv[1]) {
      return {
          "usage",
          fmt::format("unknown option \"{}\" of pgflow", stranger),
          "",
          "Options of a command come after it: pgflow status -o json"
      };
    }
    if (stranger.starts_with('-')) {
      return {
          "usage",
          fmt::format("unknown option \"{}\" of {}", stranger, path_of(at)),
          "",
          with_guess(stranger.substr(0, stranger.find('=')), options_of(at), help)
      };
    }
    if (has_verbs) {
      return {
          "usage",
          fmt::format("unknown command \"{}\"", stranger),
          "",
          with_guess(stranger, names_below(at), help)
      };
    }
    return {
        "usage", fmt::format("unexpected argument \"{}\" of {}", stranger, path_of(at)), "", help
    };
  }
  if (is(CLI::ExitCodes::RequiredError) && has_verbs) {
    // CLI11 misses a verb before it minds a wrong one.
    for (int i = 1; i < argc; ++i) {
      std::string argument = argv[i];
      if (argument.starts_with('-') || path_of(at).find(argument) != std::string::npos) continue;
      return {
          "usage",
          fmt::format("unknown command \"{}\"", argument),
          "",
          with_guess(argument, names_below(at), help)
      };
    }
    return {"usage", fmt::format("{} needs a command", path_of(at)), "", help};
  }
  if (is(CLI::ExitCodes::RequiredError)) {
    return {"usage", fmt::format("{}: {}", path_of(at), error.what()), "", help};
  }
  return {"usage", error.what(), "", fmt::format("`{} --help` shows the options.", path_of(at))};
}

}  // namespace

int run(int argc, char** argv) {
  CLI::App app(
      "Workflows whose state lives in PostgreSQL: flows of steps, each with queues and workers of "
      "its own."
  );
  app.name("pgflow");
  app.set_help_flag("-h,--help", "This text");
  app.set_version_flag("--version", "pgflow " PGFLOW_VERSION, "Print the version");
  app.require_subcommand(1);
  app.get_formatter()->column_width(36);
  Verbs verbs(app);
  add_all_verbs(verbs);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    print_error(verbs.common.err, explain(error, app, argc, argv));
    return static_cast<int>(Exit::usage);
  }

  Outcome<Exit> outcome = refuse(
      Exit::os_error,
      "there is no memory left",
      "",
      "A limit is reached: of this process (ulimit -v), its control group, or the machine."
  );
  try {
    outcome = verbs.named();
  } catch (const std::bad_alloc&) {  // what lay on the stack is free again: enough to say so
  }
  // Output that was lost is no success: a full disk is told only here.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    outcome = refuse(
        Exit::os_error,
        "the output could not be written",
        std::strerror(errno),
        "is the disk full, or the reader of the pipe gone?"
    );
  }
  if (!outcome) {
    print_error(verbs.common.err, outcome.error().error);
    return static_cast<int>(outcome.error().exit);
  }
  return static_cast<int>(*outcome);
}

}  // namespace pgflow::cli
