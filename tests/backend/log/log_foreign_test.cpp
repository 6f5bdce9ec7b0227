// A log in a folder with what is no part of it, or not of this program's time.
#include <gtest/gtest.h>

#include "backend/log/log_format.h"
#include "backend/log/sample_log.h"
#include "backend/log/small_log.h"
#include "base/endian.h"
#include "varve/checksum.h"

namespace varve::test {
namespace {

const SampleLog& sample() {
  static const SampleLog made = make_sample_log(1);
  return made;
}

// What a newer program wrote has a place where the log goes on, or a checkpoint that is newer
// itself.
TEST(LogForeign, AVersionOfTheFutureIsRefusedWithAWordOfWhatToDo) {
  sim::SimDisk disk(sample().image);
  const Bytes checkpoint = read_file(disk, "log/checkpoint");
  const auto head = log::decode_checkpoint_head(checkpoint).value();
  std::size_t refused_count = 0;
  for (const std::string& path : files_of(disk)) {
    if (!is_segment(path) && path != "log/checkpoint") continue;
    Buffer newer = read_file(disk, path).clone();
    newer.span()[8] = std::byte{2};
    // As a newer program would write it: with the checksum of what it wrote.
    const std::size_t head_size =
        is_segment(path) ? 40 : 104 + 56 * load_le<std::uint32_t>(newer.data() + 12);
    store_le<std::uint64_t>(newer.data() + head_size, xxh3(newer.view().first(head_size)));
    const Left left = check_damaged(
        changed(sample().image, [&](Vfs& vfs) { write_file(vfs, path, newer.view()); }), sample());
    const bool is_known =
        std::any_of(head.segments.begin(), head.segments.end(), [&](const auto& known) {
          return path == "log/" + log::segment_name(known.id) &&
                 (known.kind == log::SegmentKind::moved || known.id < head.tail_segment_id);
        });
    if (is_known) {
      // The checkpoint says what is in it, and whoever wrote that checkpoint could read it.
      EXPECT_FALSE(left.refusal || left.says_so() || !left.damaged.empty() ||
                   !left.changed.empty());
      continue;
    }
    ++refused_count;
    ASSERT_TRUE(left.refusal) << path;
    EXPECT_EQ(left.refusal->code(), ErrorCode::unsupported);
    const std::string& message = left.refusal->message();
    EXPECT_NE(message.find(path), std::string::npos) << message;
    EXPECT_NE(message.find("format version 2"), std::string::npos) << message;
    EXPECT_NE(message.find("newer"), std::string::npos) << message;
  }
  EXPECT_GE(refused_count, 2u) << "the checkpoint and the last segment";
}

TEST(LogForeign, WhatIsNoPartOfTheLogIsLeftAlone) {
  sim::SimDisk disk(changed(sample().image, [](Vfs& vfs) {
    write_file(vfs, "log/readme.txt", as_byte_view("mine"));
    write_file(vfs, "log/1.log", as_byte_view("mine"));
    // Called like a segment, but none; and a folder that is called so.
    write_file(vfs, "log/00000000000000f0.log", as_byte_view("mine"));
    ASSERT_TRUE(vfs.create_dir("log/00000000000000f1.log"));
  }));
  const auto backend = log::open_log(disk, kSampleDir, small_log_options()).value();
  const Left left = look(*backend, sample());
  EXPECT_TRUE(left.changed.empty() && left.damaged.empty());
  ASSERT_EQ(left.report.problems.size(), 1u);
  EXPECT_NE(left.report.problems[0].message().find("00000000000000f0.log"), std::string::npos);
  EXPECT_TRUE(backend->close());
  EXPECT_EQ(read_file(disk, "log/readme.txt").text(), "mine");
  EXPECT_EQ(read_file(disk, "log/1.log").text(), "mine");
  EXPECT_EQ(read_file(disk, "log/00000000000000f0.log.damaged").text(), "mine");
  EXPECT_TRUE(disk.exists("log/00000000000000f1.log").value());
}

TEST(LogForeign, AFolderWithNothingButAFileNamedLikeASegmentBecomesALog) {
  sim::SimDisk disk;
  ASSERT_TRUE(disk.create_dir(kSampleDir));
  write_file(disk, "log/0000000000000001.log", as_byte_view("mine"));
  auto backend = log::open_log(disk, kSampleDir, small_log_options()).value();
  EXPECT_EQ(backend->open_report().problems.size(), 1u);
  WriteBatch batch;
  batch.put(as_byte_view("a"), Bytes::copy_of("b"));
  ASSERT_TRUE(backend->write(batch));
  ASSERT_TRUE(backend->close());
  backend = log::open_log(disk, kSampleDir, small_log_options()).value();
  EXPECT_EQ(backend->get(as_byte_view("a")).value().value().text(), "b");
  EXPECT_TRUE(backend->open_report().problems.empty());
  EXPECT_NE(log::decode_checkpoint_head(read_file(disk, "log/checkpoint")).value().log_id, 0u);
}

// A segment of another log comes into the folder with a copy that went wrong.
TEST(LogForeign, ASegmentOfAnotherLogIsNotTakenIn) {
  sim::SimDisk disk(sample().image);
  const log::SegmentHeader header{.log_id = 1234, .segment_id = 0xf0, .salt = 5};
  write_file(disk, "log/" + log::segment_name(0xf0), log::encode_segment_header(header));
  const Left left = check_damaged(disk.image(), sample());
  EXPECT_TRUE(left.changed.empty() && left.damaged.empty());
  ASSERT_EQ(left.report.problems.size(), 1u);
  EXPECT_NE(left.report.problems[0].message().find("another log"), std::string::npos);
}

}  // namespace
}  // namespace varve::test
