#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <optional>
#include <string>

#include "support/bytes_text.h"
#include "varve/chunk.h"
#include "world/chunk_access.h"

namespace varve {
namespace {

using test::hex;
using test::to_hex;

RawChunk& writable(const ChunkRef& ref) {
  return static_cast<RawChunk&>(ChunkAccess::writable(ref));
}

ChunkRef chunk_of(std::string_view digits) {
  return ChunkRef(std::make_unique<RawChunk>(hex(digits)));
}

TEST(RawChunk, AnEditIsAnOffsetAndBytes) {
  EXPECT_EQ(to_hex(RawChunk::edit_of(0x102, hex("aabb"))), "02010000aabb");
}

TEST(RawChunk, OnlyARealChangeMarksIt) {
  const ChunkRef ref = chunk_of("00112233");
  RawChunk& chunk = writable(ref);
  EXPECT_FALSE(chunk.would_change(RawChunk::edit_of(1, hex("1122"))));
  EXPECT_FALSE(*chunk.apply(RawChunk::edit_of(1, hex("1122"))));
  EXPECT_TRUE(chunk.set(4, {}).ok());
  EXPECT_TRUE(chunk.set(0, hex("00")).ok());
  EXPECT_FALSE(ChunkAccess::take_changed(chunk));

  EXPECT_TRUE(chunk.would_change(RawChunk::edit_of(1, hex("1199"))));
  EXPECT_TRUE(*chunk.apply(RawChunk::edit_of(1, hex("1199"))));
  EXPECT_TRUE(ChunkAccess::take_changed(chunk));
  EXPECT_FALSE(ChunkAccess::take_changed(chunk)) << "it was taken";
  EXPECT_FALSE(*chunk.apply(RawChunk::edit_of(1, hex("1199")))) << "an edit assigns";
  EXPECT_TRUE(chunk.set(0, hex("77")).ok());
  EXPECT_TRUE(ChunkAccess::take_changed(chunk));
  EXPECT_EQ(to_hex(chunk.view()), "77119933");
}

TEST(RawChunk, SettersSayTheirEditsToWhoeverWantsThem) {
  const ChunkRef ref = chunk_of("00112233");
  RawChunk& chunk = writable(ref);
  std::vector<Bytes> edits;
  ChunkAccess::begin_edits(chunk, &edits);
  EXPECT_TRUE(chunk.set(1, hex("1122")).ok()) << "nothing changes";
  EXPECT_TRUE(chunk.set(1, hex("aabb")).ok());
  EXPECT_TRUE(chunk.set(0, chunk.view().subspan(1, 3)).ok()) << "a part of itself";
  EXPECT_TRUE(*chunk.apply(RawChunk::edit_of(3, hex("77"))));
  EXPECT_FALSE(ChunkAccess::end_edits(chunk)) << "they say everything";
  EXPECT_TRUE(chunk.set(0, hex("ff")).ok());

  const ChunkRef again = chunk_of("00112233");
  for (const Bytes& edit : edits) EXPECT_TRUE(*writable(again).apply(edit));
  EXPECT_EQ(edits.size(), 3u);
  EXPECT_EQ(to_hex(writable(again).view()), "aabb3377");
  EXPECT_TRUE(ChunkAccess::take_changed(chunk));
}

TEST(RawChunk, ACellIsAnyPartOfIt) {
  const ChunkRef ref = chunk_of("00112233");
  const auto type = raw_chunks();
  EXPECT_EQ(to_hex(RawChunk::cell_of(0x102, 3)), "0201000003000000");
  EXPECT_EQ(to_hex(*ref->read_cell(RawChunk::cell_of(1, 2))), "1122");
  EXPECT_EQ(to_hex(*ref->read_cell(RawChunk::cell_of(4, 0))), "");
  EXPECT_EQ(ref->read_cell(RawChunk::cell_of(3, 2)).error().code(), ErrorCode::not_found);
  EXPECT_EQ(ref->read_cell(RawChunk::cell_of(~0u, ~0u)).error().code(), ErrorCode::not_found);
  EXPECT_EQ(ref->read_cell(hex("00000000")).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(ref->read_cell(hex("000000000100000000")).error().code(), ErrorCode::invalid_argument);

  const auto cells = type->cells_of(RawChunk::edit_of(2, hex("aabb")));
  ASSERT_TRUE(cells.ok());
  ASSERT_EQ(cells->size(), 1u);
  EXPECT_EQ((*cells)[0], RawChunk::cell_of(2, 2));
  EXPECT_EQ(*type->cell_edit((*cells)[0], hex("cdef")), RawChunk::edit_of(2, hex("cdef")));
  EXPECT_EQ(type->cell_edit((*cells)[0], hex("cd")).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(type->cells_of(hex("000000")).error().code(), ErrorCode::invalid_argument);
}

TEST(RawChunk, AnEditPastTheEndChangesNothing) {
  const ChunkRef ref = chunk_of("00112233");
  RawChunk& chunk = writable(ref);
  for (const Bytes& edit : {RawChunk::edit_of(3, hex("aabb")), RawChunk::edit_of(5, {}),
                            RawChunk::edit_of(4, hex("aa")),
                            RawChunk::edit_of(0xffffffff, hex("aa")), hex("000000"), Bytes()}) {
    EXPECT_TRUE(chunk.would_change(edit)) << "so that apply() is asked and can say why";
    const auto changed = chunk.apply(edit);
    ASSERT_FALSE(changed.ok()) << to_hex(edit);
    EXPECT_EQ(changed.error().code(), ErrorCode::invalid_argument);
  }
  EXPECT_EQ(chunk.set(~std::size_t{0}, hex("aa")).error().code(), ErrorCode::invalid_argument);
  EXPECT_FALSE(ChunkAccess::take_changed(chunk));
  EXPECT_EQ(to_hex(chunk.view()), "00112233");
}

TEST(RawChunk, PartsOfItselfCanBePutElsewhere) {
  const ChunkRef ref = chunk_of("0011223344");
  RawChunk& chunk = writable(ref);
  EXPECT_TRUE(chunk.set(1, chunk.view().first(3)).ok());
  EXPECT_EQ(to_hex(chunk.view()), "0000112244");
  EXPECT_TRUE(chunk.set(1, chunk.view().first(4)).ok());
  EXPECT_EQ(to_hex(chunk.view()), "0000001122");
}

TEST(RawChunk, UnchangedItIsEncodedAsItCame) {
  BufferPool pool;
  const Bytes stored = hex("0011");
  const ChunkRef ref(std::make_unique<RawChunk>(stored));
  EXPECT_EQ(ref->encode(pool)->data(), stored.data());
  EXPECT_EQ(ChunkAccess::holder_count(*ref), 1u);
}

TEST(RawChunk, EncodedBytesHoldTheChunk) {
  BufferPool pool;
  ChunkRef ref = chunk_of("0011");
  ASSERT_TRUE(writable(ref).set(0, hex("ff")).ok());
  std::optional<Bytes> encoded = *ref->encode(pool);
  EXPECT_EQ(encoded->data(), ref.as<RawChunk>().view().data()) << "no copy";
  EXPECT_EQ(ChunkAccess::holder_count(*ref), 2u);
  encoded.reset();
  EXPECT_EQ(ChunkAccess::holder_count(*ref), 1u);
  const Bytes longer_lived = *ref->encode(pool);
  ref = {};
  EXPECT_EQ(to_hex(longer_lived), "ff11");
}

TEST(RawChunk, AChunkNobodyHoldsIsCopied) {
  BufferPool pool;
  RawChunk chunk(hex("0011"));
  ASSERT_TRUE(chunk.set(0, hex("ff")).ok());
  const Bytes encoded = *chunk.encode(pool);
  EXPECT_NE(encoded.data(), chunk.view().data());
  EXPECT_EQ(to_hex(encoded), "ff11");
}

TEST(RawChunk, ACloneAndItsOriginGoTheirOwnWays) {
  for (const bool is_changed_first : {false, true}) {
    const ChunkRef ref = chunk_of("001122");
    ASSERT_TRUE(!is_changed_first || writable(ref).set(2, hex("ff")).ok());
    const ChunkRef copy = ref->clone();
    EXPECT_TRUE(equal(copy.as<RawChunk>().view(), ref.as<RawChunk>().view()));
    EXPECT_FALSE(ChunkAccess::take_changed(writable(copy))) << "a clone is not a change";
    ASSERT_TRUE(writable(copy).set(0, hex("aa")).ok());
    EXPECT_EQ(ref.as<RawChunk>().view()[0], std::byte{0});
    ASSERT_TRUE(writable(ref).set(1, hex("bb")).ok());
    EXPECT_EQ(copy.as<RawChunk>().view()[1], std::byte{0x11});
  }
}

TEST(RawChunk, AnEmptyChunkWorks) {
  BufferPool pool;
  const ChunkRef ref = chunk_of("");
  RawChunk& chunk = writable(ref);
  EXPECT_TRUE(chunk.view().empty());
  EXPECT_FALSE(*chunk.apply(RawChunk::edit_of(0, {})));
  EXPECT_FALSE(chunk.apply(RawChunk::edit_of(0, hex("00"))).ok());
  EXPECT_TRUE(chunk.set(0, {}).ok());
  EXPECT_TRUE(chunk.encode(pool)->empty());
  EXPECT_TRUE(ChunkRef(chunk.clone()).as<RawChunk>().view().empty());
  EXPECT_FALSE(ChunkAccess::take_changed(chunk));
}

RC_GTEST_PROP(RawChunk, EditsDoWhatTheySay,
              (const std::string& start,
               const std::vector<std::pair<std::uint8_t, std::string>>& edits)) {
  BufferPool pool;
  std::string expected = start;
  const ChunkRef ref(std::make_unique<RawChunk>(Bytes::copy_of(start)));
  for (const auto& [offset, text] : edits) {
    const Bytes edit = RawChunk::edit_of(offset, as_byte_view(text));
    const bool fits = offset + text.size() <= expected.size();
    std::string after = expected;
    if (fits) after.replace(offset, text.size(), text);
    const bool would_change = ref->would_change(edit);
    const auto changed = writable(ref).apply(edit);
    RC_ASSERT(changed.ok() == fits);
    if (fits) RC_ASSERT(*changed == (after != expected) && *changed == would_change);
    RC_ASSERT(ChunkAccess::take_changed(writable(ref)) == (after != expected));
    expected = after;
    RC_ASSERT(ref->encode(pool)->text() == expected);
  }
}

TEST(RawChunkType, HoldsPayloadsToTheirSize) {
  const auto sized = raw_chunks(4);
  EXPECT_EQ(sized->name(), "raw");
  EXPECT_TRUE(sized->decode(ChunkPos(0, 0), hex("00112233")).ok());
  const auto other = sized->decode(ChunkPos(0, 0), hex("001122"));
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code(), ErrorCode::corruption);
  EXPECT_EQ(other.error().message(), "raw chunk: expected 4 bytes, found 3");
  for (const char* digits : {"", "00", "001122"})
    EXPECT_TRUE(raw_chunks()->decode(ChunkPos(0, 0), hex(digits)).ok());
}

}  // namespace
}  // namespace varve
