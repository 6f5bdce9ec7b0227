// Saves with shared payloads that are compacted, backed up, restored and converted, and read while
// they change.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "backend/log/small_log.h"
#include "crash/store_subject.h"
#include "io/sim/sim_disk.h"
#include "sharing_sample.h"
#include "store/varve/backup.h"
#include "store/varve/varve_format.h"
#include "support/scratch_dir.h"

namespace varve {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

std::uint64_t live_size(const SampleDisk& disk) { return disk.kept->stats().live_size; }

TEST(SharingUpkeep, CompactingSharesWhatWasSavedBefore) {
  const auto disk = new_disk();
  commit(*open_sample(disk), same_chunks(0, 100, noise_of(1)));
  const std::uint64_t before = live_size(*disk);
  const auto store = open_sample(disk, kSharing);
  const auto held = store->pin().value();
  Progress progress;
  const CompactReport report = store->compact(progress).value();
  EXPECT_EQ(report.size_before, before);
  EXPECT_LT(report.size_after, before / 10);
  EXPECT_EQ(disk->count_of(KeyTag::shared_payload), 1u);
  EXPECT_TRUE(says_shared(*disk));
  EXPECT_EQ(store->generation(), 1u) << "nothing that is held has changed";
  expect_clean(*store);
  // A second one has nothing to do.
  const std::uint64_t sequence = disk->kept->sequence();
  ASSERT_TRUE(store->compact(progress));
  EXPECT_EQ(disk->kept->sequence(), sequence);
  // What goes on in the same store knows of it.
  commit(*store, {.chunks = {{at(0), std::nullopt}}});
  EXPECT_EQ(count_at(*disk, reference_at(*disk, 1).hash), 99u);
  EXPECT_EQ(held->read_chunk(at(0)).value(), noise_of(1));
  expect_clean(*open_sample(disk));
}

TEST(SharingUpkeep, CompactingWithoutItLeavesWhatIsShared) {
  const auto disk = new_disk();
  commit(*open_sample(disk, kSharing), same_chunks(0, 10, noise_of(1)));
  const std::uint64_t before = live_size(*disk);
  const auto store = open_sample(disk);
  Progress progress;
  ASSERT_TRUE(store->compact(progress));
  EXPECT_EQ(live_size(*disk), before);
  expect_clean(*store);
}

TEST(SharingUpkeep, WhatIsSharedIsCompressedBetterAndStaysShared) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "block " + std::to_string(i * 7919 % 1000) + ";";
  const Bytes payload = Bytes::copy_of(text);
  for (const std::uint64_t memory_size : {0, 1 << 16}) {
    const auto disk = new_disk();
    commit(*open_sample(disk, {.speed = SpeedClass::raw, .sharing_memory_size = 1 << 16}),
           same_chunks(0, 50, payload));
    const std::uint64_t before = live_size(*disk);
    const auto store =
        open_sample(disk, {.speed = SpeedClass::small, .sharing_memory_size = memory_size});
    Progress progress;
    ASSERT_TRUE(store->compact(progress));
    EXPECT_LT(live_size(*disk), before);
    EXPECT_EQ(disk->count_of(KeyTag::shared_payload), 1u);
    EXPECT_EQ(count_at(*disk, reference_at(*disk, 7).hash), 50u);
    EXPECT_EQ(store->read_chunk(at(49)).value(), payload);
    expect_clean(*store);
  }
}

TEST(SharingUpkeep, CompactingFreesSharedDeltasOfAnOldGenerator) {
  class Flat final : public Generator {
   public:
    explicit Flat(std::uint32_t version) : version_(version) {}
    GeneratorId id() const override { return {"flat", version_}; }
    Result<Bytes> generate(const ChunkPos&) const override { return noise_of(version_, 4000); }

   private:
    const std::uint32_t version_;
  };
  std::string edited(noise_of(1, 4000).text());
  for (std::size_t i = 1000; i < 1200; ++i) edited[i] = static_cast<char>(i * i >> 3);
  VarveOptions options = kSharing;
  options.deltas = true;
  const auto disk = new_disk();
  {
    const auto store = open_sample(disk, options);
    store->use_generator(std::make_shared<Flat>(1));
    commit(*store, same_chunks(0, 5, Bytes::copy_of(edited)));
    ASSERT_TRUE(is_shared(*disk, 0));
  }
  const auto store = open_sample(disk, options);
  store->use_generator(std::make_shared<Flat>(1));
  store->use_generator(std::make_shared<Flat>(2));
  Progress progress;
  ASSERT_TRUE(store->compact(progress));
  const auto without = open_sample(disk);
  EXPECT_EQ(without->read_chunk(at(3)).value()->text(), edited);
  EXPECT_EQ(count_at(*disk, reference_at(*disk, 3).hash), 5u);
  expect_clean(*without);
}

TEST(SharingUpkeep, BackupsWholeAndByWhatChangedAndBackAgain) {
  sim::SimDisk disk;
  disk.set_recording(false);
  const log::LogOptions log = small_log_options();
  const auto format = make_varve_format(disk, "varve", SaveBackend::file, kSharing, log);
  const BackupDisk backups(disk, log);
  const auto backed_up = [&](const Store& store) {
    Progress progress;
    const auto report = back_up(pin_for_backup(store).value(), "backup", {}, progress, backups);
    EXPECT_TRUE(report) << report.error().message();
    const auto copy = format->open_to_read("backup").value();
    EXPECT_EQ(crash::read_records(*copy).value(), crash::read_records(store).value());
    expect_clean(*copy);
    return report.value();
  };
  crash::Records before;
  {
    const auto store = format->create("world").value();
    commit(*store, same_chunks(0, 8, noise_of(1)));
    EXPECT_FALSE(backed_up(*store).incremental);
    // The payload is given up and another one comes to be shared, as one backup sees it.
    commit(*store, same_chunks(0, 4, noise_of(2)));
    commit(*store, same_chunks(4, 8, noise_of(2)));
    const BackupReport second = backed_up(*store);
    EXPECT_TRUE(second.incremental);
    EXPECT_EQ(second.erased_count, 2u);
    before = crash::read_records(*store).value();
    commit(*store, {.chunks = {{at(0), noise_of(3)}, {at(1), std::nullopt}}});
    ASSERT_TRUE(store->close());
  }
  Progress progress;
  const auto restored = restore_backup("backup", "world", progress, backups);
  ASSERT_TRUE(restored) << restored.error().message();
  const auto store = format->open("world").value();
  EXPECT_EQ(crash::read_records(*store).value(), before);
  expect_clean(*store);
  commit(*store, same_chunks(0, 7, noise_of(4)));
  commit(*store, same_chunks(7, 8, noise_of(4)));
  expect_clean(*store);
}

TEST(SharingUpkeep, ADamagedSharedPayloadIsNamedByABackup) {
  const auto disk = new_disk();
  const auto store = open_sample(disk, kSharing);
  commit(*store, same_chunks(0, 3, noise_of(1)));
  disk->flip(shared_payload_key(reference_at(*disk, 0).hash));
  sim::SimDisk target;
  target.set_recording(false);
  Progress progress;
  const auto refused = back_up(pin_for_backup(*store).value(), "backup", {}, progress,
                               BackupDisk(target, small_log_options()));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::corruption);
  EXPECT_NE(refused.error().message().find("which several chunks have"), std::string::npos);
}

// A payload is given up and shared anew by every commit. Whoever reads beside it finds what was
// there before or after, never that it is missing.
TEST(SharingUpkeep, ReadersBesideCommitsFindEveryChunk) {
  const ScratchDir dir;
  const auto format = make_varve_format(
      "varve", {.file = {.durability = {Durability::Kind::none}}, .sharing_memory_size = 1 << 16});
  const auto store = format->create(dir.file("world")).value();
  commit(*store, same_chunks(0, 4, noise_of(0)));
  std::atomic<bool> is_over = false;
  std::atomic<int> read_count = 0;
  std::thread reader([&] {
    while (!is_over) {
      for (int x = 0; x < 4; ++x) {
        const auto read = store->read_chunk(at(x));
        ASSERT_TRUE(read) << read.error().message();
        ASSERT_TRUE(*read);
        ASSERT_TRUE(**read == noise_of(0) || **read == noise_of(1));
        ++read_count;
      }
    }
  });
  for (int i = 1; i <= 500 || read_count < 100; ++i) {
    commit(*store, same_chunks(0, 4, noise_of(static_cast<std::uint64_t>(i) % 2)));
  }
  is_over = true;
  reader.join();
  expect_clean(*store);
  ASSERT_TRUE(store->close());
}

}  // namespace
}  // namespace varve
