#include "store/nebula/save_index.h"

#include <gtest/gtest.h>

namespace varve::nebula {
namespace {

RecordKey chunk(int x) { return {.kind = RecordKind::chunk, .pos = {0, x, 0, 0}}; }
RecordKey player(std::string name) { return {.kind = RecordKind::player, .name = std::move(name)}; }
RecordKey global(std::string name) { return {.kind = RecordKind::global, .name = std::move(name)}; }

FileEntry entry(std::uint64_t version, std::uint64_t number = 0) {
  return {.id = {version, number}, .payload_size = 5, .checksum = 77};
}

SaveIndex sample() {
  SaveIndex index;
  index.apply({{chunk(2), entry(1, 0)},
               {chunk(1), entry(1, 1)},
               {scene_key(), entry(1, 2)},
               {player("ann"), entry(1, 3)},
               {global("ann"), entry(1, 4)}});
  return index;
}

TEST(SaveIndex, FindsWhatWasPut) {
  const SaveIndex index = sample();
  EXPECT_EQ(index.file_count(), 5u);
  ASSERT_NE(index.find(player("ann")), nullptr);
  EXPECT_EQ(*index.find(player("ann")), entry(1, 3));
  EXPECT_EQ(*index.find(global("ann")), entry(1, 4));
  // All entities are in one file, whichever is asked for.
  EXPECT_EQ(*index.find({.kind = RecordKind::entity, .id = 99}), entry(1, 2));
  EXPECT_EQ(index.find(player("bob")), nullptr);
  EXPECT_EQ(index.find(chunk(3)), nullptr);
  EXPECT_EQ(SaveIndex().find(scene_key()), nullptr);
}

TEST(SaveIndex, AnErasureRemovesAndErasingNothingIsNoError) {
  SaveIndex index = sample();
  index.apply({{chunk(1), std::nullopt}, {chunk(9), std::nullopt}, {scene_key(), std::nullopt}});
  EXPECT_EQ(index.file_count(), 3u);
  EXPECT_EQ(index.find(chunk(1)), nullptr);
  EXPECT_EQ(index.find(scene_key()), nullptr);
}

// A pinned view holds a copy; what is committed later must not show in it.
TEST(SaveIndex, ACopyStaysAsItIs) {
  SaveIndex index = sample();
  const SaveIndex before = index;
  index.apply({{chunk(1), entry(2)}, {player("ann"), std::nullopt}, {chunk(7), entry(2, 1)}});
  EXPECT_EQ(*before.find(chunk(1)), entry(1, 1));
  EXPECT_NE(before.find(player("ann")), nullptr);
  EXPECT_EQ(before.find(chunk(7)), nullptr);
  EXPECT_EQ(before.file_count(), 5u);
  EXPECT_EQ(index.file_count(), 5u);
}

TEST(SaveIndex, VisitsEveryFileInOrderUntilToldToStop) {
  std::vector<std::string> keys;
  EXPECT_TRUE(sample().visit([&](const RecordKey& key, const FileEntry&) {
    keys.push_back(to_string(key));
    return true;
  }));
  EXPECT_EQ(keys, (std::vector<std::string>{"chunk:0,1,0,0", "chunk:0,2,0,0", "entity:0",
                                            "player:ann", "global:ann"}));
  for (std::size_t stop_at = 1; stop_at <= 5; ++stop_at) {
    std::size_t count = 0;
    EXPECT_FALSE(
        sample().visit([&](const RecordKey&, const FileEntry&) { return ++count != stop_at; }));
    EXPECT_EQ(count, stop_at);
  }
}

TEST(SaveIndex, TheDifferenceIsWhatIsNotTheSameFile) {
  const SaveIndex before = sample();
  EXPECT_TRUE(difference(before, before).empty());
  SaveIndex after = before;
  FileEntry unchecked = entry(1, 0);
  unchecked.checked = false;
  after.apply({{chunk(1), entry(2)},
               {chunk(2), unchecked},
               {chunk(3), entry(2, 1)},
               {player("ann"), std::nullopt},
               {scene_key(), entry(1, 2)}});
  const KeySet expected = {chunk(1), chunk(2), chunk(3), player("ann")};
  EXPECT_EQ(difference(before, after), expected);
  EXPECT_EQ(difference(after, before), expected);
}

}  // namespace
}  // namespace varve::nebula
