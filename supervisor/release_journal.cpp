#include "supervisor/release_journal.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <system_error>

#include "json/value.hpp"
#include "json/writer.hpp"
#include "log/log.hpp"
#include "supervisor/state_file.hpp"

namespace pgflow::supervisor {
namespace {

constexpr int kMostLines = 1'000;  // then the file is written anew with what is pending

std::string line_of(const Release& release) {
  json::Writer writer;
  writer.begin_object();
  writer.key("release").string(release.worker_id.text()).key("reason").string(release.reason);
  writer.key("guilty").begin_array();
  for (const MessageId id : release.guilty) writer.integer(id.value());
  writer.end_array().end_object();
  return writer.take() + "\n";
}

std::string line_of_done(WorkerId worker_id) {
  json::Writer writer;
  writer.begin_object().key("done").string(worker_id.text()).end_object();
  return writer.take() + "\n";
}

void forget(std::deque<Release>& pending, WorkerId worker_id) {
  std::erase_if(pending, [&](const Release& release) { return release.worker_id == worker_id; });
}

// The worker that a line names at this key.
std::optional<WorkerId> worker_at(const json::Value& entry, std::string_view key) {
  const auto* text = entry.find(key);
  if (text == nullptr) return std::nullopt;
  const auto id = WorkerId::parse(text->text);
  return id ? std::optional(*id) : std::nullopt;
}

// False for a line that says nothing: one of a crash in the middle of writing, or garbage.
bool read_line(const std::string& line, std::deque<Release>& pending) {
  const auto entry = json::parse(line);
  if (!entry) return false;
  if (const auto done = worker_at(*entry, "done")) {
    forget(pending, *done);
    return true;
  }
  const auto worker_id = worker_at(*entry, "release");
  const auto* reason = entry->find("reason");
  const auto* guilty = entry->find("guilty");
  if (!worker_id || reason == nullptr || guilty == nullptr) return false;
  Release release{*worker_id, reason->text};
  for (const auto& id : guilty->items) release.guilty.emplace_back(id.as_int64().value_or(0));
  forget(pending, *worker_id);
  pending.push_back(std::move(release));
  return true;
}

// Says what becomes of the releases.
Error in_memory(Error error) {
  error.hint = "Releases of dead workers are kept in memory until it can be written.";
  return error;
}

}  // namespace

Result<ReleaseJournal> ReleaseJournal::open(const std::filesystem::path& file) {
  std::deque<Release> pending;
  std::ifstream lines(file);
  int unread = 0;
  for (std::string line; std::getline(lines, line);) unread += read_line(line, pending) ? 0 : 1;
  if (unread > 0) {
    const std::filesystem::path kept = file.string() + ".unreadable";
    std::error_code error;
    std::filesystem::copy_file(
        file, kept, std::filesystem::copy_options::overwrite_existing, error
    );
    log::warn(
        "releases.unreadable",
        {{"file", file.string()},
         {"lines", unread},
         {"kept", error ? error.message() : kept.string()},
         {"hint", "Tasks of a dead worker that they named come back after their timeout."}}
    );
  }
  ReleaseJournal journal(file, std::move(pending));
  if (!journal.rewrite()) return fail(in_memory(file_unusable(file)));
  return journal;
}

Result<void> ReleaseJournal::add(Release release) {
  const std::string line = line_of(release);
  forget(pending_, release.worker_id);
  pending_.push_back(std::move(release));
  if (!append(line)) return fail(in_memory(file_unusable(file_)));
  return {};
}

Result<void> ReleaseJournal::sync() {
  if (fdatasync(fd_.get()) != 0) return fail(in_memory(file_unusable(file_)));
  return {};
}

void ReleaseJournal::done(WorkerId worker_id) {
  const std::string line = line_of_done(worker_id);
  forget(pending_, worker_id);
  if (pending_.empty() && ftruncate(fd_.get(), 0) == 0) {
    lines_ = 0;
  } else if (lines_ >= kMostLines) {
    rewrite();
  } else {
    append(line);
  }
}

void ReleaseJournal::postpone(WorkerId worker_id) {
  const auto found = std::find_if(pending_.begin(), pending_.end(), [&](const Release& release) {
    return release.worker_id == worker_id;
  });
  if (found != pending_.end()) std::rotate(found, found + 1, pending_.end());
}

bool ReleaseJournal::rewrite() {
  std::string text;
  for (const Release& release : pending_) text += line_of(release);
  auto fresh = replace_file(file_, text);
  if (!fresh) return false;
  fd_ = std::move(*fresh);
  lines_ = static_cast<int>(pending_.size());
  return true;
}

bool ReleaseJournal::append(const std::string& line) {
  ++lines_;
  return write_all(fd_.get(), line);
}

}  // namespace pgflow::supervisor
