// What a log does when it is asked for too much, when the disk is full, and when somebody else
// wants it too.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "backend/log/log_views.h"
#include "backend/log/small_log.h"
#include "io/sim/sim_disk.h"
#include "support/scratch_dir.h"

namespace varve::test {
namespace {

TEST(LogLimits, AValueAndABatchMayBeAsLargeAsTheLimitAndNoLarger) {
  sim::SimDisk disk;
  log::LogOptions options = small_log_options();
  options.traits.value_size_max = 100;
  options.traits.batch_size_max = 250;
  const auto backend = log::open_log(disk, "log", options).value();
  EXPECT_TRUE(backend->write(one("a", std::string(100, 'x'))));
  EXPECT_EQ(backend->write(one("a", std::string(101, 'y'))).error().code(),
            ErrorCode::invalid_argument);
  WriteBatch batch;
  for (const char* key : {"b", "c"}) batch.put(as_byte_view(key), Bytes::copy_of(text_of(100)));
  batch.put(as_byte_view("d"), Bytes::copy_of(text_of(47)));
  ASSERT_EQ(batch.size(), 250u);
  EXPECT_TRUE(backend->write(batch));
  batch.put(as_byte_view("e"), Bytes());
  const WriteResult refused = backend->write(batch);
  EXPECT_EQ(refused.outcome(), WriteOutcome::failed);
  EXPECT_EQ(refused.error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(value_at(*backend, "a"), std::string(100, 'x'));
  EXPECT_EQ(value_at(*backend, "e"), "(none)");
  EXPECT_EQ(backend->stats().entry_count, 4u);
}

TEST(LogLimits, ManyTinyKeysAreCheapToFindAndToOpen) {
  constexpr std::uint32_t kCount = 300'000;
  constexpr std::uint32_t kPerBatch = 3'000;
  const ScratchDir dir;
  auto backend =
      open_file_backend(dir.file("log"), {.durability = {Durability::Kind::none}}).value();
  for (std::uint32_t i = 0; i < kCount; i += kPerBatch) {
    WriteBatch batch;
    for (std::uint32_t j = i; j < i + kPerBatch; ++j) {
      batch.put(as_byte_view(fmt::format("{:08x}", j * 2654435761u)), Bytes::copy_of("v"));
    }
    ASSERT_TRUE(backend->write(batch));
  }
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(backend->stats().entry_count, kCount);
    EXPECT_LT(backend->stats().index_size, kCount * std::uint64_t{80});
    EXPECT_EQ(value_at(*backend, fmt::format("{:08x}", 77u * 2654435761u)), "v");
    EXPECT_EQ(value_at(*backend, "nothing"), "(none)");
    ASSERT_TRUE(backend->close());
    backend = open_file_backend(dir.file("log")).value();
    EXPECT_FALSE(backend->open_report().rebuilt_index);
  }
}

// --- A full disk ---------------------------------------------------------------------

TEST(LogFullDisk, ABatchThatDoesNotFitFailsAndTheNextOneThatDoesIsWritten) {
  for (std::uint64_t room = 0; room < 160 << 10; room += 12 << 10) {
    SCOPED_TRACE(room);
    sim::SimDisk disk;
    disk.set_recording(false);
    auto backend = log::open_log(disk, "log", small_log_options()).value();
    ASSERT_TRUE(backend->write(one("a", "before")));
    disk.set_capacity(disk.image().used_size_without(std::nullopt) + room);
    std::string newest = "before";
    bool was_full = false;
    for (int i = 0; i < 20; ++i) {
      const std::string text = std::to_string(i) + text_of(9000);
      const WriteResult written = backend->write(one("a", text));
      if (written) {
        newest = text;
      } else {
        was_full = true;
        EXPECT_EQ(written.outcome(), WriteOutcome::failed) << written.error().message();
        EXPECT_EQ(written.error().code(), ErrorCode::out_of_space) << written.error().message();
      }
      EXPECT_EQ(value_at(*backend, "a"), newest);
      if (written) continue;
      disk.set_capacity(std::uint64_t{1} << 30);
      EXPECT_TRUE(backend->write(one("b", "room again")));
    }
    EXPECT_TRUE(was_full || room > 40 << 10) << "the disk was never full";
    ASSERT_TRUE(backend->close());
    backend = log::open_log(disk, "log", small_log_options()).value();
    EXPECT_TRUE(backend->open_report().problems.empty());
    EXPECT_EQ(value_at(*backend, "a"), newest);
  }
}

// A file system of four megabytes that only this process sees.
bool mount_small(const std::string& dir) {
  if (unshare(CLONE_NEWNS) != 0) {
    const std::string own = fmt::format("0 {} 1", getuid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    const int map = ::open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
    if (map < 0 || ::write(map, own.data(), own.size()) < 0) return false;
    ::close(map);
  }
  return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("varve-test", dir.c_str(), "tmpfs", 0, "size=4m") == 0;
}

// In a child. 77: there is no such file system here.
int fill_a_real_disk(const std::string& dir) {
  if (!mount_small(dir)) return 77;
  auto backend = open_file_backend(dir + "/log");
  if (!backend) return 8;
  if (!(*backend)->write(one("a", "before"))) return 1;
  int written_count = 0;
  for (; written_count < 100; ++written_count) {
    const std::string key = std::to_string(written_count);
    const WriteResult written = (*backend)->write(one(key, text_of(100'000)));
    if (written) continue;
    if (written.outcome() != WriteOutcome::failed) return 2;
    if (written.error().code() != ErrorCode::out_of_space) return 3;
    break;
  }
  if (written_count == 0 || written_count == 100) return 4;
  if (value_at(**backend, "a") != "before") return 5;
  backend->reset();
  backend = open_file_backend_to_read(dir + "/log");
  if (!backend || value_at(**backend, "a") != "before") return 6;
  if ((*backend)->stats().entry_count != std::uint64_t(written_count) + 1) return 7;
  return 0;
}

TEST(LogFullDisk, ARealDiskThatIsFullCostsNothingThatWasWritten) {
  const ScratchDir dir;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(fill_a_real_disk(dir.path()));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "this user may not mount a small file system";
  EXPECT_EQ(WEXITSTATUS(status), 0) << "the step of fill_a_real_disk() that went wrong";
}

// --- Others, and time ----------------------------------------------------------------

TEST(LogWriters, TheSecondOneIsToldWhoTheFirstIs) {
  const ScratchDir dir;
  auto first = open_file_backend(dir.file("log")).value();
  const auto second = open_file_backend(dir.file("log"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::busy);
  EXPECT_NE(second.error().message().find(std::to_string(getpid())), std::string::npos)
      << second.error().message();
  EXPECT_TRUE(first->write(one("a", "1")));
  ASSERT_TRUE(first->close());
  EXPECT_TRUE(open_file_backend(dir.file("log")));
}

TEST(LogDurability, BatchesBecomeDurableWhenTheyWereToldTo) {
  const ScratchDir dir;
  const auto open = [&](const char* name, Durability durability) {
    return open_file_backend(dir.file(name), {.durability = durability}).value();
  };
  const auto third = open("n", {.kind = Durability::Kind::every_n, .count = 3});
  for (std::uint64_t i = 1; i <= 7; ++i) {
    ASSERT_TRUE(third->write(one("a", std::to_string(i))));
    EXPECT_EQ(third->stats().sequence, i);
    EXPECT_EQ(third->stats().durable_sequence, i / 3 * 3);
  }
  const auto never = open("none", {.kind = Durability::Kind::none});
  ASSERT_TRUE(never->write(one("a", "1")));
  EXPECT_EQ(never->stats().durable_sequence, 0u);
  ASSERT_TRUE(never->sync());
  EXPECT_EQ(never->stats().durable_sequence, 1u);
  const auto timed = open("ms", {.kind = Durability::Kind::every_ms, .interval_ms = 5});
  ASSERT_TRUE(timed->write(one("a", "1")));
  ASSERT_TRUE(wait_until([&] { return timed->stats().durable_sequence == 1; }));
}

}  // namespace
}  // namespace varve::test
