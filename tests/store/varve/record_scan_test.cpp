#include "store/varve/record_scan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <map>
#include <set>

namespace varve {
namespace {

constexpr std::int32_t kMin = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();

// Counts what it hands out.
class CountingView final : public ReadView {
 public:
  explicit CountingView(const ReadView& view) : view_(view) {}
  std::uint64_t sequence() const override { return view_.sequence(); }
  Result<std::optional<Bytes>> get(ByteView key) const override { return view_.get(key); }
  std::vector<Result<std::optional<Bytes>>> multi_get(
      const std::vector<Bytes>& keys) const override {
    return view_.multi_get(keys);
  }
  Result<RangePage> range(const RangeQuery& query) const override {
    auto page = view_.range(query);
    ++page_count;
    entry_count += page ? page->entries.size() : 0;
    return page;
  }

  mutable std::size_t page_count = 0;
  mutable std::size_t entry_count = 0;

 private:
  const ReadView& view_;
};

void put(Backend& backend, const std::vector<Bytes>& keys) {
  WriteBatch batch;
  for (const Bytes& key : keys) batch.put(key, Bytes::copy_of(key.text()));
  ASSERT_TRUE(backend.write(batch));
}

std::vector<ChunkPos> scanned(const ReadView& view, const ScanRange& range) {
  std::vector<ChunkPos> found;
  StrayRecords strays;
  const auto take = [&](ScannedRecord record) -> Result<bool> {
    EXPECT_EQ(record.place.space, range.space);
    EXPECT_EQ(record.entry.value->text(), record.entry.key.text());
    found.push_back(record.place.pos);
    return true;
  };
  EXPECT_TRUE(scan_records(view, range, take, strays));
  EXPECT_TRUE(strays.status());
  return found;
}

rc::Gen<ChunkPos> position(std::uint8_t count, std::int32_t reach) {
  return rc::gen::exec([=] {
    ChunkPos pos;
    pos.coordinate_count = count;
    for (std::size_t i = 0; i < count; ++i) {
      pos.coordinates[i] = *rc::gen::weightedOneOf<std::int32_t>(
          {{30, rc::gen::inRange<std::int32_t>(-reach, reach)},
           {1, rc::gen::element(kMin, kMin + 5, kMax - 5, kMax)}});
    }
    return pos;
  });
}

RC_GTEST_PROP(RecordScan, ABoxShowsWhatAFilterWould, ()) {
  const auto backend = make_memory_backend();
  const auto count = *rc::gen::inRange<std::uint8_t>(1, 5);
  const auto reach = *rc::gen::element<std::int32_t>(4, 20, 70, 600);
  std::set<ChunkPos> all;
  std::vector<Bytes> keys;
  for (int i = 0; i < 400; ++i) {
    const ChunkPos pos = *position(count, reach);
    if (!all.insert(pos).second) continue;
    keys.push_back(chunk_key(1, pos).copy());
    keys.push_back(entity_key_of(PlacedChunk{1, pos}, ~EntityId{0} - (i % 2)).copy());
    // Neighbours no scan may show: other spaces, another number of coordinates.
    keys.push_back(chunk_key(0, pos).copy());
    keys.push_back(chunk_key(2, pos).copy());
    ChunkPos other = pos;
    other.coordinate_count = count % 4 + 1;
    keys.push_back(chunk_key(1, other).copy());
  }
  put(*backend, keys);
  for (int round = 0; round < 5; ++round) {
    ChunkBox box{*position(count, reach), *position(count, reach)};
    for (std::size_t i = 0; i < count; ++i) {
      // Now and then the wrong way round, which is a box with nothing in it.
      if (box.min[i] > box.max[i] && *rc::gen::inRange(0, 10) != 0) {
        std::swap(box.min.coordinates[i], box.max.coordinates[i]);
      }
    }
    std::set<ChunkPos> wanted;
    for (const ChunkPos& pos : all) {
      if (box.contains(pos)) wanted.insert(pos);
    }
    for (const KeyTag tag : {KeyTag::chunk, KeyTag::owned_entity}) {
      const auto found =
          scanned(*backend, {.tag = tag, .space = 1, .coordinate_count = count, .box = box});
      RC_ASSERT(found.size() == wanted.size());
      RC_ASSERT(std::set<ChunkPos>(found.begin(), found.end()) == wanted);
    }
  }
  const auto found = scanned(*backend, {.space = 1, .coordinate_count = count});
  RC_ASSERT(std::set<ChunkPos>(found.begin(), found.end()) == all);
}

// 32 x 32 regions of 256 chunks each.
std::unique_ptr<Backend> large_world() {
  auto backend = make_memory_backend();
  std::vector<Bytes> keys;
  for (int x = -256; x < 256; ++x) {
    for (int y = -256; y < 256; ++y) keys.push_back(chunk_key(0, ChunkPos(x, y)).copy());
  }
  put(*backend, keys);
  return backend;
}

TEST(RecordScan, RegionsOutsideTheBoxAreNotRead) {
  const auto backend = large_world();
  const CountingView view(*backend);
  const auto read_for = [&](ChunkBox box) {
    view.page_count = view.entry_count = 0;
    const std::size_t found = scanned(view, {.box = box}).size();
    return std::pair(found, view.entry_count);
  };
  // One region, exactly: one page, and nothing besides.
  EXPECT_EQ(read_for({ChunkPos(-16, 32), ChunkPos(-1, 47)}), std::pair(256ul, 256ul));
  EXPECT_EQ(view.page_count, 1u);
  // A window of 9 x 9 chunks that touches four regions.
  const auto [in_window, read_for_window] = read_for({ChunkPos(-4, -4), ChunkPos(4, 4)});
  EXPECT_EQ(in_window, 81u);
  EXPECT_LE(read_for_window, 6u * 256);
  // A row through the whole world: 32 regions of it, not 1,024.
  const auto [in_row, read_for_row] = read_for({ChunkPos(-256, 5), ChunkPos(255, 5)});
  EXPECT_EQ(in_row, 512u);
  EXPECT_LE(read_for_row, 32u * 2 * 256);
  // Outside of everything.
  EXPECT_EQ(read_for({ChunkPos(1000, 0), ChunkPos(2000, 0)}).first, 0u);
  EXPECT_LE(view.entry_count, 256u);
  EXPECT_EQ(read_for({ChunkPos(kMin, kMin), ChunkPos(kMin, kMax)}).first, 0u);
  EXPECT_LE(view.entry_count, 256u);
}

TEST(RecordScan, TheRegionsOfOneFirstCoordinateStandTogether) {
  const auto backend = large_world();
  const auto found = scanned(*backend, {.box = ChunkBox{ChunkPos(-40, -40), ChunkPos(40, 40)}});
  EXPECT_EQ(found.size(), 81u * 81u);
  for (std::size_t i = 1; i < found.size(); ++i) {
    ASSERT_LE(found[i - 1][0] >> 4, found[i][0] >> 4);
  }
}

TEST(RecordScan, StopsWhenTheVisitorHasEnoughAndPassesItsErrorOn) {
  const auto backend = large_world();
  const CountingView view(*backend);
  int seen = 0;
  StrayRecords strays;
  EXPECT_TRUE(scan_records(
      view, {}, [&](const ScannedRecord&) -> Result<bool> { return ++seen < 3; }, strays));
  EXPECT_EQ(seen, 3);
  EXPECT_EQ(view.page_count, 1u);
  const Status failed = scan_records(
      view, {}, [&](const ScannedRecord&) -> Result<bool> { return io_error("enough"); }, strays);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), ErrorCode::io);
}

TEST(RecordScan, AKeyThatIsNoneCostsItselfAlone) {
  const auto backend = make_memory_backend();
  const ChunkBox everywhere{ChunkPos(kMin, kMin), ChunkPos(kMax, kMax)};
  put(*backend, {chunk_key(0, ChunkPos(-1, 0)).copy(), chunk_key(0, ChunkPos(1, 0)).copy(),
                 chunk_key(0, ChunkPos(0, 0)).u8(7).copy()});
  for (const std::optional<ChunkBox>& box :
       {std::optional<ChunkBox>(), std::optional(everywhere)}) {
    int seen = 0;
    StrayRecords strays;
    const auto take = [&](const ScannedRecord&) -> Result<bool> { return ++seen != 0; };
    EXPECT_TRUE(scan_records(*backend, {.box = box}, take, strays));
    EXPECT_EQ(seen, 2);
    ASSERT_FALSE(strays.status());
    EXPECT_EQ(strays.status().error().code(), ErrorCode::corruption);
  }
}

}  // namespace
}  // namespace varve
