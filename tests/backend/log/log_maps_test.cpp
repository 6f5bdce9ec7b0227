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

// On the simulated disk cutting off what is mapped is an error, as it is SIGBUS on a real one.
TEST(LogMaps, NothingThatIsMappedIsCutOffAtTheClose) {
  sim::SimDisk disk;
  auto backend = log::open_log(disk, "log", large_segment_options()).value();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(backend->write(one(name_of(i), value_of(i))));
  const Bytes held = get_again(*backend, name_of(4));
  const Status closed = backend->close();
  EXPECT_TRUE(closed) << closed.error().message();
  backend.reset();
  EXPECT_EQ(held.text(), value_of(4));

  backend = log::open_log(disk, "log", large_segment_options()).value();
  EXPECT_TRUE(backend->open_report().problems.empty());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(get(*backend, name_of(i)).text(), value_of(i));
}

}  // namespace
}  // namespace varve::test
