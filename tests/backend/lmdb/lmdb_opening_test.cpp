// Who may have a file open beside whom.
#include <thread>

#include "backend/lmdb/lmdb_sample.h"
#include "backend/log/child.h"
#include "support/scratch_dir.h"

namespace varve::test {
namespace {

TEST(LmdbOpening, ASecondWriterIsToldWhoTheFirstIs) {
  const ScratchDir dir;
  const auto first = open_lmdb_backend(dir.file("lmdb")).value();
  const std::string pid = std::to_string(getpid());
  expect_words(open_lmdb_backend(dir.file("lmdb")).error(), ErrorCode::busy, pid);
  Child other([&](int) -> std::string {
    const auto second = open_lmdb_backend(dir.file("lmdb"));
    if (second) return "two may write";
    return second.error().message().find(pid) != std::string::npos ? "" : second.error().message();
  });
  EXPECT_EQ(other.read_all(), "");
  EXPECT_EQ(other.end(), 0);
  EXPECT_TRUE(first->write(one("a", "still")));
  ASSERT_TRUE(first->close());
  EXPECT_TRUE(open_lmdb_backend(dir.file("lmdb")));
}

TEST(LmdbOpening, AReaderBesideTheWriterOfItsProcessStaysWhereItIsUntilItIsRefreshed) {
  const ScratchDir dir;
  auto writer = open_lmdb_backend(dir.file("lmdb")).value();
  ASSERT_TRUE(writer->write(one("a", "1")));
  auto reader = open_lmdb_backend_to_read(dir.file("lmdb")).value();
  ASSERT_TRUE(writer->write(one("a", "2")));
  EXPECT_EQ(value_at(*reader, "a"), "1");
  EXPECT_EQ(reader->sequence(), 1u);
  const auto held = reader->snapshot().value();
  ASSERT_TRUE(reader->refresh());
  EXPECT_EQ(value_at(*reader, "a"), "2");
  EXPECT_EQ(value_at(*held, "a"), "1");
  EXPECT_EQ(reader->stats().durable_sequence, 2u);
  expect_words(reader->write(one("a", "3")).error(), ErrorCode::invalid_argument, "read only");
  expect_words(reader->sync().error(), ErrorCode::invalid_argument, "read only");
  // Either goes without the other.
  ASSERT_TRUE(writer->close());
  writer.reset();
  EXPECT_EQ(value_at(*reader, "a"), "2");
  EXPECT_TRUE(reader->verify()->empty());
  writer = open_lmdb_backend(dir.file("lmdb")).value();
  ASSERT_TRUE(writer->write(one("a", "3")));
  ASSERT_TRUE(reader->close());
  expect_words(reader->get(as_byte_view("a")).error(), ErrorCode::invalid_argument, "closed");
  expect_words(reader->refresh().error(), ErrorCode::invalid_argument, "closed");
  EXPECT_EQ(value_at(*held, "a"), "1") << "what is held is held";
  ASSERT_TRUE(writer->write(one("a", "4")));
  EXPECT_EQ(value_at(*writer, "a"), "4");
}

TEST(LmdbOpening, AProcessThatReadsMustLetGoBeforeItWrites) {
  const ScratchDir dir;
  ASSERT_TRUE(open_lmdb_backend(dir.file("lmdb")).value()->close());
  auto reader = open_lmdb_backend_to_read(dir.file("lmdb")).value();
  expect_words(open_lmdb_backend(dir.file("lmdb")).error(), ErrorCode::busy, "open to read");
  EXPECT_TRUE(open_lmdb_backend_to_read(dir.file("lmdb"))) << "two may read";
  reader.reset();
  EXPECT_TRUE(open_lmdb_backend(dir.file("lmdb")));
}

TEST(LmdbOpening, ThereIsNothingToReadWhereNobodyWrote) {
  const ScratchDir dir;
  expect_words(open_lmdb_backend_to_read(dir.file("none")).error(), ErrorCode::not_found, "none");
  expect_words(open_lmdb_backend_to_read(dir.path()).error(), ErrorCode::not_found, "data.mdb");
}

TEST(LmdbOpening, ASnapshotIsReadByManyThreads) {
  const ScratchDir dir;
  const auto backend = open_lmdb_backend(dir.file("lmdb")).value();
  for (std::uint64_t n = 1; n <= 20; ++n) ASSERT_TRUE(backend->write(history_batch(n)));
  const auto held = backend->snapshot().value();
  const Contents expected = history_after(20);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) ASSERT_EQ(contents_of(*held).value(), expected);
    });
  }
  for (std::uint64_t n = 21; n <= 40; ++n) ASSERT_TRUE(backend->write(history_batch(n)));
}

TEST(LmdbOpening, ReadersBeyondTheLimitAreRefusedAndTheNextIsNot) {
  const ScratchDir dir;
  const auto backend = open_lmdb_backend(dir.file("lmdb"), {.reader_count_max = 8}).value();
  ASSERT_TRUE(backend->write(one("a", "1")));
  std::vector<std::unique_ptr<ReadView>> held;
  for (;;) {
    auto snapshot = backend->snapshot();
    if (!snapshot) {
      expect_words(snapshot.error(), ErrorCode::busy, "reader_count_max");
      break;
    }
    held.push_back(*std::move(snapshot));
    ASSERT_LE(held.size(), 100u);
  }
  EXPECT_GE(held.size(), 7u);
  EXPECT_TRUE(backend->write(one("a", "2"))) << "writing needs no place";
  held.pop_back();
  EXPECT_TRUE(backend->snapshot());
  EXPECT_EQ(value_at(*backend, "a"), "2");
}

}  // namespace
}  // namespace varve::test
