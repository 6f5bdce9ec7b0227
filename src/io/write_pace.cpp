#include "io/write_pace.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace varve {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPieceSize = std::size_t{1} << 20;

struct Pace {
  std::uint64_t bytes_per_second = 0;  // 0: as fast as it goes
  const std::atomic<int>* waiter_count = nullptr;
  Clock::time_point free_at = {};  // when what was written is paid for
};
thread_local Pace pace;

}  // namespace

PacedWrites::PacedWrites(std::uint64_t bytes_per_second,
                         const std::atomic<int>* waiter_count) noexcept
    : bytes_per_second_before_(pace.bytes_per_second), waiter_count_before_(pace.waiter_count) {
  pace = {
      .bytes_per_second = bytes_per_second, .waiter_count = waiter_count, .free_at = Clock::now()};
}
PacedWrites::~PacedWrites() {
  pace.bytes_per_second = bytes_per_second_before_;
  pace.waiter_count = waiter_count_before_;
}

bool is_paced() noexcept {
  if (pace.bytes_per_second == 0) return false;
  return pace.waiter_count == nullptr || pace.waiter_count->load(std::memory_order_relaxed) == 0;
}

std::size_t paced_piece_size(std::size_t size) noexcept {
  return pace.bytes_per_second == 0 ? size : std::min(size, kPieceSize);
}

void pace_written(std::size_t size) noexcept {
  if (!is_paced()) return;
  // Small writes are let through at once and paid for together.
  const auto now = Clock::now();
  const std::chrono::duration<double> cost(static_cast<double>(size) /
                                           static_cast<double>(pace.bytes_per_second));
  pace.free_at = std::max(pace.free_at, now) + std::chrono::duration_cast<Clock::duration>(cost);
  const std::chrono::duration<double> burst(static_cast<double>(kPieceSize) /
                                            static_cast<double>(pace.bytes_per_second));
  if (pace.free_at - now > burst) {
    std::this_thread::sleep_until(pace.free_at -
                                  std::chrono::duration_cast<Clock::duration>(burst));
  }
}

}  // namespace varve
