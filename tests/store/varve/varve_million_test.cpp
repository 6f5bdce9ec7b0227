// A world of a million chunks whose writer is killed. By hand, since it takes a minute and a few
// hundred MiB of disk: VARVE_MILLION=1000000 ./dev test VarveMillion
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <chrono>
#include <iostream>

#include "backend/log/child.h"
#include "sample_store.h"
#include "store/varve/varve_format.h"
#include "support/scratch_dir.h"

namespace varve {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

constexpr std::uint64_t kBatchCount = 10'000;
constexpr std::size_t kPayloadSize = 200;

// Square by square outward would be tidier; rows are harder on whoever wants them together.
ChunkPos position(std::uint64_t i) {
  return ChunkPos(static_cast<std::int32_t>(i % 1000) - 500,
                  static_cast<std::int32_t>(i / 1000) - 500);
}

Bytes payload(std::uint64_t i) {
  std::string text = fmt::format("chunk {} ", i);
  std::uint64_t state = i * 0x9e3779b97f4a7c15u + 1;
  while (text.size() < kPayloadSize) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    text += static_cast<char>('a' + (state >> 60));
  }
  return Bytes::copy_of(text);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Makes the world, saying how far it is, and goes on changing it until it is killed.
std::string write_world(const std::string& path, std::uint64_t count, int out) {
  const auto format = make_varve_format("varve", {});
  auto store = format->create(path);
  if (!store) return store.error().message();
  for (std::uint64_t batch = 0;; ++batch) {
    Commit commit{.tick = batch + 1};
    const std::uint64_t first = batch * kBatchCount;
    for (std::uint64_t i = first; i < first + kBatchCount; ++i) {
      // Behind the last one they are written again, each time as they were and one byte more.
      std::string text(payload(i % count).text());
      text.append(i / count, '+');
      commit.chunks.push_back({position(i % count), Bytes::copy_of(text)});
    }
    Progress progress;
    const auto stats = (*store)->commit(commit, progress);
    if (!stats) return stats.error().message();
    const std::uint64_t done = batch + 1;
    if (write(out, &done, sizeof done) != sizeof done) return "nobody listens";
  }
}

TEST(VarveMillion, IsWholeAfterItsWriterWasKilled) {
  const char* wanted = std::getenv("VARVE_MILLION");
  if (wanted == nullptr) GTEST_SKIP() << "takes a minute; VARVE_MILLION=1000000 runs it";
  const std::uint64_t count = std::stoull(wanted);
  ASSERT_EQ(count % kBatchCount, 0u);
  const ScratchDir dir;
  const std::string path = dir.file("world");
  auto start = std::chrono::steady_clock::now();
  Child writer([&](int out) { return write_world(path, count, out); });
  std::uint64_t done = 0;
  // In the middle of the third batch that writes again.
  while (done < count / kBatchCount + 2) {
    ASSERT_EQ(read(writer.in(), &done, sizeof done), static_cast<ssize_t>(sizeof done));
    if (done == count / kBatchCount) {
      std::cout << fmt::format("{} chunks written in {:.2f} s\n", count, seconds_since(start));
    }
  }
  usleep(5000);
  (void)writer.end(SIGKILL);

  start = std::chrono::steady_clock::now();
  const auto format = make_varve_format("varve", {});
  const auto store = format->open(path).value();
  std::cout << fmt::format("opened in {:.3f} s at generation {}, {} acknowledged\n",
                           seconds_since(start), store->generation(), done);
  ASSERT_GE(store->generation(), done);
  EXPECT_TRUE(store->open_report().problems.empty());

  start = std::chrono::steady_clock::now();
  const VerifyReport report = verify(*store);
  EXPECT_EQ(report.record_count, count);
  EXPECT_TRUE(report.clean());
  std::cout << fmt::format("verified in {:.2f} s\n", seconds_since(start));

  start = std::chrono::steady_clock::now();
  const std::uint64_t again_count = (store->generation() * kBatchCount) - count;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string text(payload(i).text());
    if (i < again_count) text += '+';
    const auto read = store->read_chunk(position(i));
    ASSERT_TRUE(read && *read) << i;
    ASSERT_EQ((*read)->text(), text) << i;
  }
  std::cout << fmt::format("every chunk read and compared in {:.2f} s\n", seconds_since(start));

  start = std::chrono::steady_clock::now();
  std::uint64_t listed = 0;
  EXPECT_TRUE(store->list_chunks({}, [&](const ChunkInfo&) { return ++listed != 0; }));
  EXPECT_EQ(listed, count);
  std::cout << fmt::format("listed in {:.2f} s\n", seconds_since(start));
  commit(*store, {.chunks = {chunk(ChunkPos(0, 0), "still taking commits")}});
  EXPECT_TRUE(store->close());
}

}  // namespace
}  // namespace varve
