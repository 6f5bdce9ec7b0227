#include "store/nebula/catalog.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>

#include "base/byte_writer.h"
#include "base/endian.h"
#include "store/nebula/sample_catalog.h"
#include "support/allocation_watch.h"
#include "support/bytes_text.h"
#include "support/format_page.h"
#include "varve/checksum.h"

namespace varve::nebula {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)
using varve::test::AllocationWatch;
using varve::test::hex;
using varve::test::to_hex;

// The record at offset 4096 whose body is `body`, with everything right that can be told
// without reading the body.
Bytes record_with_body(ByteView body, std::uint8_t version = 1, std::uint8_t kind = 0) {
  ByteWriter out;
  out.text("NVCT");
  out.u8(version);
  out.u8(kind);
  out.u16_le(0);
  out.u64_le(9);
  out.u64_le(body.size());
  out.u64_le(xxh3(body, xxh3(out.view().first(24), 0)));
  out.bytes(body);
  out.align(kRecordAlignment);
  return out.take();
}

TEST(Catalog, TheWorkedExample) {
  const Bytes record = encode_record(example_record(), 4096).value();
  ASSERT_EQ(record.size(), 4096u);
  const std::size_t size = 32 + 52;
  EXPECT_EQ(to_hex(record.view().first(size)),
            to_hex(varve::test::example_of("nebula_v1.md", "A record of the catalog")));
  for (const std::byte each : record.view().subspan(size)) ASSERT_EQ(each, std::byte{0});
}

TEST(Catalog, WhatWasWrittenIsRead) {
  const Catalog catalog = decode_catalog(sample_catalog()).value();
  const SaveIndex& index = catalog.index;
  EXPECT_EQ(index.sequence, 7u);
  EXPECT_EQ(index.generation, 5u);
  EXPECT_EQ(index.tick, 60u);
  EXPECT_EQ(index.generator, std::nullopt);
  EXPECT_EQ(index.file_count(), 4u);
  EXPECT_EQ(*index.find(chunk_key(1)), entry_of(5, 0));
  EXPECT_EQ(*index.find(chunk_key(3)), entry_of(6, 0));
  EXPECT_EQ(*index.find(scene_key()), entry_of(3, 0));
  EXPECT_EQ(*index.find(player_named("ann")), entry_of(4, 1));
  EXPECT_EQ(catalog.erased, (std::vector<RecordKey>{chunk_key(2)}));
  EXPECT_GE(catalog.end.offset, 3u * 4096);
  EXPECT_EQ(catalog.end.whole_size, 4096u);
  EXPECT_TRUE(catalog.end.is_closed);
  EXPECT_FALSE(catalog.has_torn_tail);
  EXPECT_FALSE(catalog.damaged_offset);
}

TEST(Catalog, ARecordThatListsEverythingForgetsWhatWasBefore) {
  CatalogBytes file;
  file.add(first_record());
  SaveIndex later;
  later.sequence = 5;
  later.apply({{chunk_key(8), entry_of(5)}});
  file.add(whole_record(later, {}));
  const Catalog catalog = decode_catalog(file.take()).value();
  EXPECT_EQ(catalog.index.file_count(), 1u);
  EXPECT_TRUE(catalog.erased.empty());
}

TEST(Catalog, AnErasedFileThatIsBackIsNotErased) {
  CatalogBytes file;
  file.add(first_record());
  file.add(change_record(5, {{chunk_key(1), std::nullopt}, {chunk_key(2), std::nullopt}}));
  file.add(change_record(6, {{chunk_key(1), entry_of(6)}}));
  const Catalog catalog = decode_catalog(file.take()).value();
  EXPECT_EQ(catalog.erased, (std::vector<RecordKey>{chunk_key(2)}));
}

// One byte, the shortest entry there is.
TEST(Catalog, AnErasedSceneIsRead) {
  CatalogBytes file;
  file.add(first_record());
  file.add(change_record(5, {{scene_key(), std::nullopt}}));
  const Catalog catalog = decode_catalog(file.take()).value();
  EXPECT_FALSE(catalog.has_torn_tail);
  EXPECT_EQ(catalog.index.sequence, 5u);
  EXPECT_EQ(catalog.index.scene, std::nullopt);
}

TEST(Catalog, NothingValidIsCorruption) {
  for (const Bytes& file :
       {Bytes(), hex("00"), Bytes::copy_of(std::string(8192, '\0')),
        Bytes::copy_of(std::string(5000, 'x')), Bytes::copy_of(std::string("NVCT"))}) {
    const auto catalog = decode_catalog(file);
    ASSERT_FALSE(catalog);
    EXPECT_EQ(catalog.error().code(), ErrorCode::corruption);
  }
}

// Nothing says what was there before it.
TEST(Catalog, AFirstRecordThatListsOnlyChangesIsNone) {
  CatalogBytes file;
  file.add(change_record(5, {{chunk_key(1), entry_of(5)}}));
  const auto catalog = decode_catalog(file.take());
  ASSERT_FALSE(catalog);
  EXPECT_EQ(catalog.error().code(), ErrorCode::corruption);
}

TEST(Catalog, AVersionOfTheFutureIsSaidToBeOne) {
  const auto catalog = decode_catalog(record_with_body(hex("00 00 00 00"), 2));
  ASSERT_FALSE(catalog);
  EXPECT_EQ(catalog.error().code(), ErrorCode::unsupported);
  EXPECT_NE(catalog.error().message().find("version 2"), std::string::npos);
}

// A record copied to another place of the file, or left there by an older catalog, would
// bring back an old generation.
TEST(Catalog, ARecordIsOneOnlyInItsPlaceAndItsTurn) {
  CatalogBytes file;
  file.add(first_record());
  file.add(change_record(5, {{chunk_key(1), entry_of(5)}}));
  const Bytes good = file.take();
  ByteWriter moved;
  moved.bytes(good);
  moved.bytes(good.view().subspan(4096, 4096));
  EXPECT_TRUE(decode_catalog(moved.take())->has_torn_tail);

  CatalogBytes again;
  again.add(first_record());
  again.add(change_record(6, {{chunk_key(1), entry_of(6)}}));
  again.add(change_record(6, {{chunk_key(1), entry_of(5)}}));
  const Catalog catalog = decode_catalog(again.take()).value();
  EXPECT_TRUE(catalog.has_torn_tail);
  EXPECT_EQ(catalog.end.offset, 2u * 4096);
  EXPECT_EQ(*catalog.index.find(chunk_key(1)), entry_of(6));
}

// Each of these has a right checksum: somebody made it on purpose.
TEST(Catalog, HostileBodiesAreNoRecords) {
  for (const std::string_view body : {
           "00 00 00 01 06 00 00 00 00 00 05 00",           // a seventh face
           "00 00 00 01 00 80808080 10 00 00 00 00 05 00",  // x beyond 32 bits
           "00 00 00 01 02 00 00 00 05 00",                 // an empty name
           "00 00 00 01 02 02 2e0a 00 00 05 00",            // a control character
           "00 00 00 01 02 02 c328 00 00 05 00",            // no UTF-8
           "00 00 00 01 04 00 00 05 00",                    // an unknown kind
           "00 00 00 01 81 00 00 05 00",                    // an unknown bit
           "00 00 00 01 01 0a 00 05 00",                    // a version before the first
           "00 00 00 02 11 11",                             // the scene twice
           "00 00 00 00 00",                                // a byte too many
           "00 00 02 00",                                   // an option that is neither
           "00 00 00",                                      // an end too early
           "00 00 00 ffffffffffffffffff01",                 // more entries than there can be
           "00 00 00 ffffffff0f 01",
           "00 00 01 ffffffff0f",  // a name of 4 GiB
       }) {
    const Bytes file = record_with_body(hex(body));
    const AllocationWatch watch;
    const auto catalog = decode_catalog(file);
    EXPECT_LT(watch.peak_size(), 64u << 10) << body;
    ASSERT_FALSE(catalog) << body;
    EXPECT_EQ(catalog.error().code(), ErrorCode::corruption) << body;
  }
  EXPECT_TRUE(decode_catalog(record_with_body(hex("00 00 00 00"))));
  EXPECT_FALSE(decode_catalog(record_with_body(hex("00 00 00 00"), 1, 3))) << "an unknown kind";
}

// A claim of many entries costs no more than the bytes that make it.
TEST(Catalog, MemoryIsBoundedByTheInput) {
  ByteWriter body;
  body.bytes(hex("00 00 00"));
  constexpr std::size_t kFill = 300'000;
  body.bytes(hex("e0a712"));  // 300,000
  for (std::size_t i = 0; i < kFill; ++i) body.bytes(hex("12 01 00"));
  const Bytes file = record_with_body(body.take());
  const AllocationWatch watch;
  EXPECT_FALSE(decode_catalog(file));
  EXPECT_LT(watch.peak_size(), 100 * file.size());
}

TEST(Catalog, TooMuchIsRefusedWhenWritten) {
  CatalogRecord record = first_record();
  record.changes.clear();
  const std::string name(255, 'x');
  for (std::size_t i = 0; i < (kCatalogSizeMax >> 8) + 1000; ++i) {
    record.changes.push_back({player_named(name), std::nullopt});
  }
  const auto encoded = encode_record(record, 0);
  ASSERT_FALSE(encoded);
}

rc::Gen<IndexChange> any_change(std::uint64_t sequence) {
  return rc::gen::exec([sequence]() -> IndexChange {
    const auto any_i32 = rc::gen::arbitrary<std::int32_t>();
    IndexChange change;
    change.key.kind = *rc::gen::element(RecordKind::chunk, RecordKind::entity, RecordKind::player,
                                        RecordKind::global);
    if (change.key.kind == RecordKind::chunk) {
      change.key.pos = {*rc::gen::inRange(0, 6), *any_i32, *any_i32, *rc::gen::inRange(0, 256)};
    } else if (change.key.kind != RecordKind::entity) {
      change.key.name = "n" + *rc::gen::container<std::string>(rc::gen::inRange<char>(0x20, 0x7f));
    }
    if (!*rc::gen::arbitrary<bool>()) return change;
    FileEntry& entry = change.entry.emplace();
    entry.id = {*rc::gen::inRange<std::uint64_t>(0, sequence + 1),
                *rc::gen::arbitrary<std::uint64_t>()};
    entry.checked = *rc::gen::arbitrary<bool>();
    entry.placeholder = *rc::gen::arbitrary<bool>();
    if (entry.checked) {
      entry.payload_size = *rc::gen::arbitrary<std::uint64_t>();
      entry.checksum = *rc::gen::arbitrary<std::uint64_t>();
    }
    return change;
  });
}

RC_GTEST_PROP(Catalog, AnyRecordIsReadAsItWasWritten, ()) {
  const auto sequence = *rc::gen::inRange<std::uint64_t>(5, 1'000'000);
  CatalogRecord record =
      change_record(sequence, *rc::gen::container<std::vector<IndexChange>>(any_change(sequence)));
  // A key stands in a commit once.
  KeySet seen;
  std::erase_if(record.changes,
                [&](const IndexChange& each) { return !seen.insert(each.key).second; });
  record.generation = *rc::gen::inRange<std::uint64_t>(0, kSequenceMax);
  record.tick = *rc::gen::arbitrary<std::uint64_t>();
  if (*rc::gen::arbitrary<bool>()) {
    record.generator = GeneratorId{*rc::gen::container<std::string>(rc::gen::inRange('a', 'z')),
                                   *rc::gen::arbitrary<std::uint32_t>()};
  }
  SaveIndex expected;
  expected.apply(first_record().changes);
  expected.apply(record.changes);
  CatalogBytes file;
  file.add(first_record());
  file.add(record);
  const auto catalog = decode_catalog(file.take());
  RC_ASSERT(catalog.ok());
  RC_ASSERT(!catalog->has_torn_tail && !catalog->damaged_offset);
  RC_ASSERT(catalog->index.sequence == sequence);
  RC_ASSERT(catalog->index.generation == record.generation);
  RC_ASSERT(catalog->index.tick == record.tick);
  RC_ASSERT(catalog->index.generator == record.generator);
  RC_ASSERT(catalog->index.file_count() == expected.file_count());
  expected.visit([&](const RecordKey& key, const FileEntry& entry) {
    const FileEntry* read = catalog->index.find(key);
    RC_ASSERT(read != nullptr && *read == entry);
    return true;
  });
}

// Counting on from these would run over, and what is committed next would be older than
// what is there.
TEST(Catalog, SequencesAndGenerationsNobodyReachesAreNoRecords) {
  for (const bool is_sequence : {true, false}) {
    CatalogRecord last = change_record(kSequenceMax, {});
    if (!is_sequence) last = change_record(9, {});
    if (!is_sequence) last.generation = kSequenceMax;
    CatalogBytes good;
    good.add(first_record());
    const std::uint64_t offset = good.add(last);
    const Bytes file = good.take();
    EXPECT_FALSE(decode_catalog(file)->has_torn_tail);
    CatalogRecord beyond = last;
    (is_sequence ? beyond.sequence : beyond.generation) += 1;
    EXPECT_FALSE(encode_record(beyond, offset)) << "nobody would read it";
    // The same by hand: the sequence is at 8, and the generation is the first varint.
    Buffer hostile = file.clone();
    const std::span<std::byte> record = hostile.span().subspan(offset);
    record[is_sequence ? 8 : 32] |= std::byte{1};
    const ByteView body = ByteView(record).subspan(32, load_le<std::uint64_t>(&record[16]));
    store_le<std::uint64_t>(&record[24], xxh3(body, xxh3(ByteView(record).first(24), offset)));
    const auto catalog = decode_catalog(hostile.view());
    ASSERT_TRUE(catalog);
    EXPECT_TRUE(catalog->has_torn_tail);
    EXPECT_EQ(catalog->index.sequence, first_record().sequence);
  }
}

// Each block claims all that follows: to look at every claim would take for ever.
TEST(Catalog, AHostileFileIsGivenUpSoon) {
  constexpr std::size_t kBlockCount = 8192;
  std::string file;
  for (std::size_t i = 0; i < kBlockCount; ++i) {
    ByteWriter block;
    block.text("NVCT");
    block.u8(1);
    block.u8(1);
    block.u16_le(0);
    block.u64_le(i + 1);
    block.u64_le((kBlockCount - i) * kRecordAlignment - 32);
    block.u64_le(0);
    block.align(kRecordAlignment);
    file += as_text(block.view());
  }
  const auto catalog = decode_catalog(as_byte_view(file));
  ASSERT_FALSE(catalog);
  EXPECT_EQ(catalog.error().code(), ErrorCode::corruption);
}

}  // namespace
}  // namespace varve::nebula
