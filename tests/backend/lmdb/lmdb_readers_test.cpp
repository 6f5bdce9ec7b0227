// Readers in other processes.
#include <iostream>

#include "backend/lmdb/lmdb_sample.h"
#include "backend/log/child.h"
#include "support/scratch_dir.h"

namespace varve::test {
namespace {

constexpr std::uint64_t kBatchCount = 150;
constexpr int kRefreshCountMax = 1'000'000;

// Until the writer has come so far. What is seen is always the state after one batch.
std::string read_up_to(const std::string& dir, std::uint64_t number_wanted) {
  const auto reader = open_lmdb_backend_to_read(dir);
  if (!reader) return reader.error().message();
  std::uint64_t last = 0;
  std::uint64_t held_number = 0;
  std::unique_ptr<ReadView> held;
  Contents expected;
  for (int i = 0; last < number_wanted; ++i) {
    if (i == kRefreshCountMax) return "the writer does not move";
    if (const Status moved = (*reader)->refresh(); !moved) return moved.error().message();
    const std::uint64_t number = number_in(**reader);
    if (number < last) return "it went back";
    for (std::uint64_t n = last + 1; n <= number; ++n) apply_to(history_batch(n), expected);
    last = number;
    const auto found = contents_of(**reader);
    if (!found) return found.error().message();
    if (*found != expected) return fmt::format("not the state after batch {}", number);
    if ((*reader)->sequence() != number) return "the sequence is of another batch";
    if (held && number_in(*held) != held_number) return "a snapshot changed";
    if (i % 7 != 0) continue;
    auto snapshot = (*reader)->snapshot();
    if (!snapshot) return snapshot.error().message();
    held = *std::move(snapshot);
    held_number = number;
  }
  return "";
}

TEST(LmdbReaders, OthersSeeWholeBatchesThatNeverGoBack) {
  const ScratchDir dir;
  const std::string path = dir.file("lmdb");
  ASSERT_TRUE(open_lmdb_backend(path).value()->close());
  Child writer([&](int) -> std::string {
    const auto backend = open_lmdb_backend(path);
    if (!backend) return backend.error().message();
    for (std::uint64_t n = 1;; ++n) {
      const WriteResult written = (*backend)->write(history_batch(n));
      if (!written) return written.error().message();
    }
  });
  Child first([&](int) { return read_up_to(path, kBatchCount); });
  Child second([&](int) { return read_up_to(path, kBatchCount); });
  EXPECT_EQ(first.read_all(), "");
  EXPECT_EQ(second.read_all(), "");
  EXPECT_EQ(first.end(), 0);
  EXPECT_EQ(second.end(), 0);
  EXPECT_EQ(writer.end(SIGKILL), -1) << "it wrote to the end";
  const auto backend = open_lmdb_backend(path).value();
  EXPECT_EQ(contents_of(*backend).value(), history_after(number_in(*backend)));
}

// The size the file takes on while a value is overwritten.
std::uint64_t size_after(Backend& backend, int batch_count) {
  for (int i = 0; i < batch_count; ++i) {
    EXPECT_TRUE(backend.write(one("large", text_of(20'000, static_cast<std::uint64_t>(i)))));
  }
  return backend.stats().stored_size;
}

TEST(LmdbReaders, PagesThatAKilledReaderHeldAreUsedAgain) {
  const ScratchDir dir;
  const auto backend = open_lmdb_backend(dir.file("lmdb")).value();
  const std::uint64_t alone = size_after(*backend, 50);
  Child reader([&](int out) -> std::string {
    const auto opened = open_lmdb_backend_to_read(dir.file("lmdb"));
    if (!opened) return opened.error().message();
    if (write(out, "!", 1) != 1) return "nobody listens";
    for (;;) pause();
  });
  char ready = 0;
  ASSERT_EQ(read(reader.in(), &ready, 1), 1);
  ASSERT_EQ(ready, '!');
  const std::uint64_t beside = size_after(*backend, 200);
  EXPECT_GT(beside, alone + 100 * 20'000);
  reader.end(SIGKILL);
  const std::uint64_t found = size_after(*backend, 70);
  const std::uint64_t after = size_after(*backend, 200);
  EXPECT_EQ(after, found) << "the file still grows";
}

}  // namespace
}  // namespace varve::test
