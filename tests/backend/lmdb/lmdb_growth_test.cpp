// A file that outgrows its map.
#include "backend/lmdb/lmdb_sample.h"
#include "backend/log/child.h"
#include "support/readers.h"
#include "support/scratch_dir.h"

namespace varve::test {
namespace {

constexpr LmdbBackendOptions kSmallMap{.map_size = 1 << 20};
constexpr std::size_t kValueSize = 300'000;
constexpr std::uint64_t kValueCount = 40;

std::string key_of(std::uint64_t i) { return fmt::format("large{}", i); }

TEST(LmdbGrowth, TheMapGrowsWithTheFile) {
  const ScratchDir dir;
  auto backend = open_lmdb_backend(dir.file("lmdb"), kSmallMap).value();
  for (std::uint64_t i = 0; i < kValueCount; ++i) {
    const WriteResult written = backend->write(one(key_of(i), text_of(kValueSize, i)));
    ASSERT_TRUE(written) << written.error().message();
    EXPECT_EQ(written.sequence(), i + 1);
  }
  // One batch that takes several steps.
  ASSERT_TRUE(backend->write(one("huge", text_of(50 << 20, 7))));
  ASSERT_TRUE(backend->close());
  backend = open_lmdb_backend(dir.file("lmdb"), kSmallMap).value();
  for (std::uint64_t i = 0; i < kValueCount; ++i) {
    EXPECT_TRUE(value_at(*backend, key_of(i)) == text_of(kValueSize, i));
  }
  EXPECT_TRUE(value_at(*backend, "huge") == text_of(50 << 20, 7));
}

TEST(LmdbGrowth, ItGrowsBesideThreadsThatRead) {
  const ScratchDir dir;
  const auto backend = open_lmdb_backend(dir.file("lmdb"), kSmallMap).value();
  ASSERT_TRUE(backend->write(one("a", "1")));
  const Readers readers(3, [&] {
    ASSERT_EQ(value_at(*backend, "a"), "1");
    const auto page = backend->range({.values = false});
    ASSERT_TRUE(page) << page.error().message();
  });
  for (std::uint64_t i = 0; i < kValueCount; ++i) {
    ASSERT_TRUE(backend->write(one(key_of(i), text_of(kValueSize, i))));
    readers.let_one_read();
  }
}

TEST(LmdbGrowth, ASnapshotThatIsHeldMakesTheWriterFailAndNotWait) {
  const ScratchDir dir;
  const auto backend = open_lmdb_backend(dir.file("lmdb"), kSmallMap).value();
  ASSERT_TRUE(backend->write(one("a", "then")));
  auto held = backend->snapshot().value();
  std::uint64_t count = 0;
  for (;; ++count) {
    const WriteResult written = backend->write(one(key_of(count), text_of(kValueSize, count)));
    if (!written) {
      EXPECT_EQ(written.outcome(), WriteOutcome::failed);
      expect_words(written.error(), ErrorCode::busy, "1 snapshots");
      break;
    }
    ASSERT_LE(count, kValueCount) << "the map is larger than was asked for";
  }
  EXPECT_EQ(value_at(*held, "a"), "then");
  EXPECT_EQ(contents_of(*held)->size(), 1u);
  EXPECT_EQ(backend->sequence(), count + 1);
  EXPECT_TRUE(backend->write(one("a", "small"))) << "what fits is written";
  held.reset();
  EXPECT_TRUE(backend->write(one(key_of(count), text_of(kValueSize, count))));
  EXPECT_EQ(backend->stats().entry_count, count + 2);
}

TEST(LmdbGrowth, TheMapThereIsByDefaultGrowsBesideASnapshot) {
  const ScratchDir dir;
  const auto backend = open_lmdb_backend(dir.file("lmdb")).value();
  ASSERT_TRUE(backend->write(one("a", "then")));
  const auto held = backend->snapshot().value();
  for (std::uint64_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(backend->write(one(key_of(i), text_of(16 << 20, i))));
  }
  EXPECT_EQ(contents_of(*held).value(), (Contents{{"a", "then"}}));
}

TEST(LmdbGrowth, AReaderFollowsAWriterOfAnotherProcess) {
  const ScratchDir dir;
  ASSERT_TRUE(open_lmdb_backend(dir.file("lmdb"), kSmallMap).value()->close());
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Child writer([&](int out) -> std::string {
    const auto backend = open_lmdb_backend(dir.file("lmdb"), kSmallMap);
    if (!backend) return backend.error().message();
    char go = 0;
    for (std::uint64_t i = 0; read(ends[0], &go, 1) == 1 && go == '+'; ++i) {
      const WriteResult written = (*backend)->write(one(key_of(i), text_of(kValueSize, i)));
      if (!written) return written.error().message();
      if (write(out, "!", 1) != 1) return "nobody listens";
    }
    return "";
  });
  const auto reader = open_lmdb_backend_to_read(dir.file("lmdb"), kSmallMap).value();
  char done = 0;
  for (std::uint64_t i = 0; i < 12; ++i) {
    ASSERT_EQ(write(ends[1], "+", 1), 1);
    ASSERT_EQ(read(writer.in(), &done, 1), 1);
    ASSERT_EQ(done, '!');
    const Status moved = reader->refresh();
    ASSERT_TRUE(moved) << moved.error().message();
    ASSERT_TRUE(value_at(*reader, key_of(i)) == text_of(kValueSize, i));
  }
  // A snapshot keeps the map where it is, and the reader shows what it showed.
  const auto held = reader->snapshot().value();
  Status moved;
  for (int i = 0; moved && i < 100; ++i) {
    ASSERT_EQ(write(ends[1], "+", 1), 1);
    ASSERT_EQ(read(writer.in(), &done, 1), 1);
    moved = reader->refresh();
  }
  ASSERT_FALSE(moved) << "it never outgrew the map";
  expect_words(moved.error(), ErrorCode::busy, "held");
  EXPECT_TRUE(value_at(*held, key_of(3)) == text_of(kValueSize, 3));
  EXPECT_TRUE(value_at(*reader, key_of(3)) == text_of(kValueSize, 3));
  ASSERT_EQ(write(ends[1], "-", 1), 1);
  EXPECT_EQ(writer.read_all(), "");
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace varve::test
