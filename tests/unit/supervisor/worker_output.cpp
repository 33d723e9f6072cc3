#include "supervisor/worker_output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "uv/loop.hpp"

using pgflow::UniqueFd;
using pgflow::supervisor::WorkerOutput;

namespace {

// A pipe, and the lines that were heard of what is written into it.
struct Rig {
  Rig() {
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    writer.reset(ends[1]);
    output.emplace(loop, UniqueFd(ends[0]), [this](std::string_view line) {
      lines.emplace_back(line);
      if (on_line) on_line();
    });
  }
  std::size_t write(std::string_view text) const {
    const ssize_t written = ::write(writer.get(), text.data(), text.size());
    return written < 0 ? 0 : static_cast<std::size_t>(written);
  }

  pgflow::uv::Loop loop;
  UniqueFd writer;
  std::vector<std::string> lines;
  std::function<void()> on_line;
  std::optional<WorkerOutput> output;
};

}  // namespace

TEST_CASE("output is heard in lines, however it comes", "[supervisor][output]") {
  Rig rig;
  rig.write("one\ntw");
  rig.loop.run_once();
  CHECK(rig.lines == std::vector<std::string>{"one"});
  rig.write("o\n\nthree");
  rig.loop.run_once();
  CHECK(rig.lines == std::vector<std::string>{"one", "two", ""});
  rig.writer.reset();
  rig.output->finish();
  CHECK(rig.lines == std::vector<std::string>{"one", "two", "", "three"});
}

TEST_CASE("a line without an end is cut, and the next one is whole", "[supervisor][output]") {
  Rig rig;
  const std::string piece(16 * 1024, 'x');
  for (int i = 0; i < 8; ++i) {
    REQUIRE(rig.write(piece) == piece.size());
    rig.loop.run_once();
  }
  rig.write("\nnext\n");
  rig.loop.run_once();
  REQUIRE(rig.lines.size() == 2);
  CHECK(rig.lines[0] == std::string(64 * 1024, 'x') + "…");
  CHECK(rig.lines[1] == "next");
}

TEST_CASE("who floods gets a bounded share of a turn, and of the end", "[supervisor][output]") {
  Rig rig;
  const auto fill = [&] {
    const std::string line = std::string(1023, 'x') + "\n";
    while (rig.write(line) == line.size()) continue;
  };
  fill();
  rig.loop.run_once();
  CHECK(rig.lines.size() == 16);
  // A child that outlives the worker may go on for ever.
  rig.on_line = fill;
  rig.output->finish();
  CHECK(rig.lines.size() == 16 + 8 * 16);
}
