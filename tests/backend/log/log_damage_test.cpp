// A log whose files are not as they were written. Whatever was done to them: nothing wrong is
// read, nothing is silently gone, nothing crashes, and what was not touched is intact.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "backend/log/log_format.h"
#include "backend/log/sample_log.h"
#include "backend/log/segment_files.h"
#include "backend/log/small_log.h"
#include "base/byte_writer.h"
#include "support/allocation_watch.h"
#include "support/counting_vfs.h"

namespace varve::test {
namespace {

// One that leaves every kind of file behind.
constexpr std::uint64_t kSampleSeed = 4;

const SampleLog& sample() {
  static const SampleLog made = make_sample_log(kSampleSeed);
  return made;
}

std::vector<std::string> sample_files(const SampleLog& log = sample()) {
  sim::SimDisk disk(log.image);
  return files_of(disk);
}

Bytes contents_of(const std::string& path, const SampleLog& log = sample()) {
  sim::SimDisk disk(log.image);
  return read_file(disk, path);
}

Left check_with(const std::string& path, ByteView contents, const SampleLog& log = sample()) {
  return check_damaged(changed(log.image, [&](Vfs& vfs) { write_file(vfs, path, contents); }), log);
}

Bytes flipped(const Bytes& good, std::size_t bit) {
  Buffer bytes = good.clone();
  bytes.span()[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
  return std::move(bytes).freeze();
}

bool is_in(const std::vector<Part>& parts, std::uint64_t offset) {
  for (const Part& part : parts) {
    if (part.begin <= offset && offset < part.end) return true;
  }
  return false;
}

// How far each segment is in use. Those that wait for their removal are not, nor is what was moved
// since the checkpoint.
std::map<std::string, std::uint64_t> segments_in_use(Vfs& disk) {
  std::map<std::string, std::uint64_t> ends;
  const auto head = log::decode_checkpoint_head(read_file(disk, "log/checkpoint")).value();
  for (const auto& segment : head.segments) {
    ends["log/" + log::segment_name(segment.id)] = segment.used_end;
  }
  for (const std::string& path : files_of(disk)) {
    if (!is_segment(path) || path < "log/" + log::segment_name(head.tail_segment_id)) continue;
    const Bytes contents = read_file(disk, path);
    const auto header = log::decode_segment_header(contents).value();
    if (header.kind == log::SegmentKind::log) ends[path] = contents.size();
  }
  return ends;
}

// Of a segment; it is read as the only one there is.
bool is_version(std::uint64_t offset) { return offset >= 8 && offset < 12; }

TEST(LogDamage, TheSampleHasEveryKindOfFile) {
  sim::SimDisk disk(sample().image);
  std::size_t moved_count = 0;
  std::size_t spare_count = 0;
  for (const std::string& path : files_of(disk)) {
    if (!is_segment(path)) continue;
    const Bytes contents = read_file(disk, path);
    const auto header = log::decode_segment_header(contents).value();
    moved_count += header.kind == log::SegmentKind::moved ? 1 : 0;
    spare_count += heads_of(disk, path).size() == 1 ? 1 : 0;
  }
  const auto head = log::decode_checkpoint_head(read_file(disk, "log/checkpoint")).value();
  std::uint64_t punched_size = 0;
  for (const auto& segment : head.segments) punched_size += segment.punched_size;
  EXPECT_GT(moved_count, 0u);
  EXPECT_GT(spare_count, 0u);
  EXPECT_GT(punched_size, 0u);
  EXPECT_LT(head.sequence, sample().states.size() - 1) << "batches lie behind the checkpoint";
  EXPECT_TRUE(disk.exists("log/control").value() && disk.exists("log/readers").value());
  const Left left = check_damaged(sample().image, sample());
  EXPECT_FALSE(left.says_so() || left.report.rebuilt_index);
  EXPECT_TRUE(left.damaged.empty() && left.changed.empty() && left.structure.empty());
}

// Every byte of what says where values lie, and some of the values; another bit of each by turns.
// Of further logs every 17th.
TEST(LogDamage, AFlippedBitCostsNoMoreThanItMust) {
  for (std::uint64_t seed = kSampleSeed; seed < kSampleSeed + 4; ++seed) {
    const SampleLog log = make_sample_log(seed);
    sim::SimDisk disk(log.image);
    std::size_t damage_count = 0;
    std::size_t found_count = 0;
    const auto in_use = segments_in_use(disk);
    for (const std::string& path : sample_files(log)) {
      const Bytes good = contents_of(path, log);
      const std::vector<Part> heads = is_segment(path) ? heads_of(disk, path) : std::vector<Part>();
      const std::uint64_t used_end = in_use.contains(path) ? in_use.at(path) : 0;
      for (std::size_t at = 0; at < good.size(); ++at) {
        const bool is_head = is_segment(path) ? is_in(heads, at) : at % log::kBlockSize < 700;
        if (at % (!is_head ? 499 : seed == kSampleSeed ? 1 : 17) != 0) continue;
        SCOPED_TRACE(path + " at " + std::to_string(at) + ", seed " + std::to_string(seed));
        const Left left = check_with(path, flipped(good, at * 8 + (at + seed) % 8), log);
        damage_count += left.damaged.size();
        // A version of the future is believed before its checksum, which may be another one then.
        EXPECT_TRUE(!left.refusal || (left.refusal->code() == ErrorCode::unsupported && at < 12));
        if (is_head && at < used_end && !is_version(at)) {
          EXPECT_TRUE(left.says_so() || left.structure.size() == 1) << "nobody says so";
          found_count += left.structure.size();
        }
        if (is_segment(path) && !is_head) {
          EXPECT_FALSE(left.says_so()) << "only a value was touched";
          EXPECT_TRUE(left.structure.empty());
          EXPECT_TRUE(left.changed.empty());
          EXPECT_LE(left.damaged.size(), 1u);
        }
        if (!is_segment(path)) {
          EXPECT_TRUE(left.damaged.empty());
          EXPECT_TRUE(left.changed.empty());
        }
        if (HasFailure()) return;
      }
    }
    EXPECT_GT(damage_count, 10u) << "values were hit";
    EXPECT_GT(found_count, 50u) << "heads were hit that nothing but a verification reads";
  }
}

TEST(LogDamage, ATruncatedFileIsNoticed) {
  for (const std::string& path : sample_files()) {
    const Bytes good = contents_of(path);
    for (std::size_t size = 0; size < good.size(); size += log::kBlockSize) {
      for (const std::size_t cut : {size, size + 1, size + 63, size + 2000}) {
        if (cut >= good.size()) continue;
        SCOPED_TRACE(path + " cut to " + std::to_string(cut));
        const Left left = check_with(path, good.view().first(cut));
        EXPECT_FALSE(left.refusal);
        EXPECT_TRUE(is_segment(path) || (left.damaged.empty() && left.changed.empty()));
        if (HasFailure()) return;
      }
    }
  }
}

TEST(LogDamage, SectorsZeroedAndSwapped) {
  constexpr std::size_t kSectorSize = 512;
  for (const std::string& path : sample_files()) {
    const Bytes good = contents_of(path);
    for (std::size_t at = 0; at + kSectorSize <= good.size(); at += kSectorSize) {
      Buffer zeroed = good.clone();
      std::fill_n(zeroed.data() + at, kSectorSize, std::byte{0});
      SCOPED_TRACE(path + " at " + std::to_string(at));
      check_with(path, std::move(zeroed).freeze());
      // With the same place of another block, which is where something like it lies.
      for (const std::size_t step : {kSectorSize, log::kBlockSize, 2 * log::kBlockSize}) {
        if (at + step + kSectorSize > good.size()) continue;
        Buffer swapped = good.clone();
        std::swap_ranges(swapped.data() + at, swapped.data() + at + kSectorSize,
                         swapped.data() + at + step);
        check_with(path, std::move(swapped).freeze());
      }
      if (HasFailure()) return;
    }
  }
}

TEST(LogDamage, EachFileMissing) {
  for (const std::string& path : sample_files()) {
    SCOPED_TRACE(path);
    const Left left = check_damaged(
        changed(sample().image, [&](Vfs& vfs) { ASSERT_TRUE(vfs.remove(path)); }), sample());
    EXPECT_FALSE(left.refusal);
    EXPECT_EQ(left.report.rebuilt_index, path == "log/checkpoint");
    if (is_segment(path)) continue;
    EXPECT_TRUE(left.damaged.empty() && left.changed.empty());
  }
}

TEST(LogDamage, WithoutCheckpointAndControlEverythingIsFoundAgain) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const SampleLog log = make_sample_log(seed);
    for (const bool with_control : {true, false}) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      const Left left = check_damaged(changed(log.image,
                                              [&](Vfs& vfs) {
                                                ASSERT_TRUE(vfs.remove("log/checkpoint"));
                                                if (with_control) return;
                                                ASSERT_TRUE(vfs.remove("log/control"));
                                              }),
                                      log);
      EXPECT_TRUE(left.report.rebuilt_index);
      EXPECT_FALSE(left.says_so());
      EXPECT_TRUE(left.damaged.empty() && left.changed.empty());
    }
  }
}

// A log of four batches whose checkpoint has parts of the first three, and batch `first` to `last`
// of which are damaged. What is reported, in one text.
std::string problems_without(std::uint64_t first, std::uint64_t last, std::string_view newest) {
  sim::SimDisk disk;
  disk.set_recording(false);
  log::LogOptions options = small_log_options();
  options.checkpoint_batch_count_min = options.close_batch_count_max = 1000;
  options.reclaim_size_min = std::uint64_t{1} << 30;
  const std::string path = "log/0000000000000001.log";
  {
    const auto log = log::open_log(disk, kSampleDir, options).value();
    for (const std::string_view value : {"1", "2", "3", "4"}) {
      WriteBatch batch;
      batch.put(as_byte_view("a"), Bytes::copy_of(value));
      EXPECT_TRUE(log->write(batch));
      if (value == "3" && last == 3) break;
    }
  }
  auto head = log::decode_checkpoint_head(read_file(disk, "log/checkpoint")).value();
  head.needed_sequence = 3;
  write_file(disk, "log/checkpoint", log::encode_checkpoint_head(head));
  for (std::uint64_t n = first; n <= last; ++n) {
    const auto file = disk.open(path, OpenMode::write).value();
    EXPECT_TRUE(file->write_at(n * log::kBlockSize, as_byte_view("VBUT")));
  }
  EXPECT_TRUE(disk.remove("log/control"));
  std::string found;
  for (const auto& open : {log::open_log_to_read, log::open_log}) {
    const auto log = open(disk, kSampleDir, options);
    EXPECT_TRUE(log) << log.error().message();
    if (!log) continue;
    const auto value = (*log)->get(as_byte_view("a"));
    EXPECT_EQ(value && *value ? (*value)->text() : "(none)", newest);
    std::string said;
    for (const Error& problem : (*log)->open_report().problems) said += problem.message() + "\n";
    EXPECT_TRUE(found.empty() || said == found) << "a reader and a writer differ: " << said;
    found = said;
  }
  return found;
}

TEST(LogDamage, WhatIsReportedIsTrueWhereTheSegmentsAreReadForWantOfWhatTheCheckpointNeeds) {
  const std::string over_a_gap = problems_without(2, 2, "4");
  EXPECT_EQ(over_a_gap.find("what was there before"), std::string::npos) << over_a_gap;
  EXPECT_NE(over_a_gap.find("in one place batches that were durable cannot be read"),
            std::string::npos)
      << over_a_gap;
  EXPECT_NE(over_a_gap.find("on behind batch 1, and its checkpoint needs batch 3"),
            std::string::npos)
      << over_a_gap;
  // Here it ends indeed.
  const std::string to_the_end = problems_without(2, 3, "1");
  EXPECT_NE(
      to_the_end.find("batches 2 to 3 were durable and cannot be read; this is what was there "
                      "before them"),
      std::string::npos)
      << to_the_end;
  EXPECT_EQ(to_the_end.find("in one place"), std::string::npos) << to_the_end;
}

// It is not taken for one whose creation was cut short.
TEST(LogDamage, ALogOfWhichNothingCanBeReadIsNotBegunAnew) {
  sim::SimDisk disk;
  disk.set_recording(false);
  {
    const auto log = log::open_log(disk, kSampleDir, small_log_options()).value();
    WriteBatch batch;
    batch.put(as_byte_view("a"), Bytes::copy_of("1"));
    ASSERT_TRUE(log->write(batch));
  }
  ASSERT_TRUE(disk.remove("log/checkpoint"));
  const auto file = disk.open("log/0000000000000001.log", OpenMode::write).value();
  ASSERT_TRUE(file->write_at(log::kBlockSize, as_byte_view("VBUT")));
  for (const auto& open : {log::open_log_to_read, log::open_log}) {
    const auto log = open(disk, kSampleDir, small_log_options());
    ASSERT_TRUE(log) << log.error().message();
    ASSERT_EQ((*log)->open_report().problems.size(), 1u);
    EXPECT_NE((*log)->open_report().problems[0].message().find("batches 1 to 1 were durable"),
              std::string::npos);
  }
}

TEST(LogDamage, OpeningTakesLittleMemoryWhateverTheBytesSay) {
  for (const std::string& path : sample_files()) {
    const Bytes good = contents_of(path);
    for (std::size_t at = 0; at + 8 <= good.size(); at += at % log::kBlockSize < 256 ? 4 : 512) {
      Buffer large = good.clone();
      std::fill_n(large.data() + at, 4, std::byte{0xff});
      const auto image =
          changed(sample().image, [&](Vfs& vfs) { write_file(vfs, path, large.view()); });
      sim::SimDisk disk(image);
      disk.set_recording(false);
      const AllocationWatch watch;
      const auto backend = log::open_log(disk, kSampleDir, small_log_options());
      EXPECT_LT(watch.peak_size(), 4u << 20) << path << " at " << at;
    }
  }
}

// Whatever has the name of a checkpoint: memory is asked for once it looks like one.
TEST(LogDamage, AFileThatIsNoCheckpointIsNotReadWhole) {
  constexpr std::size_t kSize = std::size_t{8} << 20;
  const Bytes good = contents_of("log/checkpoint");
  Buffer longer(kSize);
  std::fill(longer.span().begin(), longer.span().end(), std::byte{0});
  std::copy(good.view().begin(), good.view().end(), longer.span().begin());
  Buffer other(kSize);
  std::fill(other.span().begin(), other.span().end(), std::byte{'x'});
  for (const ByteView contents : {longer.view(), other.view()}) {
    const sim::DiskImage image =
        changed(sample().image, [&](Vfs& vfs) { write_file(vfs, "log/checkpoint", contents); });
    sim::SimDisk disk(image);
    CountingVfs counting(disk);
    const auto backend = log::open_log_to_read(counting, kSampleDir, small_log_options()).value();
    EXPECT_LT(counting.counts().read_size, kSize);
    EXPECT_TRUE(backend->open_report().rebuilt_index);
    const Left left = check_damaged(image, sample());
    EXPECT_TRUE(left.says_so());
    EXPECT_TRUE(left.damaged.empty() && left.changed.empty());
  }
}

// Each block begins like a batch whose directory is all the rest of the file.
TEST(LogDamage, HeadersThatClaimTheRestOfTheFileDoNotMakeItReadOverAndOver) {
  constexpr std::size_t kSize = std::size_t{4} << 20;
  for (const auto kind : {log::SegmentKind::log, log::SegmentKind::moved}) {
    const log::SegmentHeader header{.log_id = 1, .segment_id = 1, .salt = 5, .kind = kind};
    Buffer segment(kSize);
    std::fill(segment.span().begin(), segment.span().end(), std::byte{0});
    const Bytes head = log::encode_segment_header(header);
    std::copy(head.view().begin(), head.view().end(), segment.span().begin());
    for (std::size_t offset = log::kBlockSize; offset < kSize; offset += log::kBlockSize) {
      ByteWriter w;
      w.text("VBAT");
      w.u32_le(1);
      for (int i = 0; i < 3; ++i) w.u64_le(9);  // numbers
      w.u64_le(0);                              // chain
      w.u32_le(static_cast<std::uint32_t>(kSize - offset - log::kBatchHeaderSize));
      w.u32_le(0);
      w.u64_le(kSize - offset);
      w.u64_le(0);  // not its checksum
      std::copy(w.view().begin(), w.view().end(), segment.span().begin() + offset);
    }
    sim::SimDisk disk;
    ASSERT_TRUE(disk.create_dir(kSampleDir));
    write_file(disk, "log/0000000000000001.log", segment.view());
    CountingVfs counting(disk);
    const auto backend = log::open_log(counting, kSampleDir, small_log_options());
    EXPECT_LT(counting.counts().read_size, 10 * kSize);
    ASSERT_TRUE(backend) << backend.error().message();
    EXPECT_FALSE((*backend)->open_report().problems.empty());
    EXPECT_EQ((*backend)->stats().entry_count, 0u);
  }
}

}  // namespace
}  // namespace varve::test
