// Hot backups on a disk that is well: what is copied, what is left alone and what is refused.
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "store/varve/header_records.h"
#include "store/varve/sample_backups.h"
#include "support/scratch_dir.h"
#include "varve/format.h"

namespace varve::test {
namespace {

class VarveBackup : public BackupTest {};

TEST_F(VarveBackup, AFullOneHoldsEverythingAndOpensByItself) {
  fill();
  const auto report = back_up_world();
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_FALSE(report->incremental);
  EXPECT_EQ(report->generation, world_->generation());
  EXPECT_EQ(report->tick, world_->tick());
  // 40 chunks, two entities and their places, two players and a global.
  EXPECT_EQ(report->copied_count, 47U);
  EXPECT_GT(report->copied_size, 40U * 500);
  EXPECT_EQ(report->erased_count, 0U);
  expect_backup_is(*world_);
  expect_nothing_beside();
}

TEST_F(VarveBackup, OfAnEmptySaveIsAnEmptySave) {
  ASSERT_TRUE(back_up_world());
  expect_backup_is(*world_);
}

TEST_F(VarveBackup, AnIncrementalOneMovesOnlyWhatChanged) {
  // A log as games have it: the small one reclaims all the time.
  const BackupDisk usual(disk_,
                         {.background = false, .seed = 7, .traits = log::file_backend_traits()});
  const auto back_up_world = [&]() -> Result<BackupReport> {
    const auto held = pin_for_backup(*world_);
    if (!held) return held.error();
    Progress progress;
    return back_up(*held, kTarget, {}, progress, usual);
  };
  fill(400);
  ASSERT_TRUE(back_up_world());
  commit(*world_, {.chunks = {{ChunkPos(3, -3), Bytes::copy_of(text_of(9999, 700))},
                              {ChunkPos(900, 1), Bytes::copy_of("new")}}});
  disk_.reset_counts();
  const auto report = back_up_world();
  ASSERT_TRUE(report) << report.error().message();
  const DiskCounts counts = disk_.counts();
  EXPECT_TRUE(report->incremental);
  EXPECT_EQ(report->copied_count, 2U);
  EXPECT_EQ(report->unchanged_count, 406U);
  EXPECT_EQ(report->erased_count, 0U);
  EXPECT_LT(report->copied_size, 800U);
  // The chunks are 200,000 bytes.
  EXPECT_LT(counts.written_size, 40'000U) << counts;
  expect_backup_is(*world_);
}

TEST_F(VarveBackup, ErasuresAndEntitiesThatMoveAreFollowed) {
  fill();
  ASSERT_TRUE(back_up_world());
  commit(*world_, {.chunks = {{ChunkPos(4, -4), {}}},
                   .entities = {{1, EntityValue{ChunkPos(7, -7), Bytes::copy_of("cow")}}, {2, {}}},
                   .players = {{"ann", {}}}});
  const auto report = back_up_world();
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->incremental);
  // The chunk, the player, the one that left its chunk, the other one and its place.
  EXPECT_EQ(report->erased_count, 5U);
  // Where it is now, and the place that says so.
  EXPECT_EQ(report->copied_count, 2U);
  expect_backup_is(*world_);
}

TEST_F(VarveBackup, ATickAloneIsANewGeneration) {
  fill();
  ASSERT_TRUE(back_up_world());
  commit(*world_, {});
  const auto report = back_up_world();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->copied_count, 0U);
  expect_backup_is(*world_);
}

TEST_F(VarveBackup, WithNothingNewNothingIsWritten) {
  fill();
  ASSERT_TRUE(back_up_world());
  const auto again = back_up_world();
  ASSERT_TRUE(again);
  disk_.reset_counts();
  const auto report = back_up_world();
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->incremental);
  EXPECT_EQ(report->copied_count, 0U);
  EXPECT_EQ(report->unchanged_count, 47U);
  EXPECT_LE(disk_.counts().written_size, 4096U) << disk_.counts();
  expect_backup_is(*world_);
}

TEST_F(VarveBackup, MuchThatChangedComesAsANewCopyInItsPlace) {
  for (const bool has_links : {true, false}) {
    sim_.set_links(has_links);
    fill(40, has_links ? 500 : 900);
    ASSERT_TRUE(back_up_world());
    fill(40, has_links ? 600 : 1000);
    const auto report = back_up_world();
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_FALSE(report->incremental);
    EXPECT_EQ(report->copied_count, 47U);
    EXPECT_EQ(report->unchanged_count, 0U);
    expect_backup_is(*world_);
    expect_nothing_beside();
  }
}

TEST_F(VarveBackup, WhatIsNoVarveSaveIsNotTouched) {
  fill();
  ASSERT_TRUE(disk_.create_dir(kTarget));
  const auto report = back_up_world();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), ErrorCode::invalid_argument);
  EXPECT_TRUE(disk_.list(kTarget)->empty());
  expect_nothing_beside();
}

TEST_F(VarveBackup, AnotherSaveIsRefusedAndStays) {
  fill();
  auto other = backups_.saves().create(kTarget);
  ASSERT_TRUE(other);
  commit(**other, {.globals = {{"name", Bytes::copy_of("other")}}});
  ASSERT_TRUE((*other)->close());
  const auto before = records_at(kTarget);
  const auto report = back_up_world();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), ErrorCode::invalid_argument);
  EXPECT_NE(report.error().message().find("another save"), std::string::npos);
  EXPECT_EQ(records_at(kTarget), before);
}

TEST_F(VarveBackup, ANewerOneIsRefusedAndStays) {
  fill();
  ASSERT_TRUE(back_up_world());
  auto target = backups_.saves().open(kTarget);
  ASSERT_TRUE(target);
  commit(**target, {.globals = {{"later", Bytes::copy_of("1")}}});
  ASSERT_TRUE((*target)->close());
  const auto before = records_at(kTarget);
  const auto report = back_up_world();
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message().find("newer"), std::string::npos);
  EXPECT_EQ(records_at(kTarget), before);
}

TEST_F(VarveBackup, ATargetThatIsWrittenIsBusy) {
  fill();
  ASSERT_TRUE(back_up_world());
  commit(*world_, {});
  auto target = backups_.saves().open(kTarget);
  ASSERT_TRUE(target);
  const auto report = back_up_world();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), ErrorCode::busy);
  ASSERT_TRUE((*target)->close());
  EXPECT_TRUE(back_up_world());
}

TEST_F(VarveBackup, ASaveIsNotItsOwnBackupNorInItself) {
  fill();
  for (const std::string_view target :
       {"world", "world/", "varve:world", "world/backup", "x.unfinished-backup", ""}) {
    const auto report = back_up_to(target, *world_);
    ASSERT_FALSE(report) << target;
    EXPECT_EQ(report.error().code(), ErrorCode::invalid_argument) << target;
  }
}

TEST_F(VarveBackup, OtherFormatsAreToldWhatToUse) {
  const auto format = find_format("memory");
  ASSERT_TRUE(format);
  const auto store = (*format)->create("memory:backup_test");
  ASSERT_TRUE(store);
  Progress progress;
  const auto report = back_up(**store, "nowhere", {}, progress);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), ErrorCode::unsupported);
  EXPECT_NE(report.error().message().find("save_to"), std::string::npos);
}

TEST_F(VarveBackup, ACancelledOneLeavesNothing) {
  fill();
  auto held = pin_for_backup(*world_);
  ASSERT_TRUE(held);
  Progress progress;
  progress.cancel();
  const auto report = back_up(*held, kTarget, {}, progress, backups_);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), ErrorCode::cancelled);
  EXPECT_FALSE(*disk_.exists(kTarget));
  expect_nothing_beside();
}

TEST_F(VarveBackup, ADamagedRecordThatMustBeCopiedIsNamedAndTheTargetStays) {
  fill();
  damage(*world_, ChunkPos(5, -5));
  damage(*world_, ChunkPos(6, -6));
  auto report = back_up_world();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), ErrorCode::corruption);
  EXPECT_NE(report.error().message().find("chunk:5,-5, chunk:6,-6;"), std::string::npos)
      << report.error().message();
  EXPECT_FALSE(*disk_.exists(kTarget));
  expect_nothing_beside();

  commit(*world_, {.chunks = {{ChunkPos(5, -5), Bytes::copy_of("mended")},
                              {ChunkPos(6, -6), Bytes::copy_of("mended")}}});
  ASSERT_TRUE(back_up_world());
  const auto before = records_at(kTarget);
  commit(*world_, {.chunks = {{ChunkPos(5, -5), Bytes::copy_of("newer")},
                              {ChunkPos(7, -7), Bytes::copy_of("newer")}}});
  damage(*world_, ChunkPos(5, -5));
  report = back_up_world();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), ErrorCode::corruption);
  EXPECT_EQ(records_at(kTarget), before);
}

TEST_F(VarveBackup, ADamagedRecordTheTargetHasIsNoMatter) {
  fill();
  const auto whole = crash::read_records(*world_);
  ASSERT_TRUE(back_up_world());
  damage(*world_, ChunkPos(5, -5));
  const auto report = back_up_world();
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(records_at(kTarget), *whole);
}

TEST_F(VarveBackup, ADamagedRecordOfTheTargetIsMendedWhereItShows) {
  fill();
  ASSERT_TRUE(back_up_world());
  auto target = backups_.saves().open(kTarget);
  ASSERT_TRUE(target);
  Backend& backend = static_cast<VarveStore&>(**target).backend();
  WriteBatch batch;
  batch.put(chunk_key(0, ChunkPos(5, -5)), Bytes::copy_of("rot"));
  ASSERT_TRUE(backend.write(batch));
  ASSERT_TRUE((*target)->close());
  const auto report = back_up_world();
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->copied_count, 1U);
  expect_backup_is(*world_);
}

TEST_F(VarveBackup, ADamagedHeaderIsNoReasonNotToMakeOne) {
  fill();
  for (const SaveKey& key : {header_key(), header_copy_key()}) {
    const std::string name = key.view()[0] == header_key().view()[0] ? "one" : "two";
    ASSERT_TRUE(back_up_world());
    commit(*world_, {.chunks = {{ChunkPos(900, 1), Bytes::copy_of(name)}}});
    damage(*world_, key);
    ASSERT_TRUE(back_up_to(name, *world_));
    const auto report = back_up_world();
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_TRUE(report->incremental);
    EXPECT_EQ(report->copied_count, 1U);
    // Both are verified there, the header with the rest.
    expect_backup_is(*world_);
    EXPECT_EQ(records_at(name), records_at(kTarget));
  }
}

TEST_F(VarveBackup, ADamagedHeaderOfTheTargetIsMended) {
  for (const SaveKey& key : {header_key(), header_copy_key()}) {
    fill();
    ASSERT_TRUE(back_up_world());
    auto target = backups_.saves().open(kTarget);
    ASSERT_TRUE(target);
    damage(**target, key);
    ASSERT_TRUE((*target)->close());
    const auto report = back_up_world();
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->copied_count, 0U) << "which counts records alone";
    expect_backup_is(*world_);
  }
}

// Of a save that was last written by a program that did not know of a copy.
TEST_F(VarveBackup, OneOfASaveWhoseHeaderHasNoCopyYetHasOne) {
  fill();
  Backend& backend = static_cast<VarveStore&>(*world_).backend();
  const SaveKey key = header_key();
  auto header = find_header(backend)->header;
  header.features = 0;
  WriteBatch old;
  old.put(key, plain_frame(key, encode_save_header(header)));
  old.erase(header_copy_key());
  ASSERT_TRUE(backend.write(old));
  ASSERT_TRUE(back_up_world());
  expect_backup_is(*world_);
  {
    const auto target = backups_.saves().open_to_read(kTarget);
    ASSERT_TRUE(target);
    EXPECT_TRUE(find_header(static_cast<VarveStore&>(**target).backend())->has_both());
    ASSERT_TRUE((*target)->close());
  }
  // Nothing new is still nothing to write.
  disk_.reset_counts();
  const auto report = back_up_world();
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->erased_count, 0U);
  EXPECT_LE(disk_.counts().written_size, 4096U) << disk_.counts();
  expect_backup_is(*world_);
}

TEST_F(VarveBackup, APaceIsKept) {
  fill(40, 500);
  auto held = pin_for_backup(*world_);
  ASSERT_TRUE(held);
  Progress progress;
  const auto begun_at = std::chrono::steady_clock::now();
  ASSERT_TRUE(back_up(*held, kTarget, {.size_per_second = 200'000}, progress, backups_));
  EXPECT_GE(std::chrono::steady_clock::now() - begun_at, std::chrono::milliseconds(100));
  EXPECT_EQ(progress.fraction(), 1.0F);
}

// --- While the game goes on ----------------------------------------------------------

// On the real disk, with everything a log does in the background.
TEST(VarveBackupLive, HoldsExactlyThePinnedGenerationWhateverIsCommittedMeanwhile) {
  const ScratchDir dir;
  const auto format = find_format("varve");
  ASSERT_TRUE(format);
  const auto world = (*format)->create(dir.file("world"));
  ASSERT_TRUE(world) << world.error().message();
  std::atomic<bool> stop = false;
  std::atomic<int> round = 0;
  // Every chunk of a generation says which one it is.
  std::thread game([&] {
    for (; !stop; ++round) {
      Commit commit{.tick = (*world)->tick() + 1};
      for (int i = 0; i < 60; ++i) {
        commit.chunks.push_back(
            {ChunkPos(i, 0), Bytes::copy_of(std::to_string(commit.tick) + text_of(i, 3000))});
      }
      commit.chunks.push_back({ChunkPos(100 + round % 7, 0), {}});
      commit.chunks.push_back({ChunkPos(100 + (round + 1) % 7, 0), Bytes::copy_of("here")});
      Progress progress;
      ASSERT_TRUE((*world)->commit(commit, progress));
    }
  });
  while (round < 3) std::this_thread::yield();
  for (int i = 0; i < 8; ++i) {
    Progress progress;
    const auto report = back_up(**world, dir.file("backup"), {}, progress);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->incremental, i != 0);
    const auto backup = open_store(dir.file("backup"));
    ASSERT_TRUE(backup) << backup.error().message();
    EXPECT_EQ((*backup)->generation(), report->generation);
    EXPECT_EQ((*backup)->tick(), report->tick);
    const auto records = crash::read_records(**backup);
    ASSERT_TRUE(records) << records.error().message();
    EXPECT_EQ(records->size(), 61U);
    for (int chunk = 0; chunk < 60; ++chunk) {
      const auto payload = (*backup)->read_chunk(ChunkPos(chunk, 0));
      ASSERT_TRUE(payload && *payload);
      EXPECT_EQ((*payload)->text(), std::to_string(report->tick) + text_of(chunk, 3000));
    }
    ASSERT_TRUE((*backup)->close());
  }
  stop = true;
  game.join();
  EXPECT_TRUE((*world)->close());
}

TEST(VarveBackupLive, ASaveThatAnotherWritesIsBackedUpByWhoReadsIt) {
  const ScratchDir dir;
  const auto format = find_format("varve");
  ASSERT_TRUE(format);
  const auto world = (*format)->create(dir.file("world"));
  ASSERT_TRUE(world);
  Progress progress;
  ASSERT_TRUE(
      (*world)->commit({.tick = 1, .globals = {{"name", Bytes::copy_of("here")}}}, progress));
  const auto reader = open_store_to_read(dir.file("world"));
  ASSERT_TRUE(reader) << reader.error().message();
  const auto report = back_up(**reader, dir.file("backup"), {}, progress);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->generation, (*world)->generation());
  ASSERT_TRUE((*reader)->close());
  ASSERT_TRUE((*world)->close());
  const auto restored = restore_backup(dir.file("backup"), dir.file("world"), progress);
  EXPECT_TRUE(restored) << restored.error().message();
}

// What replaces the old copy does so where the link leads, which may be another disk.
TEST(VarveBackupLive, ALinkToABackupStaysOne) {
  const ScratchDir dir;
  const BackupDisk disk(posix_vfs(), small_log_options(), {.change_size_max = 8 << 10});
  const auto world = disk.saves().create(dir.file("world"));
  ASSERT_TRUE(world) << world.error().message();
  ASSERT_EQ(mkdir(dir.file("elsewhere").c_str(), 0700), 0);
  ASSERT_EQ(symlink("elsewhere/backup", dir.file("link").c_str()), 0);
  Progress progress;
  for (std::uint64_t tick = 1; tick <= 3; ++tick) {
    ASSERT_TRUE((*world)->commit(
        {.tick = tick,
         .globals = {{"it", Bytes::copy_of(text_of(static_cast<int>(tick), 20'000))}}},
        progress));
    const auto held = pin_for_backup(**world);
    ASSERT_TRUE(held);
    // The first one is made where the link leads, by its name.
    const std::string target = dir.file(tick == 1 ? "elsewhere/backup" : "link");
    const auto report = back_up(*held, target, {}, progress, disk);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_FALSE(report->incremental);
    const auto backup = disk.saves().open_to_read(dir.file("elsewhere/backup"));
    ASSERT_TRUE(backup);
    EXPECT_EQ((*backup)->tick(), tick);
  }
  EXPECT_TRUE(std::filesystem::is_symlink(dir.file("link")));
  ASSERT_TRUE((*world)->close());
  const auto restored = restore_backup(dir.file("world"), dir.file("link"), progress, disk);
  ASSERT_TRUE(restored) << restored.error().message();
  EXPECT_TRUE(std::filesystem::is_symlink(dir.file("link")));
  EXPECT_TRUE(std::filesystem::exists(dir.file("elsewhere/backup.before-restore")));
}

TEST(VarveBackupLive, ASaveIsNotItsOwnBackupNorInItselfWhateverItIsCalled) {
  const ScratchDir dir;
  const auto format = find_format("varve");
  const auto world = (*format)->create(dir.file("world"));
  ASSERT_TRUE(world);
  ASSERT_EQ(symlink("world", dir.file("link").c_str()), 0);
  Progress progress;
  for (const char* target : {"./world", "link", "link/inner", "world/./inner", "./link/inner"}) {
    const auto report = back_up(**world, dir.file(target), {}, progress);
    ASSERT_FALSE(report) << target;
    EXPECT_EQ(report.error().code(), ErrorCode::invalid_argument) << report.error().message();
  }
  ASSERT_TRUE((*world)->close());
  EXPECT_FALSE(restore_backup(dir.file("link"), dir.file("world/inner"), progress));
  EXPECT_FALSE(std::filesystem::exists(dir.file("world/inner")));
}

// Beside a save of a few chunks, looking for backups is a good part of it.
TEST_F(VarveBackup, ASaveThatKeepsNoneLooksForThemOnce) {
  commit(*world_, {.backup_count = 0});
  disk_.reset_counts();
  commit(*world_, {.backup_count = 0});
  EXPECT_EQ(disk_.counts().list_count, 0U);
  EXPECT_EQ(disk_.counts().info_count, 0U);
  commit(*world_, {.backup_count = 1});
  EXPECT_TRUE(disk_.exists("world.backup").value());
  commit(*world_, {.backup_count = 0});
  EXPECT_FALSE(disk_.exists("world.backup").value());
}

}  // namespace
}  // namespace varve::test
