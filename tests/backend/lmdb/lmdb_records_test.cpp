// The bytes Varve keeps in LMDB, as docs/formats/varve_lmdb_v1.md has them.
#include "backend/lmdb/lmdb_records.h"

#include <lmdb.h>

#include "backend/lmdb/lmdb_sample.h"
#include "base/byte_writer.h"
#include "support/format_page.h"
#include "support/scratch_dir.h"
#include "varve/checksum.h"

namespace varve::test {
namespace {

constexpr std::string_view kPage = "varve_lmdb_v1.md";

std::string stored(MDB_txn* txn, const char* table, std::string_view key) {
  MDB_dbi dbi = 0;
  MDB_val at{key.size(), const_cast<char*>(key.data())};
  MDB_val value;
  EXPECT_EQ(mdb_dbi_open(txn, table, 0, &dbi), 0);
  EXPECT_EQ(mdb_get(txn, dbi, &at, &value), 0);
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

TEST(LmdbRecords, AnotherProgramFindsWhatThePageSays) {
  const ScratchDir dir;
  {
    const auto backend = open_lmdb_backend(dir.file("lmdb")).value();
    for (int i = 1; i <= 6; ++i) ASSERT_TRUE(backend->write(one("chunk/1", std::to_string(i))));
    ASSERT_TRUE(backend->write(one("chunk/1", "stone")));
    ASSERT_TRUE(backend->close());
  }
  MDB_env* env = nullptr;
  MDB_txn* txn = nullptr;
  ASSERT_EQ(mdb_env_create(&env), 0);
  ASSERT_EQ(mdb_env_set_maxdbs(env, 2), 0);
  ASSERT_EQ(mdb_env_open(env, dir.file("lmdb").c_str(), MDB_RDONLY, 0664), 0);
  ASSERT_EQ(mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn), 0);
  EXPECT_EQ(stored(txn, "varve.data", "chunk/1"),
            example_of(kPage, "`varve.data`, value of `chunk/1`").text());
  EXPECT_EQ(stored(txn, "varve.meta", "head"),
            example_of(kPage, "`varve.meta`, value of `head`").text());
  mdb_txn_abort(txn);
  mdb_env_close(env);
}

TEST(LmdbRecords, ASealIsOfItsKeyAndItsValue) {
  const Bytes sealed = example_of(kPage, "`varve.data`, value of `chunk/1`");
  EXPECT_EQ(as_text(lmdb::unseal(as_byte_view("chunk/1"), sealed).value()), "stone");
  EXPECT_FALSE(lmdb::unseal(as_byte_view("chunk/2"), sealed));
  for (std::size_t size = 0; size < sealed.size(); ++size) {
    const auto cut = lmdb::unseal(as_byte_view("chunk/1"), sealed.slice(0, size));
    ASSERT_FALSE(cut);
    EXPECT_EQ(cut.error().code(), ErrorCode::corruption);
  }
  for (std::size_t bit = 0; bit < sealed.size() * 8; ++bit) {
    Buffer flipped = sealed.clone();
    flipped.span()[bit / 8] ^= std::byte{1} << (bit % 8);
    EXPECT_FALSE(lmdb::unseal(as_byte_view("chunk/1"), flipped.view()));
  }
}

// XXH3 has code of its own for each of these ranges of sizes.
TEST(LmdbRecords, ASealIsOfItsKeyWhateverTheSize) {
  for (const std::size_t size : {0, 1, 3, 4, 8, 9, 16, 17, 128, 129, 240, 241, 1'000, 5'000}) {
    const std::string value = text_of(size, size);
    std::string sealed(lmdb::kSealSize + size, '\0');
    lmdb::seal(as_byte_view("a"), Bytes::copy_of(value), std::as_writable_bytes(std::span(sealed)));
    const auto good = lmdb::unseal(as_byte_view("a"), as_byte_view(sealed));
    ASSERT_TRUE(good) << size;
    EXPECT_EQ(as_text(*good), value);
    EXPECT_FALSE(lmdb::unseal(as_byte_view("b"), as_byte_view(sealed))) << size;
    sealed.back() ^= 1;
    EXPECT_FALSE(lmdb::unseal(as_byte_view("a"), as_byte_view(sealed))) << size;
  }
}

TEST(LmdbRecords, AFrameOfASaveIsNoSealedValue) {
  // It begins with a checksum of the rest, too.
  const ByteView key = as_byte_view("chunk/1");
  const std::string rest = text_of(100, 1);
  ByteWriter frame;
  frame.u64_le(xxh3(as_byte_view(rest), xxh3(key)));
  frame.text(rest);
  EXPECT_FALSE(lmdb::unseal(key, frame.view()));
}

TEST(LmdbRecords, AHeadIsWholeAndOfAVersionThatIsKnown) {
  const Bytes head = lmdb::encode_head({.sequence = 7, .live_size = 12});
  EXPECT_EQ(head, example_of(kPage, "`varve.meta`, value of `head`").slice(lmdb::kSealSize));
  EXPECT_EQ(lmdb::decode_head(head)->sequence, 7u);
  for (std::size_t size = 0; size < head.size(); ++size) {
    EXPECT_FALSE(lmdb::decode_head(head.slice(0, size)));
  }
  Buffer later = head.clone();
  later.data()[0] = std::byte{2};
  expect_words(lmdb::decode_head(later.view()).error(), ErrorCode::unsupported, "version 2");
}

}  // namespace
}  // namespace varve::test
