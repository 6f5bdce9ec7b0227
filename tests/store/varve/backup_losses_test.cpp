// Backups of saves that lost something, or that lie beside what is not theirs: what a backup has is
// never given up for less, and no save is refused for the sake of its backup.
#include "store/varve/sample_backups.h"

namespace varve::test {
namespace {

class VarveBackupLosses : public BackupTest {
 protected:
  void open_world() {
    auto opened = backups_.saves().open("world");
    ASSERT_TRUE(opened) << opened.error().message();
    world_ = *std::move(opened);
  }
  // Through a commit that keeps so many backups.
  CommitStats commit_keeping(Store& store, std::uint32_t count, std::string_view text) {
    Commit next{.tick = store.tick() + 1,
                .chunks = {{ChunkPos(900, 0), Bytes::copy_of(text)}},
                .backup_count = count};
    Progress progress;
    auto done = store.commit(next, progress);
    EXPECT_TRUE(done) << done.error().message();
    return done ? *std::move(done) : CommitStats();
  }
  std::vector<std::string> files_in(std::string_view dir, std::string_view ending) {
    std::vector<std::string> found;
    const auto entries = disk_.list(dir);
    for (const DirEntry& entry : *entries)
      if (entry.name.ends_with(ending)) found.push_back(std::string(dir) + '/' + entry.name);
    return found;
  }
  void flip(const std::string& path, std::uint64_t offset) {
    const auto file = disk_.open(path, OpenMode::write);
    ASSERT_TRUE(file) << file.error().message();
    std::byte byte{};
    ASSERT_TRUE((*file)->read_exactly(offset, {&byte, 1}));
    byte ^= std::byte{1};
    ASSERT_TRUE((*file)->write_at(offset, {&byte, 1}));
    ASSERT_TRUE((*file)->close());
  }
  // What is in a segment cannot be found any more. The world is closed.
  void lose_a_segment() {
    const auto segments = files_in("world/log", ".log");
    ASSERT_GT(segments.size(), 1U);
    flip(segments.front(), 30);
    ASSERT_TRUE(disk_.remove("world/log/checkpoint"));
  }
  // The head of the last batch of a log; batches begin blocks.
  void flip_last_batch(const std::string& log) {
    auto segments = files_in(log, ".log");
    std::uint64_t last = 0;
    for (; last == 0 && !segments.empty(); segments.pop_back()) {
      const auto file = disk_.open(segments.back(), OpenMode::read).value();
      const Bytes bytes = file->read_all(1 << 30).value();
      for (std::uint64_t at = 4096; at + 4 <= bytes.size(); at += 4096) {
        if (bytes.text().substr(at, 4) == "VBAT") last = at;
      }
      if (last != 0) flip(segments.back(), last + 70);
    }
    ASSERT_NE(last, 0U);
  }
  void expect_refused(const Result<BackupReport>& report, std::string_view why) {
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code(), ErrorCode::corruption);
    EXPECT_NE(report.error().message().find(why), std::string::npos) << report.error().message();
  }
};

// Lost batches look like chunks that were erased.
TEST_F(VarveBackupLosses, WhatASaveLostStaysInItsBackup) {
  for (int i = 0; i < 8; ++i) fill(40, 500 + static_cast<std::size_t>(i));
  ASSERT_TRUE(back_up_world());
  const auto whole = records_at(kTarget);
  ASSERT_TRUE(world_->close());
  lose_a_segment();

  {
    const auto seen = backups_.saves().open_to_read("world");
    ASSERT_TRUE(seen);
    ASSERT_FALSE((*seen)->open_report().problems.empty());
    expect_refused(back_up_to(kTarget, **seen), "may lack what it once had");
    EXPECT_EQ(records_at(kTarget), whole);
    expect_refused(back_up_to("another", **seen), "may lack what it once had");
    EXPECT_FALSE(*disk_.exists("another"));
  }
  // The next openings find nothing wrong any more, but what was set aside and noted.
  for (int opening = 0; opening < 3; ++opening) {
    open_world();
    expect_refused(back_up_world(), "may lack what it once had");
    commit(*world_, {.globals = {{"played", Bytes::copy_of("on")}}});
    ASSERT_TRUE(world_->close());
  }
  EXPECT_EQ(records_at(kTarget), whole);
  const auto aside = files_in("world/log", ".damaged");
  EXPECT_EQ(aside.size(), 2U);
  for (const std::string& file : aside) ASSERT_TRUE(disk_.remove(file));
  open_world();
  const auto report = back_up_world();
  ASSERT_TRUE(report) << report.error().message();
  expect_backup_is(*world_);
}

// A loss may show in nothing but in what refers to what is lost.
TEST_F(VarveBackupLosses, ASaveThatLacksWhatItRefersToIsNotBackedUp) {
  fill();
  commit(
      *world_,
      {.chunks = {{ChunkPos(1, 1).in(Space::named("the_nether").value()), Bytes::copy_of("hot")}}});
  ASSERT_TRUE(back_up_world());
  const auto whole = records_at(kTarget);
  const Bytes kept = static_cast<VarveStore&>(*world_).backend().get(space_key(1)).value().value();
  WriteBatch batch;
  batch.erase(space_key(1));
  ASSERT_TRUE(static_cast<VarveStore&>(*world_).backend().write(batch));
  ASSERT_TRUE(world_->close());
  open_world();
  expect_refused(back_up_world(), "may lack what it once had");
  EXPECT_EQ(records_at(kTarget), whole);

  batch.clear();
  batch.put(space_key(1), kept);
  ASSERT_TRUE(static_cast<VarveStore&>(*world_).backend().write(batch));
  ASSERT_TRUE(world_->close());
  open_world();
  EXPECT_TRUE(back_up_world());
}

TEST_F(VarveBackupLosses, WhatASaveLostStaysInTheBackupsBesideIt) {
  for (int i = 0; i < 8; ++i) fill(40, 500 + static_cast<std::size_t>(i));
  EXPECT_FALSE(commit_keeping(*world_, 1, "one").backup_error);
  for (int i = 0; i < 8; ++i) fill(40, 600 + static_cast<std::size_t>(i));
  ASSERT_TRUE(world_->close());
  const auto whole = records_at("world.backup");
  lose_a_segment();
  for (int opening = 0; opening < 2; ++opening) {
    open_world();
    const CommitStats stats = commit_keeping(*world_, 1, "since " + std::to_string(opening));
    ASSERT_TRUE(stats.backup_error);
    EXPECT_EQ(stats.backup_error->code(), ErrorCode::corruption);
    EXPECT_EQ(world_->read_chunk(ChunkPos(900, 0)).value().value().text(),
              "since " + std::to_string(opening));
    ASSERT_TRUE(world_->close());
    EXPECT_EQ(records_at("world.backup"), whole);
  }
  open_world();
}

// Batches that are lost in a segment that goes on being one leave nothing that could be set aside.
// The last of these is behind the checkpoint.
TEST_F(VarveBackupLosses, WhatASaveLostInAYoungLogStaysInItsBackups) {
  for (const bool has_checkpoint : {true, false}) {
    SCOPED_TRACE(has_checkpoint ? "with a checkpoint" : "without");
    const std::string path = has_checkpoint ? "young" : "younger";
    auto store = backups_.saves().create(path).value();
    for (int i = 0; i < 6; ++i) commit_keeping(*store, 1, "batch " + std::to_string(i));
    commit(*store, {.chunks = {{ChunkPos(1, 1), Bytes::copy_of("the fifth but last")}}});
    ASSERT_TRUE(back_up_to(path + ".copy", *store));
    const auto whole = records_at(path + ".copy");
    // Its process dies.
    store.reset();
    flip_last_batch(path + "/log");
    if (!has_checkpoint) {
      ASSERT_TRUE(disk_.remove(path + "/log/checkpoint"));
    }
    // Whoever opens it first may be a tool that says so and goes.
    for (int opening = 0; opening < 3; ++opening) {
      store = backups_.saves().open(path).value();
      EXPECT_EQ(store->open_report().problems.empty(), opening != 0);
      expect_refused(back_up_to(path + ".copy", *store), "may lack what it once had");
      EXPECT_TRUE(commit_keeping(*store, 1, "since").backup_error);
      ASSERT_TRUE(store->close());
      EXPECT_EQ(records_at(path + ".copy"), whole);
    }
  }
}

// One record costs that record: what the game does goes on being saved.
TEST_F(VarveBackupLosses, ADamagedRecordCostsTheBackupAndNotTheCommit) {
  fill();
  damage(*world_, ChunkPos(5, -5));
  const CommitStats stats = commit_keeping(*world_, 1, "played on");
  ASSERT_TRUE(stats.backup_error);
  EXPECT_NE(stats.backup_error->message().find("chunk:5,-5"), std::string::npos)
      << stats.backup_error->message();
  EXPECT_FALSE(*disk_.exists("world.backup"));
  EXPECT_EQ(world_->read_chunk(ChunkPos(900, 0)).value().value().text(), "played on");

  commit(*world_, {.chunks = {{ChunkPos(5, -5), Bytes::copy_of("mended")}}});
  EXPECT_FALSE(commit_keeping(*world_, 1, "and on").backup_error);
  EXPECT_TRUE(*disk_.exists("world.backup"));
}

TEST_F(VarveBackupLosses, ABackupThatIsWrittenCostsTheBackupAndNotTheCommit) {
  fill();
  EXPECT_FALSE(commit_keeping(*world_, 1, "one").backup_error);
  const auto writer = backups_.saves().open("world.backup");
  ASSERT_TRUE(writer);
  const CommitStats stats = commit_keeping(*world_, 1, "two");
  ASSERT_TRUE(stats.backup_error);
  EXPECT_EQ(stats.backup_error->code(), ErrorCode::busy);
  ASSERT_TRUE((*writer)->close());
}

TEST_F(VarveBackupLosses, AnotherSavesBackupIsLeftAlone) {
  fill();
  {
    const auto other = backups_.saves().create("other");
    ASSERT_TRUE(other);
    commit(**other, {.globals = {{"of", Bytes::copy_of("another")}}});
    ASSERT_TRUE((*other)->close());
  }
  const auto theirs = records_at("other");
  ASSERT_TRUE(disk_.rename("other", "world.backup"));
  for (const std::uint32_t count : {1U, 0U}) {
    const CommitStats stats = commit_keeping(*world_, count, "kept " + std::to_string(count));
    EXPECT_EQ(stats.backup_error.has_value(), count != 0) << "with none to keep nothing is lacking";
    EXPECT_EQ(records_at("world.backup"), theirs);
  }
}

// Somebody put a part of a backup there by hand.
TEST_F(VarveBackupLosses, WhatIsLeftOfABackupGoesWithTheOthers) {
  fill();
  EXPECT_FALSE(commit_keeping(*world_, 1, "one").backup_error);
  for (const std::string& file : files_in("world.backup/log", "")) ASSERT_TRUE(disk_.remove(file));
  ASSERT_TRUE(disk_.remove_dir("world.backup/log"));
  EXPECT_FALSE(commit_keeping(*world_, 0, "two").backup_error);
  EXPECT_FALSE(*disk_.exists("world.backup"));
}

TEST_F(VarveBackupLosses, ARotationThatWasCutShortMovesAndGoesWithItsSave) {
  fill();
  EXPECT_FALSE(commit_keeping(*world_, 1, "one").backup_error);
  ASSERT_TRUE(world_->close());
  const auto backup = records_at("world.backup");
  ASSERT_TRUE(disk_.rename("world.backup", "world.backup.rotating"));
  ASSERT_TRUE(backups_.saves().rename("world", "moved"));
  EXPECT_EQ(records_at("moved.backup"), backup);
  EXPECT_FALSE(*disk_.exists("world.backup.rotating"));

  ASSERT_TRUE(disk_.rename("moved.backup", "moved.backup.rotating"));
  ASSERT_TRUE(backups_.saves().remove("moved"));
  EXPECT_FALSE(*disk_.exists("moved.backup.rotating"));
  EXPECT_FALSE(*disk_.exists("moved.backup"));
  world_.reset();
}

TEST_F(VarveBackupLosses, NoWorldBeginsBesideWhatIsLeftOfAnother) {
  fill();
  ASSERT_TRUE(world_->close());
  ASSERT_TRUE(backups_.saves().create("copy").value()->close());
  for (const char* left : {"world.backup", "world.backup.rotating", "world.before-restore"}) {
    ASSERT_TRUE(disk_.rename("world", left));
    // A restore that was cut short between two names.
    const bool is_restore = std::string_view(left).ends_with("restore");
    if (is_restore) {
      ASSERT_TRUE(disk_.rename("copy", "world.unfinished-restore"));
    }
    const auto made = backups_.saves().create("world");
    ASSERT_FALSE(made) << left;
    EXPECT_EQ(made.error().code(), ErrorCode::invalid_argument);
    EXPECT_NE(made.error().message().find(left), std::string::npos) << made.error().message();
    if (is_restore) {
      ASSERT_TRUE(disk_.rename("world.unfinished-restore", "copy"));
    }
    ASSERT_TRUE(disk_.rename(left, "world"));
  }
  // What a restore that is through left is in nobody's way.
  ASSERT_TRUE(disk_.rename("world", "world.before-restore"));
  EXPECT_TRUE(backups_.saves().create("world"));
  world_.reset();
}

// A newer backup, of a save that was put back to an older state, goes when there is another.
TEST_F(VarveBackupLosses, ANewerBackupStaysUntilThereIsAnotherInItsPlace) {
  fill();
  ASSERT_TRUE(back_up_to("older", *world_));
  commit(*world_, {.chunks = {{ChunkPos(5, -5), Bytes::copy_of("newer")}}});
  EXPECT_FALSE(commit_keeping(*world_, 1, "one").backup_error);
  ASSERT_TRUE(world_->close());
  const auto newer = records_at("world.backup");
  Progress progress;
  ASSERT_TRUE(restore_backup("older", "world", progress, backups_));
  open_world();
  damage(*world_, ChunkPos(6, -6));
  commit(*world_, {.chunks = {{ChunkPos(7, -7), Bytes::copy_of("on")}}});
  damage(*world_, ChunkPos(7, -7));
  EXPECT_TRUE(commit_keeping(*world_, 1, "two").backup_error);
  EXPECT_EQ(records_at("world.backup"), newer);

  commit(*world_, {.chunks = {{ChunkPos(6, -6), Bytes::copy_of("mended")},
                              {ChunkPos(7, -7), Bytes::copy_of("mended")}}});
  const auto before = crash::read_records(*world_);
  EXPECT_FALSE(commit_keeping(*world_, 1, "three").backup_error);
  EXPECT_EQ(records_at("world.backup"), *before);
}

// What may have what the save lost is not removed for being one too many.
TEST_F(VarveBackupLosses, NoBackupOfASaveThatLostSomethingIsOneTooMany) {
  for (int i = 0; i < 3; ++i) {
    fill(40, 500 + static_cast<std::size_t>(i));
    EXPECT_FALSE(commit_keeping(*world_, 3, std::to_string(i)).backup_error);
  }
  for (int i = 0; i < 8; ++i) fill(40, 600 + static_cast<std::size_t>(i));
  ASSERT_TRUE(world_->close());
  lose_a_segment();
  open_world();
  for (const std::uint32_t count : {1U, 0U}) {
    EXPECT_TRUE(commit_keeping(*world_, count, "on").backup_error);
    for (const char* backup : {"world.backup", "world.backup.2", "world.backup.3"})
      EXPECT_TRUE(*disk_.exists(backup)) << backup;
  }
}

TEST_F(VarveBackupLosses, AnotherSaveBesideOneIsNeitherRenamedNorRemovedWithIt) {
  fill();
  ASSERT_TRUE(world_->close());
  ASSERT_TRUE(backups_.saves().create("other").value()->close());
  ASSERT_TRUE(disk_.rename("other", "world.backup"));
  ASSERT_TRUE(backups_.saves().rename("world", "moved"));
  EXPECT_TRUE(*disk_.exists("world.backup"));
  ASSERT_TRUE(disk_.rename("world.backup", "moved.backup"));
  ASSERT_TRUE(backups_.saves().remove("moved"));
  EXPECT_FALSE(*disk_.exists("moved"));
  EXPECT_TRUE(*disk_.exists("moved.backup"));
  world_.reset();
}

}  // namespace
}  // namespace varve::test
