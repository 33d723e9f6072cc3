#include "supervisor/process_tree.hpp"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/proc.hpp"
#include "contract/environment.hpp"
#include "uv/child_process.hpp"

namespace pgflow::supervisor {
namespace {

struct ProcessStat {
  char state = '?';
  int session = 0;
  unsigned long long start_time = 0;
};

std::string proc_file(int pid, const char* name) {
  return pgflow::proc_file(std::to_string(pid) + "/" + name);
}

std::optional<ProcessStat> process_stat(int pid) {
  const std::string text = proc_file(pid, "stat");
  // The program's name, in parentheses, may hold anything, parentheses too.
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  ProcessStat stat;
  long long skipped = 0;
  fields >> stat.state >> skipped >> skipped >> stat.session;  // fields 3 to 6 of proc(5)
  for (int field = 7; field < 22; ++field) fields >> skipped;
  fields >> stat.start_time;
  if (!fields) return std::nullopt;
  return stat;
}

std::vector<int> all_processes() {
  std::vector<int> pids;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
  if (!folder) return pids;
  while (const dirent* entry = readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    int pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc{} && end == name.data() + name.size()) pids.push_back(pid);
  }
  return pids;
}

// Whose it is by its environment; nil: no worker's.
WorkerId worker_of(int pid) {
  const std::string mark = std::string(contract::kWorkerIdVariable) + "=";
  std::istringstream environment(proc_file(pid, "environ"));
  for (std::string entry; std::getline(environment, entry, '\0');) {
    if (entry.starts_with(mark))
      return WorkerId::parse(entry.substr(mark.size())).value_or(WorkerId());
  }
  return {};
}

}  // namespace

unsigned long long process_start_time(int pid) {
  const auto stat = process_stat(pid);
  return stat ? stat->start_time : 0;
}

void kill_exactly(int pid, unsigned long long start_time) {
  // The descriptor first, the check after it: what it names cannot change between check and signal.
  const UniqueFd process = open_pidfd(pid);
  if (!process || process_start_time(pid) != start_time) return;
  syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
}

std::vector<int> kill_leftovers(std::span<const Remains> dead) {
  std::map<int, std::size_t> by_session;
  std::map<WorkerId, std::size_t> by_worker;
  for (std::size_t i = 0; i < dead.size(); ++i) {
    if (dead[i].session != 0) by_session.emplace(dead[i].session, i);
    by_worker.emplace(dead[i].worker_id, i);
  }
  std::vector<int> alive(dead.size());
  for (const int pid : all_processes()) {
    if (pid == getpid()) continue;
    const auto stat = process_stat(pid);
    if (!stat || stat->state == 'Z' || stat->state == 'X') continue;
    std::optional<std::size_t> whose;
    if (const auto found = by_session.find(stat->session); found != by_session.end()) {
      whose = found->second;
    } else if (const auto id = by_worker.find(worker_of(pid)); id != by_worker.end()) {
      whose = id->second;
    }
    if (!whose) continue;
    ++alive[*whose];
    kill_exactly(pid, stat->start_time);
  }
  return alive;
}

void become_subreaper() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void reap_strangers() {
  for (const int pid : children_of_first_thread()) {
    if (!uv::ChildProcess::awaits(pid)) waitpid(pid, nullptr, WNOHANG);
  }
}

}  // namespace pgflow::supervisor
