// What is the sample disk store's own: hostile files, full and failing disks.
#include "contract/one_file_store.h"

#include <gtest/gtest.h>

#include "base/byte_writer.h"
#include "contract/one_file_codec.h"
#include "contract/store_contract.h"
#include "io/atomic_replace.h"
#include "io/sim/sim_disk.h"
#include "varve/checksum.h"

namespace varve::test {
namespace {

Commit sample_commit(std::uint64_t tick) {
  const std::string text = std::to_string(tick);
  return {
      .tick = tick,
      .chunks = {{ChunkPos(1, 2), Bytes::copy_of(text)},
                 {ChunkPos(3).in(Space::named("nether").value()), Bytes()}},
      .entities = {{7, EntityValue{ChunkPos(1, 2), Bytes::copy_of("seven")}}, {8, EntityValue{}}},
      .players = {{"ann", Bytes::copy_of(text)}},
      .globals = {{"sky", Bytes::copy_of("blue")}},
      .generator = GeneratorId{"flat", 2}};
}

class OneFile : public testing::Test {
 protected:
  void SetUp() override {
    store_ = OneFileStore::create(disk_, "world").value();
    ASSERT_TRUE(commit(1));
  }
  Result<CommitStats> commit(std::uint64_t tick) {
    Progress progress;
    return store_->commit(sample_commit(tick), progress);
  }
  Bytes file() { return disk_.open("world", OpenMode::read).value()->read_all(1 << 20).value(); }

  sim::SimDisk disk_;
  std::unique_ptr<Store> store_;
};

TEST_F(OneFile, EveryTruncationAndEveryFlippedBitIsCorruption) {
  const Bytes good = file();
  ASSERT_TRUE(decode_one_file(good, "world"));
  for (std::size_t size = 0; size < good.size(); ++size) {
    const auto decoded = decode_one_file(good.slice(0, size), "world");
    ASSERT_FALSE(decoded) << size;
    ASSERT_EQ(decoded.error().code(), ErrorCode::corruption);
  }
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    Buffer bad = good.clone();
    bad.data()[bit / 8] ^= std::byte{1} << bit % 8;
    const auto decoded = decode_one_file(std::move(bad).freeze(), "world");
    ASSERT_FALSE(decoded) << bit;
    ASSERT_EQ(decoded.error().code(), ErrorCode::corruption);
  }
}

// What the checksum cannot tell, since whoever wrote it meant it: every byte another, one at
// a time, under a checksum that fits.
TEST_F(OneFile, AHostileFileIsCorruptionOrAWorldButNeverACrash) {
  const Bytes good = file();
  constexpr std::size_t kBodyOffset = 16;
  int refused_count = 0;
  for (std::size_t at = kBodyOffset; at < good.size(); ++at) {
    for (const unsigned other : {0x00u, 0x01u, 0x7fu, 0x80u, 0xffu}) {
      ByteWriter bad;
      bad.bytes(good);
      bad.truncate(at);
      bad.u8(static_cast<std::uint8_t>(other));
      bad.bytes(good.slice(at + 1));
      bad.patch_u64_le(8, xxh3(bad.view().subspan(kBodyOffset)));
      const auto decoded = decode_one_file(bad.take(), "world");
      if (decoded) {
        ASSERT_TRUE(crash::read_records(TablesView(*decoded)));
      } else {
        ASSERT_EQ(decoded.error().code(), ErrorCode::corruption);
        ++refused_count;
      }
    }
  }
  EXPECT_GT(refused_count, 50);
}

TEST_F(OneFile, AFailedCommitKeepsTheGenerationBeforeAndTheNextSucceeds) {
  const Contents before = contents_of(*store_);
  for (const auto code : {ErrorCode::io, ErrorCode::out_of_space}) {
    disk_.set_fault(
        sim::Fault{.op_number = disk_.op_count() + 1, .code = code, .from_then_on = true});
    const auto failed = commit(2);
    disk_.set_fault({});
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code(), code);
    EXPECT_EQ(contents_of(*store_), before);
  }
  ASSERT_TRUE(commit(3));
  ASSERT_TRUE(store_->close());
  EXPECT_EQ(OneFileStore::open(disk_, "world").value()->tick(), 3u);
}

TEST_F(OneFile, ASaveThatVanishedIsNotMadeAnew) {
  const Contents before = contents_of(*store_);
  ASSERT_TRUE(disk_.remove("world"));
  const auto failed = commit(2);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), ErrorCode::io);
  EXPECT_NE(failed.error().message().find("the save at world is gone"), std::string::npos);
  EXPECT_FALSE(disk_.exists("world").value());
  EXPECT_EQ(contents_of(*store_), before);
  // A person put it back.
  ASSERT_TRUE(atomic_replace(disk_, "world", as_byte_view("anything")));
  EXPECT_TRUE(commit(3));
}

TEST_F(OneFile, ACommitTriedAgainBacksUpOnce) {
  Progress progress;
  Commit second = sample_commit(2);
  second.backup_count = 2;
  ASSERT_TRUE(store_->commit(second, progress));
  Commit third = sample_commit(3);
  third.backup_count = 2;
  // Every operation fails in its turn, until the commit gets through.
  std::uint64_t nth = 0;
  Result<CommitStats> result = io_error("not tried yet");
  while (!result) {
    disk_.set_fault(sim::Fault{.op_number = disk_.op_count() + ++nth, .effect = sim::Effect::all});
    result = store_->commit(third, progress);
    disk_.set_fault({});
  }
  EXPECT_GT(nth, 5u);
  ASSERT_TRUE(store_->close());
  EXPECT_EQ(OneFileStore::open(disk_, "world.backup").value()->tick(), 2u);
  EXPECT_EQ(OneFileStore::open(disk_, "world.backup.2").value()->tick(), 1u);
}

TEST_F(OneFile, PathsMayNameTheFormat) {
  const OneFileFormat format(disk_);
  ASSERT_TRUE(store_->close());
  EXPECT_TRUE(format.detect("onefile:world").value());
  EXPECT_TRUE(format.detect("world").value());
  EXPECT_EQ(format.open("onefile:world").value()->tick(), 1u);
  ASSERT_TRUE(atomic_replace(disk_, "other", as_byte_view("VARVE")));
  EXPECT_FALSE(format.detect("other").value());
  EXPECT_EQ(format.open("other").error().code(), ErrorCode::corruption);
}

}  // namespace
}  // namespace varve::test
