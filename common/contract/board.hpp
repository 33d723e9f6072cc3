// Which tasks a worker's handlers run at this moment: memory that the worker writes and its
// supervisor reads, also after the worker's death.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace pgflow::contract {

// A place for each handler thread. A message id stands there from just before the handler's first
// instruction until just after its last: no packet could be as exact when the handler brings its
// process down, and none is as cheap.
class Board {
 public:
  // Handlers beyond it are not on the board.
  static constexpr std::size_t kPlaces = 10'000;

  // Memory for one worker, to be inherited.
  static Result<UniqueFd> make();
  // What make() made, in the supervisor or in the worker.
  static Result<Board> open(int fd);
  // One that nobody else reads.
  static Board of_our_own();

  void begin(std::size_t place, std::int64_t msg_id);
  void end(std::size_t place);

  std::vector<std::int64_t> running() const;

 private:
  struct Memory;
  struct Unmap {
    void operator()(Memory* memory) const;
  };
  explicit Board(Memory* memory) : memory_(memory) {}
  std::unique_ptr<Memory, Unmap> memory_;
};

}  // namespace pgflow::contract
