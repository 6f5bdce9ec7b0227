// Readers in other processes, and processes that end without a word.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "backend/log/child.h"
#include "backend/log/log_views.h"
#include "backend/log/small_log.h"
#include "io/vfs.h"
#include "support/readers.h"
#include "support/scratch_dir.h"

namespace varve::test {
namespace {

constexpr int kCounterCount = 8;
constexpr int kBulkCount = 10;
constexpr std::size_t kBulkSize = 6000;
constexpr int kRefreshCountMax = 1'000'000;
constexpr std::uint64_t kBatchCount = 250;

// So that a few batches fill a segment, and checkpoints, recycling and holes come all the time.
log::LogOptions busy_options() {
  log::LogOptions options = small_log_options();
  options.background = true;
  options.seed = 0;
  return options;
}

Result<std::unique_ptr<Backend>> open_busy(const std::string& dir) {
  return log::open_log(posix_vfs(), dir, busy_options());
}

// Batch `n` sets all counters to n and overwrites some of the bulk, which tells its batch.
WriteBatch batch_of(std::uint64_t n) {
  WriteBatch batch;
  for (int i = 0; i < kCounterCount; ++i) {
    batch.put(as_byte_view(fmt::format("counter{}", i)), Bytes::copy_of(std::to_string(n)));
  }
  const std::string head = fmt::format("{:08}", n);
  for (const std::uint64_t key : {n % kBulkCount, n * 7 % kBulkCount}) {
    batch.put(as_byte_view(fmt::format("bulk{}", key)),
              Bytes::copy_of(head + text_of(kBulkSize, n)));
  }
  return batch;
}

// What the counters say; nullopt with a complaint in `wrong` if the view is not one whole batch.
std::optional<std::uint64_t> whole_batch(const ReadView& view, std::string& wrong) {
  std::vector<Bytes> keys;
  for (int i = 0; i < kCounterCount; ++i)
    keys.push_back(Bytes::copy_of(fmt::format("counter{}", i)));
  const auto values = view.multi_get(keys);
  std::optional<std::uint64_t> counter;
  for (const auto& value : values) {
    if (!value) return wrong = value.error().message(), std::nullopt;
    const std::uint64_t found = *value ? std::stoull(std::string((*value)->text())) : 0;
    if (counter && *counter != found) return wrong = "counters of two batches", std::nullopt;
    counter = found;
  }
  for (int i = 0; i < kBulkCount; ++i) {
    const auto value = view.get(as_byte_view(fmt::format("bulk{}", i)));
    if (!value) return wrong = value.error().message(), std::nullopt;
    if (!*value) continue;
    const std::string text((*value)->text());
    const std::uint64_t n = std::stoull(text.substr(0, 8));
    if (text.substr(8) != text_of(kBulkSize, n)) return wrong = "bulk is wrong", std::nullopt;
  }
  return counter;
}

// Until the counters are there, or are not for long.
std::string read_up_to(const std::string& dir, std::uint64_t counter_wanted) {
  const auto reader = log::open_log_to_read(posix_vfs(), dir, busy_options());
  if (!reader) return reader.error().message();
  std::string wrong;
  std::uint64_t last = 0;
  std::unique_ptr<ReadView> held;
  std::optional<std::uint64_t> held_counter;
  for (int i = 0; last < counter_wanted; ++i) {
    if (i == kRefreshCountMax) return "the writer does not move";
    if (const Status moved = (*reader)->refresh(); !moved) return moved.error().message();
    const BackendReport report = (*reader)->open_report();
    if (!report.problems.empty()) return report.problems[0].message();
    const auto counter = whole_batch(**reader, wrong);
    if (!counter) return fmt::format("refresh {}: {}", i, wrong);
    if (*counter < last) return "it went back";
    last = *counter;
    if (held && whole_batch(*held, wrong) != held_counter) return "a snapshot changed: " + wrong;
    if (i % 7 != 0) continue;
    const auto found = (*reader)->verify(VerifyScope::structure);
    if (!found) return found.error().message();
    if (!found->empty()) return found->front().message();
    auto snapshot = (*reader)->snapshot();
    if (!snapshot) return snapshot.error().message();
    held = *std::move(snapshot);
    held_counter = counter;
  }
  return "";
}

TEST(LogReaders, OthersSeeWholeBatchesThatNeverGoBackAndKeepWhatTheyHold) {
  const ScratchDir dir;
  const std::string path = dir.file("log");
  {
    const auto backend = open_busy(path).value();
    ASSERT_TRUE(backend->write(batch_of(1)));
    ASSERT_TRUE(backend->close());
  }
  Child writer([&](int) -> std::string {
    const auto backend = open_busy(path);
    if (!backend) return backend.error().message();
    for (std::uint64_t n = 2;; ++n) {
      const WriteResult written = (*backend)->write(batch_of(n));
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
  std::string wrong;
  const auto backend = open_busy(path).value();
  EXPECT_GE(whole_batch(*backend, wrong).value_or(0), kBatchCount) << wrong;
}

TEST(LogReaders, TheSpaceOfAReaderThatWasKilledIsReclaimed) {
  const ScratchDir dir;
  const std::string path = dir.file("log");
  const auto backend = log::open_log(posix_vfs(), path, small_log_options()).value();
  for (std::uint64_t n = 1; n <= 20; ++n) ASSERT_TRUE(backend->write(batch_of(n)));
  Child reader([&](int out) -> std::string {
    const auto opened = log::open_log_to_read(posix_vfs(), path, busy_options());
    if (!opened) return opened.error().message();
    if (write(out, "!", 1) != 1) return "nobody listens";
    for (;;) pause();
  });
  char ready = 0;
  ASSERT_EQ(read(reader.in(), &ready, 1), 1);
  ASSERT_EQ(ready, '!');
  for (std::uint64_t n = 21; n <= 60; ++n) ASSERT_TRUE(backend->write(batch_of(n)));
  const std::uint64_t pinned_size = backend->stats().stored_size;
  reader.end(SIGKILL);
  for (std::uint64_t n = 61; n <= 80; ++n) ASSERT_TRUE(backend->write(batch_of(n)));
  EXPECT_LT(backend->stats().stored_size, pinned_size);
  EXPECT_LT(backend->stats().stored_size, 3 * backend->stats().live_size);
}

TEST(LogReaders, AWriterThatIsKilledLosesNothingItSaidWasDone) {
  const ScratchDir dir;
  const std::string path = dir.file("log");
  std::mt19937_64 random(1);
  std::uint64_t last = 0;
  for (int round = 0; round < 30; ++round) {
    SCOPED_TRACE(round);
    Child writer([&](int out) -> std::string {
      const auto backend = open_busy(path);
      if (!backend) return backend.error().message();
      for (std::uint64_t n = last + 1;; ++n) {
        if (!(*backend)->write(batch_of(n))) return "not written";
        if (write(out, &n, sizeof n) != sizeof n) return "nobody listens";
      }
    });
    std::uint64_t said = last;
    const std::uint64_t enough = last + 1 + random() % 40;
    while (said < enough && read(writer.in(), &said, sizeof said) == sizeof said) {
    }
    EXPECT_EQ(said, enough);
    // In the midst of a batch or of whatever upkeep does meanwhile. What it said until then counts.
    writer.stop();
    while (read(writer.in(), &said, sizeof said) == sizeof said) {
    }
    writer.end();
    const auto backend = open_busy(path).value();
    EXPECT_TRUE(backend->open_report().problems.empty());
    std::string wrong;
    const auto found = whole_batch(*backend, wrong);
    ASSERT_TRUE(found) << wrong;
    EXPECT_GE(*found, said);
    last = *found;
    ASSERT_TRUE(backend->close());
  }
}

// The same in one process, for ThreadSanitizer.
TEST(LogReaders, ThreadsReadThroughTheWriterAndBesideIt) {
  const ScratchDir dir;
  const std::string path = dir.file("log");
  const auto backend = open_busy(path).value();
  ASSERT_TRUE(backend->write(batch_of(1)));
  {
    const Readers direct(2, [&] {
      std::string wrong;
      ASSERT_TRUE(whole_batch(*backend, wrong)) << wrong;
      ASSERT_TRUE(backend->range({}).value().entries.size() >= kCounterCount);
      const std::vector<Error> found = backend->verify(VerifyScope::structure).value();
      ASSERT_TRUE(found.empty()) << found.front().message();
    });
    const Readers beside(
        1, [&] { ASSERT_EQ(read_up_to(path, backend->stats().durable_sequence), ""); });
    for (std::uint64_t n = 2; n < 150; ++n) ASSERT_TRUE(backend->write(batch_of(n)));
    beside.let_one_read();
  }
  EXPECT_TRUE(backend->verify().value().empty());
  EXPECT_TRUE(backend->close());
}

}  // namespace
}  // namespace varve::test
