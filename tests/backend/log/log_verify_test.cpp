// What verify() finds, and what a reader shows while it moves on.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "backend/log/log_format.h"
#include "backend/log/log_views.h"
#include "backend/log/sample_log.h"
#include "backend/log/small_log.h"
#include "io/vfs.h"
#include "support/scratch_dir.h"

namespace varve::test {
namespace {

// Changes one byte of a value where it lies.
void spoil(const std::string& dir, std::string_view value) {
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    if (entry.path().extension() != ".log") continue;
    const auto file = posix_vfs().open(entry.path().string(), OpenMode::write).value();
    const Bytes all = file->read_all(1 << 30).value();
    const std::size_t at = all.text().find(value);
    if (at == std::string_view::npos) continue;
    const std::byte changed = all.view()[at] ^ std::byte{1};
    ASSERT_TRUE(file->write_at(at, {&changed, 1}));
    return;
  }
  FAIL() << "the value is in no segment";
}

TEST(LogVerify, WhatWasFoundGoodOnceIsCheckedAgain) {
  const ScratchDir dir;
  const auto backend = open_file_backend(dir.file("log")).value();
  const std::string value = text_of(3 << 20);
  ASSERT_TRUE(backend->write(one("a", value)));
  ASSERT_TRUE(backend->write(one("b", "behind it, in another segment")));
  EXPECT_EQ(value_at(*backend, "a"), value);
  EXPECT_EQ(value_at(*backend, "a"), value);
  EXPECT_TRUE(backend->verify().value().empty());
  spoil(dir.file("log"), std::string_view(value).substr(1000, 100));
  const auto problems = backend->verify().value();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].code(), ErrorCode::corruption);
  EXPECT_NE(problems[0].message().find("\"a\""), std::string::npos) << problems[0].message();
}

// Nothing else reads them while there is a checkpoint.
TEST(LogVerify, HeadsOfOlderSegmentsAreLookedAt) {
  sim::SimDisk disk;
  disk.set_recording(false);
  log::LogOptions options = small_log_options();
  options.reclaim_size_min = std::uint64_t{1} << 30;
  auto backend = log::open_log(disk, kSampleDir, options).value();
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(backend->write(one(std::to_string(i), text_of(3000))));
  ASSERT_TRUE(backend->close());
  backend.reset();
  backend = log::open_log(disk, kSampleDir, options).value();
  const auto reader = log::open_log_to_read(disk, kSampleDir, options).value();
  const std::string first = "log/0000000000000001.log";
  const std::vector<Part> heads = heads_of(disk, first);
  ASSERT_EQ(heads.size(), 4u) << "a header and three batches";
  std::size_t expected = 0;
  const auto expect_found = [&](std::initializer_list<std::string> words) {
    for (const Backend* each : {backend.get(), reader.get()}) {
      for (const VerifyScope scope : {VerifyScope::structure, VerifyScope::everything}) {
        const std::vector<Error> problems = each->verify(scope).value();
        ASSERT_EQ(problems.size(), expected);
        for (const std::string& word : words) {
          EXPECT_NE(problems.back().message().find(word), std::string::npos)
              << problems.back().message();
        }
      }
    }
  };
  expect_found({});
  const auto flip = [&](std::uint64_t at) {
    const auto file = disk.open(first, OpenMode::write).value();
    const std::byte changed = read_file(disk, first).view()[at] ^ std::byte{1};
    ASSERT_TRUE(file->write_at(at, {&changed, 1}));
  };
  flip(heads[2].end - 1);
  expected = 1;
  expect_found({first, "at offset " + std::to_string(heads[2].begin), "the checkpoint alone"});
  flip(heads[2].end - 1);
  flip(heads[1].begin + 40);
  expect_found({first, "at offset " + std::to_string(heads[1].begin), "the checkpoint alone"});
  flip(20);
  expected = 2;
  expect_found({"the head of the batch at offset"});
  EXPECT_EQ(value_at(*backend, "0"), text_of(3000)) << "the checkpoint knows where it is";
}

// A head has no place in its checksum, but is chained to the one before it.
TEST(LogVerify, ABatchInThePlaceOfAnotherIsFound) {
  sim::SimDisk disk;
  disk.set_recording(false);
  const auto backend = log::open_log(disk, kSampleDir, small_log_options()).value();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(backend->write(one("a", std::to_string(i))));
  const std::string first = "log/0000000000000001.log";
  const Bytes all = read_file(disk, first);
  const auto file = disk.open(first, OpenMode::write).value();
  const std::vector<Part> heads = heads_of(disk, first);
  ASSERT_GE(heads.size(), 3u);
  ASSERT_TRUE(file->write_at(heads[1].begin, all.slice(heads[2].begin, log::kBlockSize)));
  const std::vector<Error> problems = backend->verify(VerifyScope::structure).value();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].message().find("at offset 4096"), std::string::npos);
}

TEST(LogReaderThreads, ASnapshotStaysWhileTheReaderMovesOn) {
  const ScratchDir dir;
  log::LogOptions options = small_log_options();
  options.background = true;
  const auto writer = log::open_log(posix_vfs(), dir.file("log"), options).value();
  ASSERT_TRUE(writer->write(one("counter", "0")));
  const auto reader = log::open_log_to_read(posix_vfs(), dir.file("log"), options).value();
  std::atomic<bool> is_over = false;
  std::thread mover([&] {
    for (int i = 1; i <= 40; ++i) {
      EXPECT_TRUE(writer->write(one("counter", std::to_string(i))));
      EXPECT_TRUE(reader->refresh());
    }
    is_over = true;
  });
  std::uint64_t last = 0;
  while (!is_over) {
    const auto held = reader->snapshot().value();
    EXPECT_GE(held->sequence(), last) << "a reader never goes back";
    last = held->sequence();
    EXPECT_EQ(value_at(*held, "counter"), std::to_string(last - 1));
  }
  mover.join();
}

}  // namespace
}  // namespace varve::test
