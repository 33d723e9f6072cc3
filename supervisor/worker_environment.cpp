#include "supervisor/worker_environment.hpp"

#include <unistd.h>

#include <map>
#include <string_view>

#include "contract/environment.hpp"

namespace pgflow::supervisor {

std::vector<std::string> worker_environment(
    const settings::WorkerProgram& program,
    const std::vector<std::pair<std::string, std::string>>& more,
    const std::vector<std::pair<std::string, std::string>>& defaults
) {
  std::map<std::string, std::string> variables(defaults.begin(), defaults.end());
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  for (const char* name :
       {contract::kSupervisorFdVariable,
        contract::kSlotFdVariable,
        contract::kBoardFdVariable,
        contract::kWorkerIdVariable,
        contract::kSlotVariable,
        contract::kRevisionVariable,
        contract::kProtocolVariable,
        contract::kLogColourVariable}) {
    variables.erase(name);
  }
  for (const auto* list : {&program.env, &more}) {
    for (const auto& [name, value] : *list) variables[name] = value;
  }
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  return environment;
}

}  // namespace pgflow::supervisor
