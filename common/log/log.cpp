// The process's one logger: spdlog gives the level, the lock and the sink, line.cpp gives the text.
#include "log/log.hpp"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "log/stderr_sink.hpp"

namespace pgflow::log {
namespace {

struct Log {
  explicit Log(Options given) : options(std::move(given)) {
    const bool terminal = ::isatty(STDERR_FILENO) == 1;
    format = options.format.value_or(terminal ? Format::fancy : Format::simple);
    const char* no_colour = std::getenv("NO_COLOR");
    const bool plain = no_colour != nullptr && *no_colour != '\0';
    colour = options.colour.value_or(terminal && !plain);
    for (const auto& [key, value] : options.context) context.emplace_back(key, value);
  }

  std::string rendered(Level level, std::string_view event, std::span<const Field> fields) const {
    const Line line{
        .time = WallClock::now(),
        .level = level,
        .component = options.component,
        .pid = ::getpid(),
        .event = event,
        .fields = fields,
        .context = context,
    };
    return render(line, format, colour);
  }

  Options options;
  Format format;
  bool colour;
  std::vector<Field> context;  // points into options
  const std::shared_ptr<StderrSink> sink = std::make_shared<StderrSink>([this](auto lines) {
    const Field count[] = {{"lines", lines}};
    return rendered(Level::warn, "log.left_out", count) + "\n";
  });
  spdlog::logger logger{"pgflow", sink};
};

spdlog::level::level_enum spdlog_level(Level level) {
  switch (level) {
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warn:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

std::unique_ptr<Log> make(Options options) {
  auto log = std::make_unique<Log>(std::move(options));
  log->logger.set_level(spdlog_level(log->options.level));
  return log;
}

// Never destroyed: threads and destructors may still log while the process ends.
std::unique_ptr<Log>& current() {
  static auto* log = new std::unique_ptr<Log>(make({}));
  return *log;
}

void write_with_error(Level level, std::string_view event, const Error& problem, Fields given) {
  std::vector<Field> fields(given);
  fields.emplace_back("error", problem.message);
  if (!problem.kind.empty()) fields.emplace_back("error_kind", problem.kind);
  if (!problem.detail.empty()) fields.emplace_back("error_detail", problem.detail);
  if (!problem.hint.empty()) fields.emplace_back("error_hint", problem.hint);
  if (!problem.sqlstate.empty()) fields.emplace_back("sqlstate", problem.sqlstate);
  write(level, event, fields);
}

}  // namespace

void init(Options options) {
  current() = make(std::move(options));
}

void set_level(Level level) {
  current()->logger.set_level(spdlog_level(level));
}

Format format() {
  return current()->format;
}

bool colour() {
  return current()->colour;
}

void forward(std::string_view line) {
  current()->sink->log({"pgflow", spdlog::level::info, {line.data(), line.size()}});
}

std::uint64_t lines_left_out() {
  return current()->sink->left_out();
}

bool enabled(Level level) {
  return current()->logger.should_log(spdlog_level(level));
}

void write(Level level, std::string_view event, std::span<const Field> fields) {
  Log& log = *current();
  if (!log.logger.should_log(spdlog_level(level))) return;
  const std::string text = log.rendered(level, event, fields);
  log.logger.log(spdlog_level(level), spdlog::string_view_t(text.data(), text.size()));
}

void warn(std::string_view event, const Error& error, Fields fields) {
  write_with_error(Level::warn, event, error, fields);
}

void error(std::string_view event, const Error& error, Fields fields) {
  write_with_error(Level::error, event, error, fields);
}

}  // namespace pgflow::log
