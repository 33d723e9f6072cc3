#include "supervisor/describe.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>

#include "base/clock.hpp"
#include "base/unique_fd.hpp"
#include "contract/environment.hpp"
#include "supervisor/worker_environment.hpp"
#include "uv/child_process.hpp"
#include "uv/poll.hpp"
#include "uv/timer.hpp"

namespace pgflow::supervisor {
namespace {

constexpr std::size_t kMostOutput = 4U << 20U;
constexpr std::size_t kMostDetail = 2'000;

// One end of a pipe, read as it fills, up to a limit.
class Collector {
 public:
  explicit Collector(uv::Loop& loop) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
    read_end_.reset(ends[0]);
    write_end_.reset(ends[1]);
    // The child's end must block: a program may print more than a pipe holds.
    fcntl(ends[1], F_SETFL, 0);
    poll_.emplace(loop, ends[0], [this](uv::Ready) { read_all(); });
    poll_->watch(true, false);
  }

  int child_end() const { return write_end_.get(); }
  void close_child_end() { write_end_.reset(); }
  void read_all() {
    char buffer[16'384];
    for (;;) {
      const ssize_t count = read(read_end_.get(), buffer, sizeof buffer);
      if (count < 0 && errno == EINTR) continue;
      if (count == 0 && poll_) poll_->stop();
      if (count <= 0) return;
      text_.append(buffer, static_cast<std::size_t>(count));
      if (overflowing()) return;
    }
  }
  bool overflowing() const { return text_.size() > kMostOutput; }
  const std::string& text() const { return text_; }

 private:
  UniqueFd read_end_;
  UniqueFd write_end_;
  std::string text_;
  std::optional<uv::Poll> poll_;  // before the descriptors close
};

Error failed(const settings::FlowSettings& flow, std::string what, const std::string& said) {
  std::string detail = said.substr(0, kMostDetail);
  while (!detail.empty() && detail.back() == '\n') detail.pop_back();
  std::string command;
  for (const std::string& word : flow.worker.command)
    command += (command.empty() ? "" : " ") + word;
  return {
      .kind = "describe_failed",
      .message = "The worker program of flow " + flow.slug + " does not describe it: " + command +
                 " --pgflow-describe " + flow.slug + " " + std::move(what) + ".",
      .detail = detail.empty() ? "It printed nothing on stderr." : "It said: " + detail,
      .hint = "Run that command by hand; it must print one line of JSON and exit with 0."
  };
}

}  // namespace

Result<contract::Manifest> describe(
    uv::Loop& loop, const settings::FlowSettings& flow, const std::function<bool()>& give_up
) {
  Collector out(loop);
  Collector err(loop);
  std::vector<std::string> arguments = flow.worker.command;
  arguments.insert(arguments.end(), {contract::kDescribeFlag, flow.slug});
  std::optional<uv::ChildProcess::Exit> exit;
  auto child = uv::ChildProcess::start(
      loop,
      {.arguments = std::move(arguments),
       .environment = worker_environment(flow.worker, {}),
       .folder = flow.worker.cwd.string(),
       .descriptors = {{out.child_end(), 1}, {err.child_end(), 2}},
       .new_session = true},
      [&exit](uv::ChildProcess::Exit ended) { exit = ended; }
  );
  if (!child) {
    Error error = std::move(child.error());
    error.kind = "no_program";
    return fail(std::move(error));
  }
  out.close_child_end();
  err.close_child_end();

  bool late = false;
  uv::Timer deadline(loop, [&late] { late = true; });
  deadline.start(kDescribeLimit);
  const auto cut_off = [&] { return late || give_up() || out.overflowing() || err.overflowing(); };
  while (!exit && !cut_off()) loop.run_once();
  // The whole session: a shell script's children too.
  const pid_t session = (*child)->pid();
  if (!exit) {
    kill(-session, SIGKILL);
    while (!exit) loop.run_once();
    if (give_up()) return fail({.kind = "stopped", .message = "Stopped while starting."});
    if (!late) return fail(failed(flow, "prints without end", err.text()));
    return fail(failed(flow, "did not end within " + human_duration(kDescribeLimit), err.text()));
  }
  out.read_all();
  err.read_all();
  if (exit->signal != 0) {
    return fail(failed(flow, "died of signal " + std::to_string(exit->signal), err.text()));
  }
  if (exit->code != 0) {
    return fail(failed(flow, "ended with exit code " + std::to_string(exit->code), err.text()));
  }
  auto manifests = contract::read_manifests(out.text());
  if (!manifests) {
    Error error = std::move(manifests.error());
    error.message += " Program: " + flow.worker.command[0] + ".";
    return fail(std::move(error));
  }
  for (auto& manifest : *manifests) {
    if (manifest.flow_slug == flow.slug) return std::move(manifest);
  }
  return fail(
      {.kind = "bad_manifest",
       .message = "The worker program " + flow.worker.command[0] + " does not know flow " +
                  flow.slug + ".",
       .detail = "It describes " + manifests->front().flow_slug + ".",
       .hint = "Correct flows[].slug, or flows[].worker.command."}
  );
}

}  // namespace pgflow::supervisor
