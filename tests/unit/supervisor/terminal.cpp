#include "supervisor/terminal.hpp"

#include "support/catch.hpp"

using namespace pgflow::cli;

TEST_CASE("a duration is as long as a person needs it", "[cli][terminal]") {
  CHECK(duration_text(std::nullopt) == "–");
  CHECK(duration_text(0.0) == "0ms");
  CHECK(duration_text(0.007) == "7ms");
  CHECK(duration_text(0.7) == "0.70s");
  CHECK(duration_text(9.999) == "10.0s");
  CHECK(duration_text(25.0) == "25.0s");
  CHECK(duration_text(59.97) == "1m00s");
  CHECK(duration_text(131.0) == "2m11s");
  CHECK(duration_text(11100.0) == "3h05m");
  CHECK(duration_text(187200.0) == "2d04h");
}

TEST_CASE("width counts characters, not bytes, and no colour", "[cli][terminal]") {
  CHECK(display_width("✓ done") == 6);
  CHECK(display_width(Style(true).red("failed")) == 6);
  CHECK(Style(false).red("failed") == "failed");
}

TEST_CASE("columns align whatever they hold, and lines end without spaces", "[cli][terminal]") {
  Table table("  ", {{"STEP"}, {"READY", Align::right}, {"STATE"}});
  table.add({"└ deliver", "7", Style(true).green("ok")});
  table.add({"x", "1200", ""});
  CHECK(
      table.text() ==
      "  STEP       READY  STATE\n  └ deliver      7  \x1b[32mok\x1b[0m\n  x           1200\n"
  );
}

TEST_CASE("a table without headings has no line for them", "[cli][terminal]") {
  Table table("", {{""}, {""}});
  CHECK(table.text().empty());
  table.add({"a", "b"});
  CHECK(table.text() == "a  b\n");
}

TEST_CASE("a bar is full exactly at the end", "[cli][terminal]") {
  CHECK(bar(0, 4) == "░░░░");
  CHECK(bar(0.5, 4) == "██░░");
  CHECK(bar(1, 4) == "████");
  CHECK(bar(7, 4) == "████");
}
