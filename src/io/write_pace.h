// Writing no faster than somebody beside can bear.
//
// What is written in one go is written back in one go, when it is synced, and a log that is synced
// beside it waits for all of it. While a PacedWrites lives, what its thread writes to real files is
// handed to the disk piece by piece, and not faster than it says.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace varve {

class PacedWrites {
 public:
  // 0: as fast as it goes. So is everything while `waiter_count` is above 0, which must outlive
  // this: who waits for the end of what is written has nothing beside it that could suffer.
  explicit PacedWrites(std::uint64_t bytes_per_second,
                       const std::atomic<int>* waiter_count = nullptr) noexcept;
  ~PacedWrites();
  PacedWrites(const PacedWrites&) = delete;
  PacedWrites& operator=(const PacedWrites&) = delete;

 private:
  const std::uint64_t bytes_per_second_before_;
  const std::atomic<int>* const waiter_count_before_;
};

// For a kind of disk: how much to write at a time, whether each piece is to be handed on at once,
// and a rest after it.
std::size_t paced_piece_size(std::size_t size) noexcept;
bool is_paced() noexcept;
void pace_written(std::size_t size) noexcept;

}  // namespace varve
