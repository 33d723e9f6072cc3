// What the command line is made of: its verbs, each with the options that it takes.
//
// Completion scripts, the man page and `--help` read the same CLI::App that parses. The functions
// at the end fill it, a group of verbs each, in the order that `pgflow --help` lists them.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "supervisor/commands/command.hpp"

namespace pgflow::cli {

// One verb, with the options that many share.
class Verb : public CLI::App {
 public:
  Verb(CLI::App& parent, std::string name, std::string help, Common& common)
      : App(std::move(help), std::move(name), &parent), common_(common) {}

  void add_output();       // -o text|json
  void add_list_output();  // -o text|json|jsonl
  void add_output(std::vector<std::string> known, const std::string& help);
  void add_config();
  void add_database();  // with the config file that may name it
  void add_socket();
  void add_room();  // what all verbs share that talk to a running supervisor

  CLI::Option* add_duration(const std::string& name, Timeout& value, const std::string& help);
  CLI::Option* add_timeout(Timeout& timeout);
  void add_waiting(WaitArguments& waiting, const std::string& help);
  void add_pools(PoolArguments& pools);

 private:
  Common& common_;
};

// A verb that owns what its arguments are read into.
template <class Arguments>
class VerbWith : public Verb {
 public:
  using Verb::Verb;

  Arguments& operator*() { return arguments_; }
  Arguments* operator->() { return &arguments_; }

 private:
  Arguments arguments_{};
};

struct Verbs {
  explicit Verbs(CLI::App& root) : app(root) {}

  CLI::App& app;
  Common common;
  std::function<Outcome<Exit>()> named;  // the verb that the command line named, once it is parsed

  // A word that only has verbs below it.
  CLI::App& group(const std::string& name, const std::string& help);

  Verb& add(
      CLI::App& parent,
      const std::string& name,
      const std::string& help,
      std::function<Outcome<Exit>(const Common&)> run
  );

  template <class Arguments>
  VerbWith<Arguments>& add(
      CLI::App& parent,
      const std::string& name,
      const std::string& help,
      std::function<Outcome<Exit>(const Common&, const Arguments&)> run
  ) {
    auto verb = std::make_shared<VerbWith<Arguments>>(parent, name, help, common);
    VerbWith<Arguments>& added = *verb;
    attach(parent, std::move(verb), [this, &added, run = std::move(run)] {
      return run(common, *added);
    });
    return added;
  }

 private:
  void attach(
      CLI::App& parent, std::shared_ptr<Verb> verb, std::function<Outcome<Exit>()> when_named
  );
};

// A check of an option's value.
std::function<std::string(const std::string&)> one_of(std::vector<std::string> known);

void add_project_verbs(Verbs& verbs);
void add_order_verbs(Verbs& verbs);
void add_watching_verbs(Verbs& verbs);
void add_run_verbs(Verbs& verbs);
void add_task_verbs(Verbs& verbs);
void add_queue_verbs(Verbs& verbs);
void add_worker_verbs(Verbs& verbs);
void add_fence_verbs(Verbs& verbs);
void add_database_verbs(Verbs& verbs);
void add_config_verbs(Verbs& verbs);
void add_about_verbs(Verbs& verbs);

inline void add_all_verbs(Verbs& verbs) {
  add_project_verbs(verbs);
  add_order_verbs(verbs);
  add_watching_verbs(verbs);
  add_run_verbs(verbs);
  add_task_verbs(verbs);
  add_queue_verbs(verbs);
  add_worker_verbs(verbs);
  add_fence_verbs(verbs);
  add_database_verbs(verbs);
  add_config_verbs(verbs);
  add_about_verbs(verbs);
}

}  // namespace pgflow::cli
