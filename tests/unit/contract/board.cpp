// contract/board: what a worker runs, as its supervisor sees it.
#include "contract/board.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/catch.hpp"

using pgflow::contract::Board;

TEST_CASE("what another process writes is read after its death", "[contract][board]") {
  const auto fd = Board::make();
  REQUIRE(fd);
  const auto ours = Board::open(fd->get());
  REQUIRE(ours);
  CHECK(ours->running().empty());
  const pid_t child = ::fork();
  if (child == 0) {
    auto theirs = *Board::open(fd->get());
    theirs.begin(3, 9'007'199'254'740'993);
    theirs.begin(0, 7);
    theirs.begin(1, 8);
    theirs.end(1);
    ::raise(SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  CHECK(ours->running() == std::vector<std::int64_t>{7, 9'007'199'254'740'993});
}

TEST_CASE("a worker cannot take the memory away from its reader", "[contract][board]") {
  const auto fd = Board::make();
  REQUIRE(fd);
  CHECK(::ftruncate(fd->get(), 0) == -1);
  CHECK(errno == EPERM);
}

TEST_CASE("what is not on the board does no harm", "[contract][board]") {
  auto board = Board::of_our_own();
  board.begin(Board::kPlaces, 1);
  board.end(Board::kPlaces);
  CHECK(board.running().empty());
  board.begin(Board::kPlaces - 1, 2);
  CHECK(board.running() == std::vector<std::int64_t>{2});
}

TEST_CASE("a file that is no board is refused", "[contract][board]") {
  const int fd = ::open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const auto board = Board::open(fd);
  REQUIRE_FALSE(board);
  CHECK(board.error().kind == "os_error");
  ::close(fd);
}
