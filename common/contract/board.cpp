#include "contract/board.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>

namespace pgflow::contract {

// Zeros are an empty board. A 64-bit store is one instruction, so a reader sees a whole id or none.
struct Board::Memory {
  std::atomic<std::uint64_t> used;  // places from here on were never taken
  std::array<std::atomic<std::int64_t>, kPlaces> msg_ids;
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

namespace {

tl::unexpected<Error> no_board(const char* doing) {
  return fail(
      {.kind = "os_error",
       .message =
           std::string("Cannot ") + doing + " the memory that a worker shares with its supervisor.",
       .detail = std::strerror(errno),
       .hint = "Free memory, or raise the limits of memory and of open files (ulimit -v, -n)."}
  );
}

void* mapped(int flags, int fd) {
  return ::mmap(
      nullptr, sizeof(std::int64_t) * (Board::kPlaces + 1), PROT_READ | PROT_WRITE, flags, fd, 0
  );
}

}  // namespace

void Board::Unmap::operator()(Memory* memory) const {
  ::munmap(memory, sizeof(Memory));
}

Result<UniqueFd> Board::make() {
  UniqueFd fd(::memfd_create("pgflow-board", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  // Sealed: a worker that cut it would bring its reader down.
  if (fd.get() < 0 || ::ftruncate(fd.get(), sizeof(Memory)) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return no_board("make");
  return fd;
}

Result<Board> Board::open(int fd) {
  static_assert(sizeof(Memory) == sizeof(std::int64_t) * (kPlaces + 1));
  void* const memory = mapped(MAP_SHARED, fd);
  if (memory == MAP_FAILED) return no_board("open");
  return Board(static_cast<Memory*>(memory));
}

Board Board::of_our_own() {
  void* const memory = mapped(MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return Board(static_cast<Memory*>(memory));
}

void Board::begin(std::size_t place, std::int64_t msg_id) {
  if (place >= kPlaces) return;
  auto used = memory_->used.load(std::memory_order_relaxed);
  while (used <= place && !memory_->used.compare_exchange_weak(used, place + 1)) {
  }
  memory_->msg_ids[place].store(msg_id, std::memory_order_seq_cst);
}

void Board::end(std::size_t place) {
  if (place < kPlaces) memory_->msg_ids[place].store(0, std::memory_order_seq_cst);
}

std::vector<std::int64_t> Board::running() const {
  std::vector<std::int64_t> ids;
  // The worker may have written nonsense before it died.
  const std::size_t used = std::min<std::size_t>(memory_->used.load(), kPlaces);
  for (std::size_t place = 0; place < used; ++place) {
    const std::int64_t id = memory_->msg_ids[place].load();
    if (id != 0) ids.push_back(id);
  }
  return ids;
}

}  // namespace pgflow::contract
