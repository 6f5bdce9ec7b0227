#include "world/window_boxes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <unordered_set>
#include <vector>

namespace varve {
namespace {

constexpr std::int32_t kMin = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();

using Positions = std::unordered_set<ChunkPos>;

// A small box near the origin, near either end of the coordinates, or empty.
ChunkBox any_box(std::uint8_t coordinate_count, std::int32_t base) {
  ChunkBox box;
  box.min.coordinate_count = box.max.coordinate_count = coordinate_count;
  for (std::size_t axis = 0; axis < coordinate_count; ++axis) {
    const int start = *rc::gen::inRange(0, 5);
    const int length =
        *rc::gen::weightedOneOf<int>({{9, rc::gen::inRange(1, 6)}, {1, rc::gen::just(0)}});
    box.min.coordinates[axis] = base + start;
    box.max.coordinates[axis] = base + (start + length - 1);
  }
  return box;
}

// The highest is reached but not passed: start and length come to at most 9.
std::int32_t any_base() { return *rc::gen::element(-4, 0, kMin + 1, kMax - 8); }
std::uint8_t any_coordinate_count() { return static_cast<std::uint8_t>(*rc::gen::inRange(1, 5)); }

bool is_inside(const ChunkBox& box, const ChunkPos& pos) {
  if (pos.coordinate_count != box.min.coordinate_count) return false;
  for (std::size_t axis = 0; axis < pos.coordinate_count; ++axis) {
    if (pos[axis] < box.min[axis] || pos[axis] > box.max[axis]) return false;
  }
  return true;
}

// Every position of a box, found by trying all around it.
Positions brute_force(const ChunkBox& box, std::int32_t base) {
  Positions out;
  const int count = box.min.coordinate_count;
  int total = 1;
  for (int axis = 0; axis < count; ++axis) total *= 9;
  for (int i = 0; i < total; ++i) {
    ChunkPos pos;
    pos.coordinate_count = box.min.coordinate_count;
    int rest = i;
    for (int axis = 0; axis < count; ++axis, rest /= 9)
      pos.coordinates[static_cast<std::size_t>(axis)] = base + rest % 9;
    if (is_inside(box, pos)) out.insert(pos);
  }
  return out;
}

RC_GTEST_PROP(WindowBoxes, ABoxIsVisitedOnceAndInOrder, ()) {
  const std::int32_t base = any_base();
  const ChunkBox box = any_box(any_coordinate_count(), base);
  std::vector<ChunkPos> visited;
  for_each_in(box, [&](const ChunkPos& pos) { visited.push_back(pos); });
  RC_ASSERT(visited.size() == volume(box));
  RC_ASSERT(Positions(visited.begin(), visited.end()) == brute_force(box, base));
  RC_ASSERT(Positions(visited.begin(), visited.end()).size() == visited.size());
  for (std::size_t i = 1; i < visited.size(); ++i)
    RC_ASSERT(visited[i - 1].coordinates < visited[i].coordinates);
}

RC_GTEST_PROP(WindowBoxes, ADifferenceIsWhatOneHasAndTheOtherHasNot, ()) {
  const std::int32_t base = any_base();
  const std::uint8_t coordinate_count = any_coordinate_count();
  const ChunkBox a = any_box(coordinate_count, base);
  const ChunkBox b = any_box(coordinate_count, base);
  Positions expected = brute_force(a, base);
  std::erase_if(expected, [&](const ChunkPos& pos) { return is_inside(b, pos); });
  Positions found;
  std::size_t visit_count = 0;
  for_each_in_difference(a, b, [&](const ChunkPos& pos) {
    ++visit_count;
    found.insert(pos);
  });
  RC_ASSERT(found == expected);
  RC_ASSERT(visit_count == expected.size());
  RC_ASSERT(difference(a, b).count <= 2u * coordinate_count);
}

TEST(WindowBoxes, AStepOfAHugeBoxVisitsOneSlab) {
  const ChunkBox a{.min = ChunkPos(kMin, 0), .max = ChunkPos(kMax - 1, 2)};
  const ChunkBox b{.min = ChunkPos(kMin + 1, 0), .max = ChunkPos(kMax, 2)};
  std::vector<ChunkPos> visited;
  for_each_in_difference(a, b, [&](const ChunkPos& pos) { visited.push_back(pos); });
  EXPECT_EQ(visited, (std::vector{ChunkPos(kMin, 0), ChunkPos(kMin, 1), ChunkPos(kMin, 2)}));
  visited.clear();
  for_each_in_difference(b, a, [&](const ChunkPos& pos) { visited.push_back(pos); });
  EXPECT_EQ(visited, (std::vector{ChunkPos(kMax, 0), ChunkPos(kMax, 1), ChunkPos(kMax, 2)}));
}

TEST(WindowBoxes, DifferentCoordinateCountsHaveNothingInCommon) {
  const ChunkBox flat{.min = ChunkPos(0, 0), .max = ChunkPos(3, 3)};
  const ChunkBox deep{.min = ChunkPos(0, 0, 0), .max = ChunkPos(3, 3, 0)};
  std::size_t visit_count = 0;
  for_each_in_difference(flat, deep, [&](const ChunkPos&) { ++visit_count; });
  EXPECT_EQ(visit_count, 16u);
}

TEST(WindowBoxes, VolumesAreCountedUpToTheLargestNumber) {
  EXPECT_EQ(volume({.min = ChunkPos(5), .max = ChunkPos(5)}), 1u);
  EXPECT_EQ(volume({.min = ChunkPos(6), .max = ChunkPos(5)}), 0u);
  EXPECT_EQ(volume({.min = ChunkPos(kMin), .max = ChunkPos(kMax)}), std::uint64_t{1} << 32);
  EXPECT_EQ(volume({.min = ChunkPos(kMin, kMin), .max = ChunkPos(kMax, kMax)}),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(volume({.min = ChunkPos(kMin, kMin, 1), .max = ChunkPos(kMax, kMax, 0)}), 0u);
  EXPECT_EQ(volume({.min = ChunkPos(0, 0), .max = ChunkPos(0, 0, 0)}), 0u) << "no box at all";
}

TEST(WindowBoxes, AWindowReachesAheadOnOneSide) {
  const Window window{.centre = ChunkPos(10, -10),
                      .radius = {3, 2},
                      .look_ahead = {4, -5, 99, 99},
                      .keep_margin = 2};
  const auto load = load_box(window);
  ASSERT_TRUE(load.ok());
  EXPECT_EQ(load->min, ChunkPos(7, -17));
  EXPECT_EQ(load->max, ChunkPos(17, -8));
  const auto keep = keep_box(window);
  ASSERT_TRUE(keep.ok());
  EXPECT_EQ(keep->min, ChunkPos(5, -19));
  EXPECT_EQ(keep->max, ChunkPos(19, -6));
}

TEST(WindowBoxes, AWindowEndsWhereCoordinatesEnd) {
  const Window window{.centre = ChunkPos(kMax - 1, kMin + 1),
                      .radius = {5, 5},
                      .look_ahead = {kMax, kMin},
                      .keep_margin = 3};
  const auto load = load_box(window);
  ASSERT_TRUE(load.ok());
  EXPECT_EQ(load->min, ChunkPos(kMax - 6, kMin));
  EXPECT_EQ(load->max, ChunkPos(kMax, kMin + 6));
  EXPECT_EQ(keep_box(window)->min, ChunkPos(kMax - 9, kMin));
}

TEST(WindowBoxes, WindowsThatMakeNoSenseAreRefused) {
  const auto expect_refused = [](const Result<ChunkBox>& box) {
    ASSERT_FALSE(box.ok());
    EXPECT_EQ(box.error().code(), ErrorCode::invalid_argument);
  };
  for (const Window& window :
       {Window{.centre = ChunkPos(0, 0), .radius = {1, -1}},
        Window{.centre = ChunkPos(0, 0), .radius = {1, 1}, .keep_margin = -1},
        Window{.centre = ChunkPos(0, 0), .radius = {500, 500}},
        Window{.centre = ChunkPos(0, 0, 0, 0), .radius = {kMax, kMax, kMax, kMax}}}) {
    expect_refused(load_box(window));
    expect_refused(keep_box(window));
  }
  Window shapeless;
  for (const std::uint8_t count : {0, 5, 255}) {
    shapeless.centre.coordinate_count = count;
    expect_refused(load_box(shapeless));
  }
  // A million is fine, but leaves no room for a margin.
  const Window large{.centre = ChunkPos(0, 0), .radius = {499, 499}, .look_ahead = {1, 1}};
  EXPECT_EQ(volume(*load_box(large)), kWindowVolumeMax);
  expect_refused(keep_box(large));
  // What an unused axis says does not matter.
  EXPECT_TRUE(load_box({.centre = ChunkPos(0), .radius = {1, -1}}).ok());
}

double square_distance(const ChunkPos& a, const ChunkPos& b) {
  double sum = 0;
  for (std::size_t axis = 0; axis < kCoordinateCountMax; ++axis) {
    const double apart = double(a[axis]) - b[axis];
    sum += apart * apart;
  }
  return sum;
}

TEST(WindowBoxes, NearChunksComeFirstAndThoseAheadLast) {
  const Window window{.centre = ChunkPos(100, 7), .radius = {4, 3}, .look_ahead = {6, 0}};
  const ChunkBox near{.min = ChunkPos(96, 4), .max = ChunkPos(104, 10)};
  std::vector<ChunkPos> all;
  for_each_in(*load_box(window), [&](const ChunkPos& pos) { all.push_back(pos); });
  ASSERT_EQ(all.size(), 15u * 7u);
  for (const ChunkPos& a : all) {
    for (const ChunkPos& b : all) {
      const bool a_is_near = is_inside(near, a);
      const bool b_is_near = is_inside(near, b);
      if (a_is_near != b_is_near) {
        EXPECT_EQ(priority_of(a, window) > priority_of(b, window), a_is_near);
      } else if (square_distance(a, window.centre) < square_distance(b, window.centre)) {
        EXPECT_GE(priority_of(a, window), priority_of(b, window));
      }
    }
  }
  EXPECT_GT(priority_of(ChunkPos(100, 7), window), priority_of(ChunkPos(101, 7), window));
  EXPECT_GT(priority_of(ChunkPos(101, 7), window), priority_of(ChunkPos(101, 8), window));
}

TEST(WindowBoxes, FarAndForeignPositionsHaveAPriorityToo) {
  const Window window{.centre = ChunkPos(kMin, kMin), .radius = {1, 1}};
  EXPECT_LT(priority_of(ChunkPos(kMax, kMax), window),
            priority_of(ChunkPos(kMin + 2, kMin), window));
  EXPECT_LT(priority_of(ChunkPos(0), window), priority_of(ChunkPos(kMax, kMax), window));
}

}  // namespace
}  // namespace varve
