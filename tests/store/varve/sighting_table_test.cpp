#include "store/varve/sighting_table.h"

#include <gtest/gtest.h>

#include "store/varve/save_keys.h"

namespace varve {
namespace {

Hash128 hash_of(std::uint64_t number) { return xxh3_128(as_byte_view(std::to_string(number))); }

SaveKey key_of(std::uint64_t number) {
  return chunk_key(1, ChunkPos(static_cast<std::int32_t>(number), 2, 3, 4));
}

TEST(SightingTable, KeepsToItsMemoryAndRemembersTheLatest) {
  for (const std::uint64_t size : {160, 1000, 4096, 100'000}) {
    SightingTable table(size);
    EXPECT_LE(table.memory_size(), size);
    EXPECT_GT(table.memory_size() + 160, size);
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      table.note(hash_of(i), key_of(i));
      const auto found = table.find(hash_of(i));
      ASSERT_TRUE(found) << i;
      EXPECT_EQ(as_text(*found), as_text(key_of(i)));
    }
    std::uint64_t found_count = 0;
    for (std::uint64_t i = 0; i < 20'000; ++i) found_count += table.find(hash_of(i)) ? 1 : 0;
    // Every slot is used, and by something that was noted.
    EXPECT_EQ(found_count, table.memory_size() / 40);
    EXPECT_LE(table.memory_size(), size);
  }
}

TEST(SightingTable, OneThatIsTooSmallRemembersNothing) {
  for (const std::uint64_t size : {0, 1, 159}) {
    SightingTable table(size);
    table.note(hash_of(1), key_of(1));
    EXPECT_FALSE(table.find(hash_of(1)));
    EXPECT_EQ(table.memory_size(), 0u);
  }
}

TEST(SightingTable, ALaterSightingTakesThePlaceOfTheEarlier) {
  SightingTable table(4096);
  table.note(hash_of(1), key_of(1));
  table.note(hash_of(1), key_of(2));
  EXPECT_EQ(as_text(table.find(hash_of(1)).value()), as_text(key_of(2)));
  // What is no key of a chunk is left out.
  table.note(hash_of(3), as_byte_view(std::string(22, 'k')));
  EXPECT_FALSE(table.find(hash_of(3)));
}

}  // namespace
}  // namespace varve
