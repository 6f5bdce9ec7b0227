// Catalogs that are not as they were written: torn by a crash, or damaged.
#include <gtest/gtest.h>

#include "codec/damage.h"
#include "store/nebula/sample_catalog.h"

namespace varve::nebula {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)
using varve::test::for_every_bit_flip;
using varve::test::for_every_prefix;

Bytes with_noise_at(const Bytes& file, std::uint64_t offset, std::size_t size = 40) {
  Buffer damaged = file.clone();
  for (std::size_t i = 0; i < size; ++i) damaged.span()[offset + i] ^= std::byte{0x5a};
  return std::move(damaged).freeze();
}

// The index after each record of sample_catalog().
std::vector<SaveIndex> generations() {
  std::vector<SaveIndex> all;
  const Bytes file = sample_catalog();
  for (std::uint64_t size = 4096; size <= file.size(); size += 4096) {
    all.push_back(decode_catalog(file.view().first(size)).value().index);
  }
  return all;
}

bool is_same(const SaveIndex& a, const SaveIndex& b) {
  return a.sequence == b.sequence && a.generation == b.generation && a.tick == b.tick &&
         difference(a, b).empty();
}

// Every entry that is believed is one that some record really had.
void expect_nothing_made_up(const Catalog& catalog) {
  const auto known = generations();
  catalog.index.visit([&](const RecordKey& key, const FileEntry& entry) {
    const bool is_known = std::any_of(known.begin(), known.end(), [&](const SaveIndex& each) {
      const FileEntry* found = each.find(key);
      return found != nullptr && *found == entry;
    });
    EXPECT_TRUE(is_known) << to_string(key);
    return is_known;
  });
}

TEST(CatalogDamage, EveryTruncationIsAnEarlierGeneration) {
  const auto known = generations();
  for_every_prefix(sample_catalog(), [&](const Bytes& cut) {
    const auto catalog = decode_catalog(cut);
    // What counts is the record, not what it was filled up with.
    const std::size_t whole_count = cut.size() / 4096;
    if (!catalog) {
      ASSERT_EQ(catalog.error().code(), ErrorCode::corruption);
      ASSERT_EQ(whole_count, 0u);
      return;
    }
    ASSERT_FALSE(catalog->damaged_offset);
    const std::size_t index = catalog->index.sequence - 4;
    ASSERT_TRUE(index == whole_count || index + 1 == whole_count);
    ASSERT_TRUE(is_same(catalog->index, known.at(index)));
    // The next record must not go where a commit is.
    if (!catalog->end.is_closed) {
      ASSERT_EQ(catalog->end.offset, (index + 1) * 4096);
    }
  });
}

TEST(CatalogDamage, EveryFlippedBitIsSeenOrDoesNotMatter) {
  const auto known = generations();
  const Bytes good = sample_catalog();
  std::uint64_t harmless_count = 0;
  for_every_bit_flip(good, [&](const Bytes& flipped) {
    const auto catalog = decode_catalog(flipped);
    ASSERT_TRUE(catalog) << "three records are whole";
    expect_nothing_made_up(*catalog);
    if (catalog->damaged_offset) {
      // What comes behind the damage is believed, what lies before it is doubted.
      ASSERT_GE(catalog->damaged_sequence, 4u);
      ASSERT_EQ(catalog->index.sequence, 7u);
      ASSERT_EQ(catalog->index.tick, 60u);
    } else if (catalog->has_torn_tail) {
      ASSERT_TRUE(is_same(catalog->index, known.at(2)));
    } else {
      ASSERT_TRUE(is_same(catalog->index, known.back()));
      ++harmless_count;
    }
  });
  EXPECT_GT(harmless_count, 4u * 3800 * 8) << "what fills a record up to its block";
}

TEST(CatalogDamage, InTheMiddleItIsNotTakenForATail) {
  const Catalog catalog = decode_catalog(with_noise_at(sample_catalog(), 4096)).value();
  EXPECT_EQ(catalog.damaged_offset, 4096u);
  EXPECT_EQ(catalog.damaged_sequence, 5u) << "the record of sequence 6 is the next that is whole";
  EXPECT_FALSE(catalog.has_torn_tail);
  EXPECT_EQ(catalog.index.sequence, 7u);
  EXPECT_EQ(*catalog.index.find(chunk_key(3)), entry_of(6, 0));
}

TEST(CatalogDamage, AFirstRecordThatIsLostLeavesTheLaterOnes) {
  const Catalog catalog = decode_catalog(with_noise_at(sample_catalog(), 0)).value();
  EXPECT_EQ(catalog.damaged_offset, 0u);
  EXPECT_EQ(catalog.damaged_sequence, 4u);
  EXPECT_EQ(catalog.index.file_count(), 2u);
  EXPECT_EQ(*catalog.index.find(chunk_key(1)), entry_of(5, 0));
  EXPECT_EQ(catalog.index.tick, 60u);
}

TEST(CatalogDamage, TheLastRecordIsATailWhoeverBrokeIt) {
  const Catalog catalog = decode_catalog(with_noise_at(sample_catalog(), 3 * 4096)).value();
  EXPECT_FALSE(catalog.damaged_offset);
  EXPECT_TRUE(catalog.has_torn_tail);
  EXPECT_FALSE(catalog.end.is_closed);
  EXPECT_EQ(catalog.end.offset, 3u * 4096);
  EXPECT_EQ(catalog.index.sequence, 6u);
}

TEST(CatalogDamage, TwoHolesCountAsOneUpToTheLast) {
  const Bytes once = with_noise_at(sample_catalog(), 0);
  const Catalog catalog = decode_catalog(with_noise_at(once, 2 * 4096)).value();
  EXPECT_EQ(catalog.damaged_offset, 0u);
  EXPECT_EQ(catalog.damaged_sequence, 6u);
}

// What a lost record erased or brought is not known. An erasure before it may have been
// taken back in it, so its file is nobody's to remove.
TEST(CatalogDamage, OnlyErasuresBehindTheDamageAreSure) {
  const auto make = [] {
    CatalogBytes file;
    file.add(first_record());
    file.add(change_record(5, {{chunk_key(1), std::nullopt}}));
    file.add(change_record(6, {{chunk_key(1), entry_of(6)}}));
    file.add(change_record(7, {{chunk_key(2), std::nullopt}}));
    return file.take();
  };
  EXPECT_EQ(decode_catalog(make())->erased, (std::vector<RecordKey>{chunk_key(2)}));
  const Catalog catalog = decode_catalog(with_noise_at(make(), 2 * 4096)).value();
  EXPECT_EQ(catalog.erased, (std::vector<RecordKey>{chunk_key(2)}));
}

TEST(CatalogDamage, EverySectorLostIsSeen) {
  const Bytes good = sample_catalog();
  for (std::uint64_t offset = 0; offset < good.size(); offset += 512) {
    Buffer damaged = good.clone();
    for (std::size_t i = 0; i < 512; ++i) damaged.span()[offset + i] = std::byte{0};
    const auto catalog = decode_catalog(std::move(damaged).freeze());
    ASSERT_TRUE(catalog);
    const bool holds_a_record = offset % 4096 == 0;
    EXPECT_EQ(catalog->damaged_offset.has_value() || catalog->has_torn_tail, holds_a_record);
    expect_nothing_made_up(*catalog);
  }
}

}  // namespace
}  // namespace varve::nebula
