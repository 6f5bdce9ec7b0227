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
    expect_refused(back_up_to(kTarget, **seen), "may lack what an older backup has");
    EXPECT_EQ(records_at(kTarget), whole);
    expect_refused(back_up_to("another", **seen), "may lack what an older backup has");
    EXPECT_FALSE(*disk_.exists("another"));
  }
  // The next opening finds nothing wrong any more, but what was set aside.
  open_world();
  commit(*world_, {.globals = {{"played", Bytes::copy_of("on")}}});
  expect_refused(back_up_world(), "may lack what an older backup has");
  ASSERT_TRUE(world_->close());
  open_world();
  const auto aside = files_in("world/log", ".damaged");
  ASSERT_FALSE(aside.empty());
  expect_refused(back_up_world(), aside.front());
  EXPECT_EQ(records_at(kTarget), whole);

  for (const std::string& file : aside) ASSERT_TRUE(disk_.remove(file));
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
  expect_refused(back_up_world(), "may lack what an older backup has");
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
  EXPECT_TRUE(commit_keeping(*world_, 1, "one").problems.empty());
  for (int i = 0; i < 8; ++i) fill(40, 600 + static_cast<std::size_t>(i));
  ASSERT_TRUE(world_->close());
  const auto whole = records_at("world.backup");
  lose_a_segment();
  for (int opening = 0; opening < 2; ++opening) {
    open_world();
    const CommitStats stats = commit_keeping(*world_, 1, "since " + std::to_string(opening));
    ASSERT_EQ(stats.problems.size(), 1U);
    EXPECT_EQ(stats.problems.front().key, "world.backup");
    EXPECT_EQ(stats.problems.front().error.code(), ErrorCode::corruption);
    EXPECT_EQ(world_->read_chunk(ChunkPos(900, 0)).value().value().text(),
              "since " + std::to_string(opening));
    ASSERT_TRUE(world_->close());
    EXPECT_EQ(records_at("world.backup"), whole);
  }
  open_world();
}

// One record costs that record: what the game does goes on being saved.
TEST_F(VarveBackupLosses, ADamagedRecordCostsTheBackupAndNotTheCommit) {
  fill();
  damage(*world_, ChunkPos(5, -5));
  const CommitStats stats = commit_keeping(*world_, 1, "played on");
  ASSERT_EQ(stats.problems.size(), 1U);
  EXPECT_NE(stats.problems.front().error.message().find("chunk:5,-5"), std::string::npos)
      << stats.problems.front().error.message();
  EXPECT_FALSE(*disk_.exists("world.backup"));
  EXPECT_EQ(world_->read_chunk(ChunkPos(900, 0)).value().value().text(), "played on");

  commit(*world_, {.chunks = {{ChunkPos(5, -5), Bytes::copy_of("mended")}}});
  EXPECT_TRUE(commit_keeping(*world_, 1, "and on").problems.empty());
  EXPECT_TRUE(*disk_.exists("world.backup"));
}

TEST_F(VarveBackupLosses, ABackupThatIsWrittenCostsTheBackupAndNotTheCommit) {
  fill();
  EXPECT_TRUE(commit_keeping(*world_, 1, "one").problems.empty());
  const auto writer = backups_.saves().open("world.backup");
  ASSERT_TRUE(writer);
  const CommitStats stats = commit_keeping(*world_, 1, "two");
  ASSERT_EQ(stats.problems.size(), 1U);
  EXPECT_EQ(stats.problems.front().error.code(), ErrorCode::busy);
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
    EXPECT_EQ(stats.problems.size(), count) << "with none to keep there is nothing to say";
    EXPECT_EQ(records_at("world.backup"), theirs);
  }
}

// Somebody put a part of a backup there by hand.
TEST_F(VarveBackupLosses, WhatIsLeftOfABackupGoesWithTheOthers) {
  fill();
  EXPECT_TRUE(commit_keeping(*world_, 1, "one").problems.empty());
  for (const std::string& file : files_in("world.backup/log", "")) ASSERT_TRUE(disk_.remove(file));
  ASSERT_TRUE(disk_.remove_dir("world.backup/log"));
  EXPECT_TRUE(commit_keeping(*world_, 0, "two").problems.empty());
  EXPECT_FALSE(*disk_.exists("world.backup"));
}

TEST_F(VarveBackupLosses, ARotationThatWasCutShortMovesAndGoesWithItsSave) {
  fill();
  EXPECT_TRUE(commit_keeping(*world_, 1, "one").problems.empty());
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
  for (const char* left : {"world.backup", "world.backup.rotating", "world.before-restore"}) {
    ASSERT_TRUE(disk_.rename("world", left));
    const auto made = backups_.saves().create("world");
    ASSERT_FALSE(made) << left;
    EXPECT_EQ(made.error().code(), ErrorCode::invalid_argument);
    EXPECT_NE(made.error().message().find(left), std::string::npos) << made.error().message();
    ASSERT_TRUE(disk_.rename(left, "world"));
  }
  world_.reset();
}

}  // namespace
}  // namespace varve::test
