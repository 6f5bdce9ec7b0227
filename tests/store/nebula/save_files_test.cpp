// Moving and removing the files of a save, on the real disk where that is another.
#include "store/nebula/save_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

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
  EXPECT_FALSE(fs::exists(save + ".removing"));
  EXPECT_TRUE(fs::exists(documents / "letter.txt"));
  EXPECT_TRUE(fs::exists(documents / "deep" / "diary.txt"));
}

TEST(SaveFiles, ALinkInThePlaceOfALeftoverIsRemovedItself) {
  const varve::test::ScratchDir dir;
  fs::create_directories(dir.file("documents"));
  std::ofstream(dir.file("documents") + "/letter.txt") << "dear";
  fs::create_directory_symlink(dir.file("documents"), dir.file("world.unfinished"));
  const auto format = make_nebula_format(posix_vfs());
  ASSERT_TRUE(format->create(dir.file("world")));
  EXPECT_TRUE(fs::exists(dir.file("documents") + "/letter.txt"));
  EXPECT_FALSE(fs::exists(fs::symlink_status(dir.file("world.unfinished"))));
}

}  // namespace
}  // namespace varve::nebula
