#include "supervisor/cli_scripts.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

namespace pgflow::cli {
namespace {

struct Switch {
  std::vector<std::string> names;  // with their dashes
  std::string help, value;         // value: "FILE", "text|json"; empty for a flag
  // What a value may be, when it is one of a few words.
  std::vector<std::string> choices() const {
    std::vector<std::string> words = CLI::detail::split(value, '|');
    const bool all_words =
        words.size() > 1 && std::ranges::all_of(words, [](const auto& word) {
          return !word.empty() &&
                 word.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == std::string::npos;
        });
    return all_words ? words : std::vector<std::string>();
  }
  bool takes_file() const { return value == "FILE" || value == "DIR"; }
};

struct Verb {
  std::string path, name, help;
  std::vector<Switch> switches;
  std::vector<Switch> positionals;  // names[0] without dashes
  std::vector<const CLI::App*> below;
};

Verb verb_of(const CLI::App& app, const std::string& path) {
  Verb verb{path, app.get_name(), app.get_description(), {}, {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    Switch one{{}, option->get_description(), option->get_type_name()};
    if (option->get_positional()) {
      one.names.push_back(option->get_name());
      verb.positionals.push_back(std::move(one));
      continue;
    }
    for (const std::string& name : option->get_snames()) one.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) one.names.push_back("--" + name);
    verb.switches.push_back(std::move(one));
  }
  verb.below = app.get_subcommands([](const CLI::App*) { return true; });
  return verb;
}

// The program itself, then every verb, each before those below it.
void collect(const CLI::App& app, const std::string& path, std::vector<Verb>& all) {
  all.push_back(verb_of(app, path));
  const std::vector<const CLI::App*> below = all.back().below;
  for (const CLI::App* one : below) collect(*one, path + " " + one->get_name(), all);
}

std::vector<Verb> verbs_of(const CLI::App& app) {
  std::vector<Verb> all;
  collect(app, app.get_name(), all);
  return all;
}

// Inside single quotes of a shell.
std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string paths_pattern(const std::vector<Verb>& all, std::string_view separator) {
  std::vector<std::string> paths;
  for (std::size_t i = 1; i < all.size(); ++i) paths.push_back("\"" + all[i].path + "\"");
  return fmt::format("{}", fmt::join(paths, separator));
}

std::string bash(const std::vector<Verb>& all) {
  std::string values, words;
  for (const Verb& verb : all) {
    std::vector<std::string> known;
    for (const CLI::App* below : verb.below) known.push_back(below->get_name());
    for (const Switch& one : verb.switches) {
      known.insert(known.end(), one.names.begin(), one.names.end());
      if (one.value.empty()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : one.names) {
        patterns.push_back(fmt::format("\"{}:{}\"", verb.path, name));
      }
      values += fmt::format(
          "    {}) {} ;;\n",
          fmt::join(patterns, " | "),
          one.takes_file() ? "COMPREPLY=($(compgen -f -- \"$cur\")); return"
                           : fmt::format("words=\"{}\"", fmt::join(one.choices(), " "))
      );
    }
    for (const Switch& one : verb.positionals) {
      const auto choices = one.choices();
      known.insert(known.end(), choices.begin(), choices.end());
    }
    words += fmt::format("      \"{}\") words=\"{}\" ;;\n", verb.path, fmt::join(known, " "));
  }
  return fmt::format(
      R"(# bash completion of pgflow: source <(pgflow completion bash)
_pgflow() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} at=pgflow words=? i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at ${{COMP_WORDS[i]}}" in
      {}) at="$at ${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$at:$prev" in
{}  esac
  if [[ $words == "?" ]]; then
    case "$at" in
{}    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -F _pgflow pgflow
)",
      paths_pattern(all, " | "),
      values,
      words
  );
}

// In the lists of _describe a colon parts a word from its text.
std::string described(std::string_view word, std::string_view help) {
  std::string text;
  for (const char c : word) text += c == ':' ? std::string("\\:") : std::string(1, c);
  return shell_quoted(fmt::format("{}:{}", text, help));
}

std::string zsh(const std::vector<Verb>& all) {
  std::string values, words;
  for (const Verb& verb : all) {
    std::vector<std::string> commands, options;
    for (const CLI::App* below : verb.below) {
      commands.push_back(described(below->get_name(), below->get_description()));
    }
    for (const Switch& one : verb.switches) {
      for (const std::string& name : one.names) options.push_back(described(name, one.help));
      if (one.value.empty()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : one.names) {
        patterns.push_back(fmt::format("\"{}:{}\"", verb.path, name));
      }
      values += fmt::format(
          "    {}) {}; return ;;\n",
          fmt::join(patterns, " | "),
          one.takes_file() ? "_files" : fmt::format("compadd -- {}", fmt::join(one.choices(), " "))
      );
    }
    for (const Switch& one : verb.positionals) {
      for (const std::string& choice : one.choices()) commands.push_back(shell_quoted(choice));
    }
    words += fmt::format(
        "    \"{}\")\n      commands=({})\n      options=({}) ;;\n",
        verb.path,
        fmt::join(commands, " "),
        fmt::join(options, " ")
    );
  }
  return fmt::format(
      R"(#compdef pgflow
# zsh completion of pgflow: source <(pgflow completion zsh), or as _pgflow in a folder of $fpath
_pgflow() {{
  local at=pgflow i
  local -a commands options
  for ((i = 2; i < CURRENT; i++)); do
    case "$at ${{words[i]}}" in
      {}) at="$at ${{words[i]}}" ;;
    esac
  done
  case "$at:${{words[CURRENT-1]}}" in
{}  esac
  case "$at" in
{}  esac
  _describe -t commands command commands
  _describe -o -t options option options
}}
if [[ $funcstack[1] == _pgflow ]]; then _pgflow "$@"; else compdef _pgflow pgflow; fi
)",
      paths_pattern(all, " | "),
      values,
      words
  );
}

std::string fish(const std::vector<Verb>& all) {
  std::string text = fmt::format(
      R"(# fish completion of pgflow: pgflow completion fish | source
function __pgflow_at
  set -l at pgflow
  for word in (commandline -opc)[2..-1]
    switch "$at $word"
      case {}
        set at "$at $word"
    end
  end
  test "$at" = "$argv"
end
complete -c pgflow -f
)",
      paths_pattern(all, " ")
  );
  for (const Verb& verb : all) {
    const std::string at = fmt::format("complete -c pgflow -n \"__pgflow_at {}\"", verb.path);
    for (const CLI::App* below : verb.below) {
      text += fmt::format(
          "{} -a {} -d {}\n", at, below->get_name(), shell_quoted(below->get_description())
      );
    }
    for (const Switch& one : verb.positionals) {
      for (const std::string& choice : one.choices()) text += fmt::format("{} -a {}\n", at, choice);
    }
    for (const Switch& one : verb.switches) {
      std::string names;
      for (const std::string& name : one.names) {
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      std::string value;
      if (one.takes_file()) {
        value = " -r -F";
      } else if (!one.value.empty()) {
        value = fmt::format(
            " -x -a {}", shell_quoted(fmt::format("{}", fmt::join(one.choices(), " ")))
        );
      }
      text += fmt::format("{}{}{} -d {}\n", at, names, value, shell_quoted(one.help));
    }
  }
  return text;
}

// As running text of troff.
std::string troff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  if (out.starts_with('.') || out.starts_with('\'')) out.insert(0, "\\&");
  return out;
}

std::string synopsis(const Verb& verb) {
  std::string text = "\\fB" + troff(verb.path) + "\\fR";
  for (const Switch& one : verb.positionals) text += " \\fI" + troff(one.value) + "\\fR";
  if (verb.switches.size() > 1) text += " [\\fIoptions\\fR]";
  return text;
}

void add_switches(std::string& page, const std::vector<Switch>& switches) {
  for (const Switch& one : switches) {
    std::vector<std::string> names;
    for (const std::string& name : one.names) names.push_back("\\fB" + troff(name) + "\\fR");
    std::string value;
    if (!one.value.empty()) value = " \\fI" + troff(one.value) + "\\fR";
    page += fmt::format(".TP\n{}{}\n{}\n", fmt::join(names, ", "), value, troff(one.help));
  }
}

}  // namespace

std::string completion_script(const CLI::App& app, std::string_view shell) {
  const std::vector<Verb> all = verbs_of(app);
  if (shell == "zsh") return zsh(all);
  if (shell == "fish") return fish(all);
  return bash(all);
}

std::string man_page(const CLI::App& app, std::string_view version) {
  const std::vector<Verb> all = verbs_of(app);
  std::string page = fmt::format(
      ".TH PGFLOW 1 \"\" \"pgflow {}\" \"User Commands\"\n.SH NAME\npgflow \\- durable workflows "
      "on "
      "PostgreSQL\n.SH SYNOPSIS\n\\fBpgflow\\fR \\fIcommand\\fR [\\fIoptions\\fR]\n.SH "
      "DESCRIPTION\n{}\n",
      troff(version),
      troff(all.front().help)
  );
  page += ".SH OPTIONS\n";
  add_switches(page, all.front().switches);
  page += ".SH COMMANDS\n";
  for (std::size_t i = 1; i < all.size(); ++i) {
    const Verb& verb = all[i];
    if (!verb.below.empty() && verb.positionals.empty()) continue;  // only its verbs do something
    page += fmt::format(".SS {}\n{}.\n", synopsis(verb), troff(verb.help));
    std::vector<Switch> own;
    std::ranges::copy_if(verb.switches, std::back_inserter(own), [](const Switch& one) {
      return std::ranges::find(one.names, "--help") == one.names.end();
    });
    add_switches(page, own);
  }
  page += R"(.SH ENVIRONMENT
.TP
\fBDATABASE_URL\fR, \fBEDGE_WORKER_DB_URL\fR
The database, when \-\-database\-url does not name one. PostgreSQL's own variables (\fBPGHOST\fR, ...) come after them.
.TP
\fBPGFLOW_CONFIG\fR
The config file, as \-\-config.
.TP
\fBPGFLOW_DATA_DIR\fR
Where \fBpgflow dev\fR keeps its database.
.TP
\fBPGFLOW_LOG_LEVEL\fR, \fBPGFLOW_LOG_FORMAT\fR
Win over the config file's log settings.
.TP
\fBNO_COLOR\fR, \fBCLICOLOR_FORCE\fR
No colour at all; colour although the output is no terminal.
.SH EXIT STATUS
.TP
\fB0\fR
Done; the answer is yes.
.TP
\fB1\fR
A negative answer: a step is not covered, a run failed, doctor found a failure.
.TP
\fB64\fR
The command line is wrong.
.TP
\fB65\fR
The input is not JSON.
.TP
\fB66\fR
No such file, flow, step, run, worker, queue or fence.
.TP
\fB69\fR
The database or the supervisor cannot be reached.
.TP
\fB70\fR, \fB71\fR
An error of pgflow itself; the operating system refused.
.TP
\fB73\fR
Files are in the way; another supervisor holds the lock.
.TP
\fB75\fR
Try again.
.TP
\fB77\fR
Not allowed to.
.TP
\fB78\fR
The config file or the schema does not fit.
.TP
\fB124\fR
\-\-timeout ran out.
)";
  return page;
}

}  // namespace pgflow::cli
