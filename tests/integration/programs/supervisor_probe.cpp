// Watches a supervisor from inside: `supervisor_probe FILE` runs that of a config file and prints a
// line on stdout for every state of a slot that its observer is told.
#include <cstdio>
#include <map>
#include <string>

#include "base/exec_shim.hpp"
#include "log/log.hpp"
#include "settings/load.hpp"
#include "supervisor/supervisor.hpp"

using namespace pgflow;

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == kExecVerb) return exec_shim_main(argc, argv);
  log::init({.level = log::Level::debug, .format = log::Format::simple});
  const auto settings = settings::load(argv[1]);
  if (!settings) {
    std::fputs(settings::text_of(settings.error().problems).c_str(), stderr);
    return settings.error().exit_code;
  }
  std::map<std::string, std::string> told;
  return supervisor::run_supervisor(
      *settings,
      {.observer =
           [&told](const supervisor::Snapshot& now) {
             for (const auto& pool : now.pools) {
               for (const auto& slot : pool.slots) {
                 const std::string name = pool.step_slug + "#" + std::to_string(slot.number);
                 const std::string state = std::string(to_string(slot.state)) +
                                           " pid=" + std::to_string(slot.pid) +
                                           " crashes=" + std::to_string(slot.crashes);
                 if (std::exchange(told[name], state) == state) continue;
                 std::printf("%s %s\n", name.c_str(), state.c_str());
               }
             }
             std::printf("phase %s\n", std::string(to_string(now.phase)).c_str());
             std::fflush(stdout);
           }}
  );
}
