// The workers whose tasks are still to be given back, on disk: a supervisor that dies in between
// loses none.
#pragma once

#include <deque>
#include <filesystem>
#include <string>

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "store/worker_store.hpp"

namespace pgflow::supervisor {

using store::Release;

class ReleaseJournal {
 public:
  // Reads what an earlier supervisor left. A torn last line is one that was never acted on.
  static Result<ReleaseJournal> open(const std::filesystem::path& file);

  const std::deque<Release>& pending() const { return pending_; }

  // On disk when this returns. After an error it is pending all the same, in memory only.
  Result<void> add(Release release);
  // What was added outlives the machine's crash from here on, not only this process's.
  Result<void> sync();
  // The release is in the database. A failure to note that is harmless: it would be repeated, and
  // repeating does nothing.
  void done(WorkerId worker_id);
  // Behind the others, because it fails while others may not.
  void postpone(WorkerId worker_id);

 private:
  ReleaseJournal(std::filesystem::path file, std::deque<Release> pending)
      : file_(std::move(file)), pending_(std::move(pending)) {}

  bool rewrite();
  bool append(const std::string& line);

  std::filesystem::path file_;
  std::deque<Release> pending_;
  UniqueFd fd_;
  int lines_ = 0;
};

}  // namespace pgflow::supervisor
