// log_index: finding where values lie, in the index of a log and in absl::flat_hash_map, for a
// square of chunks and for chunks scattered over the plane, every key once in random order. Raw
// reads the places from an array by number: one look at memory for each. Then the way back from an
// image; raw copies its bytes.
#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstring>
#include <utility>

#include "backend/log/index.h"
#include "base/endian.h"
#include "base/try.h"
#include "harness/random.h"
#include "harness/stopwatch.h"
#include "harness/workload.h"

namespace varve::bench {
namespace {

using Key = std::array<std::byte, 12>;

// As small as a place can be in a struct, which is to the map's advantage.
struct MapPlace {
  std::uint32_t offset_unit;
  std::uint32_t value_size;
  std::uint16_t slot;
};

Key key_of(std::uint32_t x, std::uint32_t z) {
  constexpr std::uint32_t kSign = 1u << 31;
  Key key{};
  store_be<std::uint32_t>(key.data() + 4, x ^ kSign);
  store_be<std::uint32_t>(key.data() + 8, z ^ kSign);
  return key;
}

// Distinct keys in random order.
std::vector<Key> make_keys(bool dense, std::size_t count) {
  Random random(kSeed);
  std::vector<Key> keys;
  std::uint32_t width = 1;
  while (std::size_t{width} * width < count) ++width;
  for (std::uint32_t i = 0; i < count; ++i) {
    // Scattered keys are distinct, since an odd factor only reorders 24 bits.
    const auto scattered = i * 0x9e3779b1u & 0xffffffu;
    keys.push_back(dense ? key_of(i / width, i % width)
                         : key_of(scattered, static_cast<std::uint32_t>(random.below(1u << 24))));
  }
  for (std::size_t i = count; i > 1; --i) std::swap(keys[i - 1], keys[random.below(i)]);
  return keys;
}

log::Location location_of(std::size_t i) {
  return {.slot = static_cast<std::uint16_t>(i % 64),
          .offset_unit = static_cast<std::uint32_t>(i),
          .value_size = 4096};
}

struct Contest {
  std::vector<Key> keys;
  // Which one is looked for first, second, and so on: another order than that of the insertions.
  std::vector<std::uint32_t> turns;
  std::vector<Key> wanted;
  std::vector<MapPlace> places;
  absl::flat_hash_map<Key, MapPlace> map;
  log::Index index;
  std::uint64_t expected = 0;

  Contest(bool dense, std::size_t count) : keys(make_keys(dense, count)) {
    Random random(kSeed + 1);
    for (std::uint32_t i = 0; i < count; ++i) turns.push_back(i);
    for (std::size_t i = count; i > 1; --i) std::swap(turns[i - 1], turns[random.below(i)]);
    for (const std::uint32_t turn : turns) wanted.push_back(keys[turn]);
    for (std::size_t i = 0; i < count; ++i) {
      const log::Location location = location_of(i);
      places.push_back({location.offset_unit, location.value_size, location.slot});
      map.emplace(keys[i], places.back());
      index.put(keys[i], location);
      expected += location.offset_unit;
    }
    index.ensure_order();
  }

  std::uint64_t find_all(std::size_t arm_index) const {
    std::uint64_t sum = 0;
    if (arm_index == 0) {
      for (const std::uint32_t turn : turns) sum += places[turn].offset_unit;
    } else if (arm_index == 1) {
      for (const Key& key : wanted) sum += map.find(key)->second.offset_unit;
    } else {
      for (const Key& key : wanted) sum += index.find(key)->offset_unit;
    }
    return sum;
  }
};

Measurement measure_find(const Context& context, bool dense, std::size_t count) {
  const Contest contest(dense, count);
  const double entry_size =
      static_cast<double>(contest.index.memory_size()) / static_cast<double>(count);
  Measurement measurement{
      .title = fmt::format("log_index: find, {} {} chunks (goal {} of flat_hash_map)", count,
                           dense ? "dense" : "sparse", dense ? 0.65 : 1.0),
      .unit = "ns",
      .better = Better::smaller,
      .compared = true,
      .series = {{kRawArm, {}, {}}, {"flat_hash_map", {}, {}}, {"index", {}, {}}},
      .note = fmt::format("memory: {:.1f} bytes an entry with its order (goal {})\n", entry_size,
                          dense ? 20 : 40)};
  const std::size_t repeat_count = context.quick ? 1 : 1'000'000 / count;
  interleave(
      measurement.series, context.rounds(21), [] {},
      [&](std::size_t arm_index) -> Result<double> {
        const Stopwatch watch;
        for (std::size_t i = 0; i < repeat_count; ++i) {
          if (contest.find_all(arm_index) != contest.expected) return corruption("a wrong place");
        }
        return watch.seconds() * 1e9 / static_cast<double>(count * repeat_count);
      });
  return measurement;
}

Result<Measurement> measure_image(const Context& context, bool dense, std::size_t count) {
  log::Index index;
  const std::vector<Key> keys = make_keys(dense, count);
  for (std::size_t i = 0; i < count; ++i) index.put(keys[i], location_of(i));
  index.ensure_order();
  ByteWriter image;
  index.append_image({}, ByteWriter::kNoLimit, image);

  Measurement measurement{
      .title = fmt::format("log_index: image of {} {} chunks (goal {} ms)", count,
                           dense ? "dense" : "sparse", dense ? 10 : 40),
      .unit = "ms",
      .better = Better::smaller,
      .compared = true,
      .series = {{kRawArm, {}, {}}, {"from_image", {}, {}}, {"and ensure_order", {}, {}}},
      .note = fmt::format("image: {} bytes\n", image.size())};
  interleave(
      measurement.series, context.rounds(21), [] {},
      [&](std::size_t arm_index) -> Result<double> {
        const Stopwatch watch;
        if (arm_index == 0) {
          const Bytes copy = Bytes::copy_of(image.view());
          const double milliseconds = watch.milliseconds();
          if (!equal(copy, image.view())) return corruption("a wrong copy");
          return milliseconds;
        }
        VARVE_ASSIGN(log::Index read, log::Index::from_image(image.view(), 64));
        if (arm_index == 2) read.ensure_order();
        const double milliseconds = watch.milliseconds();
        if (read.count() != count) return corruption("a wrong count");
        return milliseconds;
      });
  return measurement;
}

Result<std::vector<Measurement>> run_log_index(const Context& context) {
  std::vector<Measurement> measurements;
  for (const std::size_t count : {std::size_t{100'000}, std::size_t{1'000'000}}) {
    if (context.quick && count > 100'000) break;
    for (const bool dense : {true, false}) {
      measurements.push_back(measure_find(context, dense, count));
    }
  }
  for (const bool dense : {true, false}) {
    VARVE_ASSIGN(auto measurement,
                 measure_image(context, dense, context.quick ? 10'000 : 1'000'000));
    measurements.push_back(std::move(measurement));
  }
  return measurements;
}

}  // namespace

void add_log_index_workloads(Workloads& workloads) {
  workloads.push_back({.name = "log_index",
                       .summary = "finding places in the index of a log and in a hash map",
                       .run = run_log_index});
}

}  // namespace varve::bench
