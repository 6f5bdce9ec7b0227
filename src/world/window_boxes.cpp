#include "world/window_boxes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/try.h"

namespace varve {
namespace {

constexpr std::int64_t kCoordinateMin = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kCoordinateMax = std::numeric_limits<std::int32_t>::max();

std::int32_t saturated(std::int64_t coordinate) {
  return static_cast<std::int32_t>(std::clamp(coordinate, kCoordinateMin, kCoordinateMax));
}

bool is_coordinate_count(std::size_t count) { return count >= 1 && count <= kCoordinateCountMax; }

bool is_alike(const ChunkPos& a, const ChunkPos& b) {
  return a.space == b.space && a.coordinate_count == b.coordinate_count;
}

Status check(const Window& window) {
  const std::size_t count = window.centre.coordinate_count;
  if (!is_coordinate_count(count)) {
    return invalid_argument(fmt::format("window: a centre of {} coordinates, expected 1 to {}",
                                        count, kCoordinateCountMax));
  }
  for (std::size_t axis = 0; axis < count; ++axis) {
    if (window.radius[axis] < 0) {
      return invalid_argument(
          fmt::format("window: radius {} on axis {} is negative", window.radius[axis], axis));
    }
  }
  if (window.keep_margin < 0) {
    return invalid_argument(fmt::format("window: keep_margin {} is negative", window.keep_margin));
  }
  return {};
}

Result<ChunkBox> box_of(const Window& window, std::int64_t margin) {
  VARVE_TRY(check(window));
  ChunkBox box{.min = window.centre, .max = window.centre};
  for (std::size_t axis = 0; axis < window.centre.coordinate_count; ++axis) {
    const std::int64_t centre = window.centre[axis];
    const std::int64_t reach = window.radius[axis] + margin;
    const std::int64_t ahead = window.look_ahead[axis];
    box.min.coordinates[axis] = saturated(centre - reach + std::min<std::int64_t>(ahead, 0));
    box.max.coordinates[axis] = saturated(centre + reach + std::max<std::int64_t>(ahead, 0));
  }
  if (volume(box) > kWindowVolumeMax) {
    return invalid_argument(
        fmt::format("window: {} chunks, more than {}", volume(box), kWindowVolumeMax));
  }
  return box;
}

}  // namespace

Result<ChunkBox> load_box(const Window& window) { return box_of(window, 0); }

Result<ChunkBox> keep_box(const Window& window) { return box_of(window, window.keep_margin); }

std::uint64_t volume(const ChunkBox& box) noexcept {
  if (!is_alike(box.min, box.max) || !is_coordinate_count(box.min.coordinate_count)) return 0;
  std::uint64_t product = 1;
  bool is_huge = false;
  for (std::size_t axis = 0; axis < box.min.coordinate_count; ++axis) {
    if (box.min[axis] > box.max[axis]) return 0;
    const std::int64_t length = std::int64_t{box.max[axis]} - box.min[axis] + 1;
    is_huge |= __builtin_mul_overflow(product, static_cast<std::uint64_t>(length), &product);
  }
  return is_huge ? std::numeric_limits<std::uint64_t>::max() : product;
}

int priority_of(const ChunkPos& pos, const Window& window) noexcept {
  if (!is_alike(pos, window.centre)) return std::numeric_limits<int>::min();
  bool is_beyond = false;
  double square = 0;
  for (std::size_t axis = 0; axis < kCoordinateCountMax; ++axis) {
    const std::int64_t apart = std::abs(std::int64_t{pos[axis]} - window.centre[axis]);
    is_beyond |= apart > window.radius[axis];
    square += static_cast<double>(apart) * static_cast<double>(apart);
  }
  // In sixteenths of a chunk, so that corners come after edges. Held below what sets the
  // chunks beyond the radius back.
  constexpr int kBeyond = 1 << 30;
  const int distance = static_cast<int>(std::min(16 * std::sqrt(square), double{kBeyond - 1}));
  return is_beyond ? -kBeyond - distance : -distance;
}

DisjointBoxes difference(const ChunkBox& a, const ChunkBox& b) noexcept {
  DisjointBoxes out;
  const auto add = [&out](const ChunkBox& box) { out.boxes[out.count++] = box; };
  if (volume(a) == 0) return out;
  bool is_apart = volume(b) == 0 || !is_alike(a.min, b.min);
  for (std::size_t axis = 0; axis < a.min.coordinate_count && !is_apart; ++axis)
    is_apart = a.max[axis] < b.min[axis] || b.max[axis] < a.min[axis];
  if (is_apart) {
    add(a);
    return out;
  }
  // Cuts off what lies below and above `b` on one axis after the other. What is left is
  // inside `b` on all axes so far, and in the end inside `b`.
  ChunkBox rest = a;
  for (std::size_t axis = 0; axis < a.min.coordinate_count; ++axis) {
    std::int32_t& min = rest.min.coordinates[axis];
    std::int32_t& max = rest.max.coordinates[axis];
    if (min < b.min[axis]) {
      ChunkBox below = rest;
      below.max.coordinates[axis] = b.min[axis] - 1;
      add(below);
      min = b.min[axis];
    }
    if (max > b.max[axis]) {
      ChunkBox above = rest;
      above.min.coordinates[axis] = b.max[axis] + 1;
      add(above);
      max = b.max[axis];
    }
  }
  return out;
}

}  // namespace varve
