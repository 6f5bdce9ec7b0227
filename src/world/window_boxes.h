// The boxes of chunks a streaming window stands for, and what changes when it moves.
//
// A moved window asks for the difference of two boxes, which costs what it yields: a step
// of one chunk yields a slab, however large the window is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "varve/key.h"
#include "varve/result.h"
#include "varve/world_options.h"

namespace varve {

// A window larger than this is a mistake, such as a radius in blocks instead of chunks.
inline constexpr std::uint64_t kWindowVolumeMax = 1'000'000;

// What is loaded: the centre and the radius around it, and further on by look_ahead. Ends
// where coordinates end. invalid_argument for a negative radius or margin, or a volume
// above kWindowVolumeMax.
Result<ChunkBox> load_box(const Window& window);
// What is not dropped yet: load_box and keep_margin on every side. Refuses the same.
Result<ChunkBox> keep_box(const Window& window);

// How many positions it has; the largest number there is if they are more than that.
std::uint64_t volume(const ChunkBox& box) noexcept;

// The order to load in: the greater, the sooner. Nearer chunks come before farther ones,
// and what is within the radius before what is only ahead.
int priority_of(const ChunkPos& pos, const Window& window) noexcept;

// Boxes that do not overlap.
struct DisjointBoxes {
  std::array<ChunkBox, 2 * kCoordinateCountMax> boxes;
  std::size_t count = 0;

  auto begin() const noexcept { return boxes.begin(); }
  auto end() const noexcept { return boxes.begin() + count; }
};

// What of `a` is not in `b`, as at most two slabs for each axis. Boxes of different spaces
// or coordinate counts have nothing in common.
DisjointBoxes difference(const ChunkBox& a, const ChunkBox& b) noexcept;

// Calls fn(pos) for every position of a box, the last axis changing fastest.
template <class Fn>
void for_each_in(const ChunkBox& box, Fn&& fn) {
  if (volume(box) == 0) return;
  ChunkPos pos = box.min;
  while (true) {
    fn(static_cast<const ChunkPos&>(pos));
    // Counts up like an odometer. Compared before it is increased, since the largest
    // coordinate has no next one.
    std::size_t axis = pos.coordinate_count;
    while (axis != 0 && pos.coordinates[axis - 1] == box.max.coordinates[axis - 1]) {
      --axis;
      pos.coordinates[axis] = box.min.coordinates[axis];
    }
    if (axis == 0) return;
    ++pos.coordinates[axis - 1];
  }
}

// Calls fn(pos) for every position of `a` that is not in `b`, and visits no other.
template <class Fn>
void for_each_in_difference(const ChunkBox& a, const ChunkBox& b, Fn&& fn) {
  for (const ChunkBox& box : difference(a, b)) for_each_in(box, fn);
}

}  // namespace varve
