// Values shown in place: of segments that take batches too, which are mapped again as they grow.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backend/log/log_views.h"
#include "backend/log/small_log.h"
#include "io/sim/sim_disk.h"

namespace varve::test {
namespace {

constexpr std::size_t kValueSize = std::size_t{300} << 10;

log::LogOptions large_segment_options() {
  log::LogOptions options = small_log_options();
  options.prepared_size_min = options.prepared_size_max = std::uint64_t{32} << 20;
  options.reclaim_size_min = std::uint64_t{1} << 30;
  return options;
}

std::string name_of(int number) { return "key" + std::to_string(number); }
std::string value_of(int number) {
  return std::string(kValueSize, static_cast<char>('a' + number % 26));
}

Bytes get(const Backend& backend, const std::string& key) {
  return *backend.get(as_byte_view(key)).value();
}
// The first read checks the value; only those behind it may show it in place.
Bytes get_again(const Backend& backend, const std::string& key) {
  (void)get(backend, key);
  return get(backend, key);
}
bool is_in_place(const Backend& backend, const std::string& key) {
  const Bytes first = get_again(backend, key);
  return first.data() == get(backend, key).data();
}

TEST(LogMaps, ValuesOfTheSegmentThatIsWrittenAreShownInPlace) {
  sim::SimDisk disk;
  const auto backend = log::open_log(disk, "log", large_segment_options()).value();
  ASSERT_TRUE(backend->write(one("small", text_of(1000))));
  EXPECT_FALSE(is_in_place(*backend, "small")) << "a map of next to nothing does not pay";

  for (int i = 0; i < 4; ++i) ASSERT_TRUE(backend->write(one(name_of(i), value_of(i))));
  EXPECT_TRUE(is_in_place(*backend, "small"));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(is_in_place(*backend, name_of(i)));
}

// What was handed out stays where it was while the segment grows, is mapped again and sealed.
TEST(LogMaps, GrowWithTheirSegmentAndLeaveWhatWasHandedOut) {
  sim::SimDisk disk;
  const auto backend = log::open_log(disk, "log", large_segment_options()).value();
  constexpr int kCount = 150;  // More than one segment.
  std::vector<Bytes> held;
  for (int i = 0; i < kCount; ++i) {
    ASSERT_TRUE(backend->write(one(name_of(i), value_of(i))));
    held.push_back(get_again(*backend, name_of(i)));
  }
  for (int i = 0; i < kCount; ++i) {
    EXPECT_EQ(held[static_cast<std::size_t>(i)].text(), value_of(i)) << i;
    EXPECT_EQ(get(*backend, name_of(i)).text(), value_of(i)) << i;
  }
  EXPECT_TRUE(is_in_place(*backend, name_of(0)));
  // The end of the last segment is copied until its map would grow by half.
  std::size_t in_place_count = 0;
  for (int i = 0; i < kCount; ++i) in_place_count += is_in_place(*backend, name_of(i)) ? 1 : 0;
  EXPECT_GT(in_place_count, std::size_t{kCount} * 2 / 3);
}

// The zeros behind the last batch of a full segment are cut off. On the simulated disk cutting off
// what is mapped is refused, as it is SIGBUS on a real one: so the map must end before them.
TEST(LogMaps, EndBeforeWhatIsCutOff) {
  constexpr std::uint64_t kPreparedSize = std::uint64_t{4} << 20;
  sim::SimDisk disk;
  log::LogOptions options = large_segment_options();
  options.prepared_size_min = options.prepared_size_max = kPreparedSize;
  auto backend = log::open_log(disk, "log", options).value();
  const std::string first = "log/0000000000000001.log";
  std::vector<Bytes> held;
  int count = 0;
  // The last one that fits leaves most of a value's size unused.
  for (; !disk.info("log/0000000000000003.log") && count < 40; ++count) {
    ASSERT_TRUE(backend->write(one(name_of(count), value_of(count))));
    held.push_back(get_again(*backend, name_of(count)));
    ASSERT_TRUE(is_in_place(*backend, name_of(0)) || count < 4);
  }
  const auto cut = disk.info(first);
  ASSERT_TRUE(cut) << cut.error().message();
  EXPECT_LT(cut->size, kPreparedSize);
  EXPECT_GT(cut->size, kPreparedSize - kValueSize - 8192);
  for (int i = 0; i < count; ++i) {
    EXPECT_EQ(held[static_cast<std::size_t>(i)].text(), value_of(i)) << i;
    EXPECT_EQ(get(*backend, name_of(i)).text(), value_of(i)) << i;
  }
  EXPECT_TRUE(backend->close());
  backend.reset();
  EXPECT_EQ(held.back().text(), value_of(count - 1)) << "it outlives the log";
  backend = log::open_log(disk, "log", options).value();
  EXPECT_TRUE(backend->open_report().problems.empty());
  for (int i = 0; i < count; ++i) EXPECT_EQ(get(*backend, name_of(i)).text(), value_of(i));
}

// After a failed sync the system may drop what it could not write, and a map would show what the
// disk had there before.
TEST(LogMaps, WhatMayNotBeDurableIsCopied) {
  for (const auto kind :
       {Durability::Kind::every_n, Durability::Kind::every_ms, Durability::Kind::none}) {
    sim::SimDisk disk;
    log::LogOptions options = large_segment_options();
    options.user.durability = {.kind = kind, .count = 100, .interval_ms = 1'000'000};
    const auto backend = log::open_log(disk, "log", options).value();
    for (int i = 0; i < 6; ++i) ASSERT_TRUE(backend->write(one(name_of(i), value_of(i))));
    EXPECT_FALSE(is_in_place(*backend, name_of(0)));
  }
}

}  // namespace
}  // namespace varve::test
