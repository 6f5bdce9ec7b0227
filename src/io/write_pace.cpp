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
  Clock::time_point free_at = {};      // when what was written is paid for
};
thread_local Pace pace;

}  // namespace

PacedWrites::PacedWrites(std::uint64_t bytes_per_second) noexcept : before_(pace.bytes_per_second) {
  pace = {.bytes_per_second = bytes_per_second, .free_at = Clock::now()};
}
PacedWrites::~PacedWrites() { pace.bytes_per_second = before_; }

std::size_t paced_piece_size(std::size_t size) noexcept {
  return pace.bytes_per_second == 0 ? size : std::min(size, kPieceSize);
}

bool is_paced() noexcept { return pace.bytes_per_second != 0; }

void pace_written(std::size_t size) noexcept {
  if (pace.bytes_per_second == 0) return;
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
