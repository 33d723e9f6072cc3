#include "local_pg/server.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/exec_shim.hpp"
#include "local_pg/access.hpp"

namespace pgflow::local_pg {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr milliseconds kLook = 10ms;        // between two looks at postmaster.pid
constexpr milliseconds kOwnerLook = 500ms;  // does the owner of the joined server live?
constexpr milliseconds kAttachLimit =
    60s;  // for another process that is making or starting the server
constexpr milliseconds kAbsenceLimit = 15s;     // for a fast shutdown that is under way
constexpr milliseconds kStillInUseLimit = 15s;  // for backends that outlive a killed postmaster
constexpr milliseconds kStopLimit = 10s;
constexpr std::size_t kLastLines = 20;

// fsync and synchronous_commit stay on in development too: durability is the product.
constexpr std::string_view kConfiguration = R"(# Written by pgflow at every start.
listen_addresses = ''
unix_socket_directories = '{run_dir}'
unix_socket_permissions = {permissions}
shared_buffers = 64MB
max_connections = 100
jit = off
fsync = on
synchronous_commit = on
log_destination = stderr
logging_collector = off
log_line_prefix = ''
log_checkpoints = off
)";

// is_local() of the schema asks for this setting: data may be dropped by a recompilation only in a
// database that pgflow itself made for one project.
constexpr std::string_view kFirstStatements =
    "create database pgflow;\n"
    "alter database pgflow set pgflow.environment = 'local';\n";

Result<void> write_file(
    const fs::path& path, const std::string& text, const std::optional<std::string>& owner
) {
  std::ofstream file(path, std::ios::trunc);
  file << text;
  file.close();
  if (!file) {
    return fail({
        .kind = "os_error",
        .message = fmt::format("cannot write {}", path.string()),
        .detail = std::strerror(errno),
        .hint = "check the free space and the folder's permissions",
    });
  }
  return give_to(path, owner);
}

void fsync_folder(const fs::path& folder) {
  const UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd) fsync(fd.get());
}

std::string sql_quoted(const std::string& text) {
  std::string result;
  for (char c : text) result += c == '\'' ? "''" : std::string(1, c);
  return result;
}

Error foreign_server(pid_t pid, const fs::path& data) {
  return {
      "local_pg",
      fmt::format("another PostgreSQL (pid {}) works on {}", pid, data.string()),
      "pgflow did not start it, or it does not finish shutting down.",
      fmt::format("stop it with `kill -INT {}`, or connect to it with --database-url", pid),
  };
}

}  // namespace

Server::Server(uv::Loop& loop, Options options)
    : loop_(loop), options_(std::move(options)), timer_(loop, [this] { (this->*next_step_)(); }) {}

Server::~Server() {
  if (child_ && child_->running()) child_->signal(SIGINT);
}

void Server::start(std::function<void(Result<Started>)> done) {
  started_ = std::move(done);
  began_ = steady_clock::now();
  state_ = State::waiting;
  if (Result<void> planned = plan(); !planned) return give_up(planned.error());
  deadline_ = began_ + kAttachLimit;
  acquire();
}

Result<void> Server::plan() {
  user_ = server_user();
  Result<Layout> layout = plan_layout(options_.root, options_.run_dir);
  if (!layout) return tl::unexpected(layout.error());
  layout_ = *layout;
  // The server's user has to pass through; what lies below is closed by PostgreSQL itself.
  if (Result<void> made = make_folder(layout_.root, user_ ? 0755 : 0700, std::nullopt); !made)
    return made;
  if (user_) {
    if (std::optional<fs::path> closed = first_closed_folder(layout_.root, *user_)) {
      return fail({
          .kind = "local_pg",
          .message = fmt::format("user {} may not enter {}", *user_, closed->string()),
          .detail = fmt::format(
              "root's private server runs as {} and needs {}", *user_, layout_.root.string()
          ),
          .hint = "put the data elsewhere with PGFLOW_DATA_DIR, for example in /var/lib/pgflow",
      });
    }
  }
  lock_.reset(open(layout_.lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (lock_) return {};
  return fail({
      .kind = "os_error",
      .message = fmt::format("cannot open {}", layout_.lock.string()),
      .detail = std::strerror(errno),
      .hint = "check the folder's owner and permissions",
  });
}

void Server::acquire() {
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) {
    deadline_ = steady_clock::now() + kAbsenceLimit;
    return await_absence();
  }
  std::optional<Postmaster> running = running_postmaster(layout_.data);
  if (running && running->ready) {
    state_ = State::attached;
    was_ready_ = true;
    later(kOwnerLook, &Server::take_over);
    return answer(Started{
        .endpoint = {.socket_dir = running->socket_dir},
        .version = std::to_string(data_major(layout_.data).value_or(0)),
        .attached = true,
        .created = false,
        .took = std::chrono::duration_cast<milliseconds>(steady_clock::now() - began_),
    });
  }
  if (steady_clock::now() > deadline_) {
    return give_up({
        "local_pg",
        fmt::format(
            "another pgflow holds {}, but its database does not get ready", layout_.lock.string()
        ),
        "",
        "stop that process, or look at what it prints",
    });
  }
  later(kLook, &Server::acquire);
}

void Server::take_over() {
  if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) return later(kOwnerLook, &Server::take_over);
  state_ = State::backoff;
  deadline_ = steady_clock::now() + kAbsenceLimit;
  await_absence();
}

void Server::await_absence() {
  std::optional<Postmaster> running = running_postmaster(layout_.data);
  if (!running) return begin();
  if (steady_clock::now() > deadline_) return give_up(foreign_server(running->pid, layout_.data));
  later(kLook, &Server::await_absence);
}

void Server::begin() {
  const std::optional<int> major = data_major(layout_.data);
  Result<Binaries> binaries = find_binaries(options_.binaries, major);
  if (!binaries) return give_up(binaries.error());
  binaries_ = *binaries;
  if (major) return launch();
  std::error_code ignored;
  if (fs::exists(layout_.data, ignored)) {
    return give_up({
        "local_pg",
        fmt::format("{} is not a database folder", layout_.data.string()),
        "It has no file PG_VERSION.",
        "move it away to begin anew",
    });
  }
  initialise();
}

void Server::initialise() {
  state_ = State::initialising;
  clear_unborn();
  if (Result<void> made = make_folder(layout_.unborn, 0700, user_); !made)
    return give_up(made.error());
  std::vector<std::string> command{
      binaries_.initdb(),
      "--pgdata=" + layout_.unborn.string(),
      "--username=pgflow",
      "--encoding=UTF8",
      "--locale=C.UTF-8",
      "--auth-local=peer",
      "--auth-host=reject",
      "--data-checksums",
      "--wal-segsize=1",
  };
  if (options_.ephemeral) command.emplace_back("--no-sync");
  // Not SIGTERM, on which an orphaned initdb would remove the folder by its name: the next one's,
  // by then.
  Result<void> run = run_child(command, SIGKILL, {}, [this](uv::ChildProcess::Exit exit) {
    if (exit.code != 0 || exit.signal != 0)
      return give_up(child_failed("making the database failed (initdb)"));
    fill();
  });
  if (!run) give_up(run.error());
}

void Server::clear_unborn() const {
  // A server process of an initdb that was just killed may still write into the folder it was
  // started in: moved out of the way first, it cannot hurt, and what is not removed now is removed
  // next time.
  const fs::path leftover = layout_.unborn.string() + ".old";
  std::error_code ignored;
  fs::remove_all(leftover, ignored);
  fs::rename(layout_.unborn, leftover, ignored);
  fs::remove_all(leftover, ignored);
}

void Server::fill() {
  std::ofstream(layout_.unborn / "postgresql.conf", std::ios::app) << "\ninclude 'pgflow.conf'\n";
  if (Result<void> written = write_configuration(layout_.unborn); !written)
    return give_up(written.error());
  // Single-user mode, before anybody can connect: a cluster without its database never gets its
  // final name.
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return give_up(child_failed("making a pipe failed"));
  UniqueFd input(ends[0]);
  const UniqueFd writer(ends[1]);
  if (write(writer.get(), kFirstStatements.data(), kFirstStatements.size()) < 0) {
    return give_up(child_failed("writing to a pipe failed"));
  }
  Result<void> run = run_child(
      {binaries_.postgres(), "--single", "-D", layout_.unborn, "postgres"},
      SIGKILL,
      std::move(input),
      [this](uv::ChildProcess::Exit exit) {
        // In single-user mode a failed statement is only an ERROR line.
        const bool complained = std::ranges::any_of(last_lines_, [](const std::string& line) {
          return line.find("ERROR:") != std::string::npos;
        });
        if (exit.code != 0 || exit.signal != 0 || complained) {
          return give_up(child_failed("creating the database pgflow failed"));
        }
        adopt();
      }
  );
  if (!run) give_up(run.error());
}

void Server::adopt() {
  std::error_code error;
  fs::rename(layout_.unborn, layout_.data, error);
  if (error) return give_up(child_failed("renaming the new database folder failed"));
  if (!options_.ephemeral) fsync_folder(layout_.root);
  created_ = true;
  launch();
}

void Server::launch() {
  state_ = State::starting;
  auto prepared =
      write_configuration(layout_.data)
          .and_then([this] {
            return make_folder(layout_.run_dir.parent_path(), user_ ? 0755 : 0700, std::nullopt);
          })
          .and_then([this] { return make_folder(layout_.run_dir, user_ ? 0755 : 0700, user_); })
          .and_then([this] {
            return run_child(
                {binaries_.postgres(), "-D", layout_.data},
                SIGINT,
                {},
                [this](uv::ChildProcess::Exit exit) { on_server_exit(exit); }
            );
          });
  if (!prepared) return give_up(prepared.error());
  launched_ = true;
  check_ready();
}

void Server::check_ready() {
  if (state_ != State::starting) return;
  std::optional<Postmaster> running = running_postmaster(layout_.data);
  if (!running || !running->ready || running->pid != child_->pid())
    return later(kLook, &Server::check_ready);
  state_ = State::ready;
  backoff_.reset();
  if (was_ready_) {
    if (options_.on_restart) options_.on_restart();
    return;
  }
  was_ready_ = true;
  answer(Started{
      .endpoint = {.socket_dir = layout_.run_dir},
      .version = binaries_.version,
      .attached = false,
      .created = created_,
      .took = std::chrono::duration_cast<milliseconds>(steady_clock::now() - began_),
  });
}

void Server::on_server_exit(uv::ChildProcess::Exit exit) {
  const bool still_in_use = std::ranges::any_of(last_lines_, [](const std::string& line) {
    return line.find("is still in use") != std::string::npos;
  });
  if (was_ready_ || (still_in_use && steady_clock::now() < began_ + kStillInUseLimit))
    return relaunch_later();
  give_up(child_failed(
      exit.signal != 0
          ? fmt::format("the database server was killed by signal {} while starting", exit.signal)
          : fmt::format("the database server did not start (exit code {})", exit.code)
  ));
}

void Server::relaunch_later() {
  state_ = State::backoff;
  later(backoff_.next(), &Server::launch);
}

void Server::stop(std::function<void()> done) {
  stopped_ = std::move(done);
  timer_.stop();
  if (!child_ || !child_->running()) return finish_stop();
  // An initdb that is cut short leaves data.tmp, which the next start removes.
  // In single-user mode SIGINT would only cancel the statement.
  const int number = state_ == State::initialising ? SIGTERM : SIGINT;
  state_ = State::stopping;
  child_->signal(number);
  later(kStopLimit, &Server::escalate_stop);
}

void Server::escalate_stop() {
  child_->signal(SIGQUIT);
}

void Server::finish_stop() {
  timer_.stop();
  state_ = State::stopped;
  std::error_code ignored;
  if (launched_) fs::remove_all(layout_.run_dir, ignored);
  if (options_.ephemeral) fs::remove_all(layout_.root, ignored);
  lock_.reset();
  if (auto done = std::exchange(stopped_, nullptr)) done();
}

Result<void> Server::write_configuration(const fs::path& data) const {
  std::string configuration(kConfiguration);
  auto replace = [&configuration](std::string_view mark, const std::string& value) {
    configuration.replace(configuration.find(mark), mark.size(), value);
  };
  replace("{run_dir}", sql_quoted(layout_.run_dir.string()));
  replace("{permissions}", user_ ? "0777" : "0700");
  // Whoever reaches the socket is asked for nothing but to be one of these users.
  std::string identities = "pgflow root pgflow\n";
  for (const std::string& name : {calling_user(), user_.value_or("root")}) {
    if (name != "root") identities += fmt::format("pgflow \"{}\" pgflow\n", name);
  }
  return write_file(data / "pgflow.conf", configuration, user_)
      .and_then([&] {
        return write_file(data / "pg_hba.conf", "local all all peer map=pgflow\n", user_);
      })
      .and_then([&] { return write_file(data / "pg_ident.conf", identities, user_); });
}

Result<void> Server::run_child(
    const std::vector<std::string>& command,
    int parent_death_signal,
    UniqueFd input,
    std::function<void(uv::ChildProcess::Exit)> on_exit
) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0)
    return tl::unexpected(child_failed("making a pipe failed"));
  output_poll_.reset();
  output_.reset(ends[0]);
  UniqueFd writer(ends[1]);
  // The server shares the file description with its children; it must block, or lines get lost.
  fcntl(writer.get(), F_SETFL, 0);
  partial_line_.clear();
  last_lines_.clear();

  ExecShim shim;
  shim.parent_death_signal = parent_death_signal;
  shim.parent = getpid();
  shim.user = user_.value_or("");
  uv::ChildCommand child{
      .arguments = exec_shim_command(options_.shim_program, shim, command),
      .folder = "/",
      .descriptors = {{writer.get(), 1}, {writer.get(), 2}},
      .new_session = true,
  };
  if (input) child.descriptors.emplace_back(input.get(), 0);
  Result<std::unique_ptr<uv::ChildProcess>> started = uv::ChildProcess::start(
      loop_,
      child,
      [this, on_exit = std::move(on_exit)](uv::ChildProcess::Exit exit) {
        read_output();
        if (state_ == State::stopping) return finish_stop();
        on_exit(exit);
      }
  );
  if (!started) return tl::unexpected(started.error());
  child_ = std::move(*started);
  output_poll_ =
      std::make_unique<uv::Poll>(loop_, output_.get(), [this](uv::Ready) { read_output(); });
  output_poll_->watch(true, false);
  return {};
}

void Server::read_output() {
  std::array<char, 4096> buffer{};
  for (ssize_t n; output_ && (n = read(output_.get(), buffer.data(), buffer.size())) >= 0;) {
    if (n == 0) {
      output_poll_.reset();
      output_.reset();
      break;
    }
    partial_line_.append(buffer.data(), static_cast<std::size_t>(n));
    for (std::size_t end; (end = partial_line_.find('\n')) != std::string::npos;) {
      std::string line = partial_line_.substr(0, end);
      partial_line_.erase(0, end + 1);
      if (line.empty()) continue;
      if (options_.on_log) options_.on_log(line);
      last_lines_.push_back(std::move(line));
      if (last_lines_.size() > kLastLines) last_lines_.pop_front();
    }
  }
}

void Server::answer(Result<Started> result) {
  if (auto done = std::exchange(started_, nullptr)) done(std::move(result));
}

void Server::give_up(Error error) {
  if (was_ready_) {
    // Somebody counts on it: tell, and try again.
    if (options_.on_log) options_.on_log("error: " + error.text());
    state_ = State::backoff;
    deadline_ = steady_clock::now() + kAbsenceLimit;
    return later(backoff_.next(), &Server::await_absence);
  }
  state_ = State::stopped;
  timer_.stop();
  std::error_code ignored;
  if (options_.ephemeral) fs::remove_all(layout_.root, ignored);
  lock_.reset();
  answer(tl::unexpected(std::move(error)));
}

Error Server::child_failed(std::string_view what) const {
  // The last line that names a reason, else the last line.
  std::string reason = last_lines_.empty() ? std::string() : last_lines_.back();
  for (const std::string& line : last_lines_) {
    for (std::string_view mark : {"FATAL:", "PANIC:", "error:", "ERROR:"}) {
      if (line.find(mark) != std::string::npos) reason = line;
    }
  }
  return {
      "local_pg",
      std::string(what),
      reason,
      fmt::format("the data lies in {}", layout_.root.string())
  };
}

void Server::later(milliseconds delay, Step step) {
  next_step_ = step;
  timer_.start(delay);
}

}  // namespace pgflow::local_pg
