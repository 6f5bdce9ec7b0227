// What verify() finds, and what a reader shows while it moves on.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "backend/log/log_views.h"
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
