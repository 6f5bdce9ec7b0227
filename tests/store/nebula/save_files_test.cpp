// Moving and removing the files of a save, on the real disk where that is another.
#include "store/nebula/save_files.h"
#include "store/save_folder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "store/nebula/nebula_store.h"
#include "support/scratch_dir.h"

namespace varve::nebula {
namespace {

namespace fs = std::filesystem;

// A save from somewhere may hold links to anything on this machine.
TEST(SaveFiles, RemovingASaveFollowsNoLink) {
  const varve::test::ScratchDir dir;
  const fs::path documents = dir.file("documents");
  fs::create_directories(documents / "deep");
  std::ofstream(documents / "letter.txt") << "dear";
  std::ofstream(documents / "deep" / "diary.txt") << "today";
  const auto format = make_nebula_format(posix_vfs());
  const std::string save = dir.file("world");
  ASSERT_TRUE(format->create(save).value()->close());
  fs::create_directory_symlink(documents, save + "/chunks/x");
  fs::create_directory_symlink(documents, save + "/linked");
  fs::create_symlink(documents / "letter.txt", save + "/chunks/0_0_0_0.chunk");
  ASSERT_TRUE(format->remove(save));
  EXPECT_FALSE(fs::exists(save));
  EXPECT_FALSE(fs::exists(save + std::string(kRemovingSuffix)));
  EXPECT_TRUE(fs::exists(documents / "letter.txt"));
  EXPECT_TRUE(fs::exists(documents / "deep" / "diary.txt"));
}

TEST(SaveFiles, ALinkInThePlaceOfALeftoverIsRemovedItself) {
  const varve::test::ScratchDir dir;
  const auto format = make_nebula_format(posix_vfs());
  const fs::path letter = dir.file("documents") + "/letter.txt";
  fs::create_directories(letter.parent_path());
  std::ofstream(letter) << "dear";
  const std::string unfinished = dir.file("world") + std::string(kUnfinishedSuffix);
  fs::create_directory_symlink(letter.parent_path(), unfinished);
  EXPECT_TRUE(format->create(dir.file("world")));
  EXPECT_TRUE(fs::exists(letter));
  EXPECT_FALSE(fs::exists(fs::symlink_status(unfinished)));
}

// Each makes it alone, or is told that somebody does.
TEST(SaveFiles, ASaveThatSomebodyMakesIsBusy) {
  const varve::test::ScratchDir dir;
  const auto format = make_nebula_format(posix_vfs());
  const SaveLayout unfinished(dir.file("world") + std::string(kUnfinishedSuffix));
  fs::create_directories(unfinished.in("varve"));
  {
    const auto lock = posix_vfs().lock_writer(unfinished.lock());
    const auto refused = format->create(dir.file("world"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::busy);
  }
  EXPECT_TRUE(format->create(dir.file("world")));
}

TEST(SaveFiles, ManyWhoMakeTheSameSaveMakeOne) {
  const varve::test::ScratchDir dir;
  const auto format = make_nebula_format(posix_vfs());
  for (int round = 0; round < 20; ++round) {
    const std::string save = dir.file("world " + std::to_string(round));
    std::atomic<int> made_count = 0;
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
          const auto store = format->create(save);
          if (store) ++made_count;
        });
      }
    }
    EXPECT_LE(made_count, 1);
    if (made_count == 0) continue;  // each was in the other's way
    const auto store = format->open(save);
    ASSERT_TRUE(store) << store.error().message();
    Progress progress;
    const auto report = (*store)->verify(progress);
    ASSERT_TRUE(report) << report.error().message();
    for (const RecordProblem& problem : report->problems) ADD_FAILURE() << problem.error.message();
  }
}

// All that is left of a world are its backups, and its game starts as if nothing were.
TEST(SaveFiles, ANewSaveDoesNotTakeTheBackupsOfALostOne) {
  const varve::test::ScratchDir dir;
  const auto format = make_nebula_format(posix_vfs());
  const std::string save = dir.file("world");
  {
    const auto store = format->create(save).value();
    Progress progress;
    ASSERT_TRUE(store->commit({.tick = 1}, progress));
    ASSERT_TRUE(store->commit({.tick = 2, .backup_count = 1}, progress));
    ASSERT_TRUE(store->close());
  }
  fs::remove_all(save);
  const auto refused = format->create(save);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find(backup_path(save, 1)), std::string::npos);
  ASSERT_TRUE(format->rename(backup_path(save, 1), save));
  EXPECT_EQ(format->open(save).value()->tick(), 1u);
}

}  // namespace
}  // namespace varve::nebula
