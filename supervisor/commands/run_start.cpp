// `pgflow run start`: one run, or one for each line of input.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

#include "json/value.hpp"
#include "store/run_store.hpp"
#include "supervisor/commands/command.hpp"
#include "supervisor/commands/report.hpp"
#include "supervisor/database.hpp"
#include "supervisor/runs.hpp"

namespace pgflow::cli {
namespace {

constexpr std::size_t kBatch = 500;  // runs started in one statement

struct Input {
  std::string text;
  std::string source;  // a file's name, for messages
};

std::string all_of(std::istream& stream) {
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

Outcome<Input> read_input(const std::string& given) {
  if (given == "-") {
    return Input{all_of(std::cin), "<stdin>"};
  }
  if (!given.starts_with('@')) return Input{given, ""};
  std::string path = given.substr(1);
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return refuse(
        Exit::not_found,
        fmt::format("cannot read {}", path),
        std::strerror(errno),
        "--input @FILE names a readable file"
    );
  }
  return Input{all_of(file), path};
}

tl::unexpected<Failure> invalid_input(const Error& error) {
  return refuse(
      Exit::bad_data,
      "the input is not JSON: " + error.message,
      error.detail,
      error.hint.empty() ? "nothing was started; --input takes JSON, @FILE, or - for stdin"
                         : error.hint
  );
}

// The inputs of the runs, each one JSON value.
Outcome<std::vector<std::string>> split_input(const Input& input, bool each_line) {
  const json::ParseOptions options{.source = input.source};
  if (!each_line) {
    Result<json::Value> value = json::parse(input.text, options);
    if (!value) {
      Error error = value.error();
      const std::size_t line_end = input.text.find('\n');
      if (line_end != std::string::npos && json::parse(input.text.substr(0, line_end), options)) {
        error.hint = "nothing was started; --each-line starts one run for each line";
      }
      return invalid_input(error);
    }
    return std::vector<std::string>(1, input.text);
  }
  std::vector<std::string> lines;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < input.text.size(); ++number) {
    const std::size_t end = std::min(input.text.find('\n', begin), input.text.size());
    std::string line = input.text.substr(begin, end - begin);
    begin = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (!json::parse(line, options)) {
      // Once more, on the line where it stands, for the position in the message.
      return invalid_input(json::parse(std::string(number, '\n') + line, options).error());
    }
    lines.push_back(std::move(line));
  }
  if (lines.empty())
    return refuse(Exit::bad_data, "the input has no lines", "", "nothing was started");
  return lines;
}

Outcome<std::vector<std::string>> start_all(
    Database& database, const std::string& flow, const std::vector<std::string>& inputs
) {
  store::RunStore runs(database.connection());
  std::vector<std::string> run_ids;
  for (std::size_t begin = 0; begin < inputs.size(); begin += kBatch) {
    const std::span<const std::string> batch =
        std::span(inputs).subspan(begin, std::min(kBatch, inputs.size() - begin));
    std::vector<RunId> ids;
    for (std::size_t i = 0; i < batch.size(); ++i) ids.push_back(RunId::time_ordered());
    auto started = database.await<void>([&](auto done) {
      runs.start_many(flow, batch, ids, std::move(done));
    });
    if (!started) {
      Failure failed = started.error();
      if (begin > 0) {
        failed.error.detail += fmt::format(
            "{}{} were started before this one; `pgflow run list` shows them.",
            failed.error.detail.empty() ? "" : " ",
            counted(static_cast<long long>(begin), "run")
        );
      }
      return tl::unexpected(std::move(failed));
    }
    for (const RunId& run_id : ids) run_ids.push_back(run_id.text());
  }
  return run_ids;
}

}  // namespace

Outcome<Exit> run_start(const Common& common, const RunStartArguments& arguments) {
  Outcome<Input> input = read_input(arguments.input);
  if (!input) return tl::unexpected(input.error());
  Outcome<std::vector<std::string>> inputs = split_input(*input, arguments.each_line);
  if (!inputs) return tl::unexpected(inputs.error());

  Outcome<std::unique_ptr<Database>> database = Database::open_with_schema(common);
  if (!database) return tl::unexpected(database.error());
  if (Outcome<void> known = require_flow(**database, arguments.flow); !known)
    return tl::unexpected(known.error());
  Outcome<std::vector<std::string>> run_ids = start_all(**database, arguments.flow, *inputs);
  if (!run_ids) return tl::unexpected(run_ids.error());

  const std::string hint = "pgflow run show " + run_ids->front();
  if (arguments.wait) {
    Outcome<Exit> end = watch_runs(common, **database, *run_ids, arguments.timeout);
    if (end) print_hint(common, hint);
    return end;
  }
  if (common.output == Output::json) return print_run_states(common, **database, *run_ids);
  for (const std::string& run_id : *run_ids) print(run_id);
  print_hint(common, hint);
  return Exit::ok;
}

}  // namespace pgflow::cli
