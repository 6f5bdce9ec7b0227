#include "io/atomic_replace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "io/sim/sim_disk.h"
#include "support/scratch_dir.h"

namespace varve {
namespace {

std::string read(Vfs& vfs, std::string_view path) {
  const auto file = vfs.open(path, OpenMode::read);
  return file ? std::string((*file)->read_all(1 << 20)->text()) : "(absent)";
}

TEST(AtomicReplace, CreatesAndReplacesOnTheRealDisk) {
  const test::ScratchDir dir;
  const std::string path = dir.file("my.world");
  ASSERT_TRUE(atomic_replace(posix_vfs(), path, as_byte_view("one")));
  ASSERT_TRUE(atomic_replace(posix_vfs(), path, as_byte_view("two, longer")));
  ASSERT_TRUE(atomic_replace(posix_vfs(), path, {}));
  EXPECT_EQ(read(posix_vfs(), path), "");
  EXPECT_EQ(posix_vfs().list(dir.path())->size(), 1u) << "no temporary stays";
}

TEST(AtomicReplace, AStaleTemporaryIsOverwritten) {
  sim::SimDisk disk;
  ASSERT_TRUE((*disk.open("f.tmp", OpenMode::create))->append(as_byte_view("left by a crash")));
  ASSERT_TRUE(atomic_replace(disk, "f", as_byte_view("new")));
  EXPECT_EQ(read(disk, "f"), "new");
  EXPECT_EQ(read(disk, "f.tmp"), "(absent)");
}

TEST(AtomicReplace, ALinkInTheTemporarysPlaceIsRemovedNotFollowed) {
  const test::ScratchDir dir;
  ASSERT_TRUE(atomic_replace(posix_vfs(), dir.file("outside"), as_byte_view("precious")));
  ASSERT_EQ(symlink("outside", dir.file("f.tmp").c_str()), 0);
  ASSERT_TRUE(atomic_replace(posix_vfs(), dir.file("f"), as_byte_view("new")));
  EXPECT_EQ(read(posix_vfs(), dir.file("outside")), "precious");
  EXPECT_EQ(read(posix_vfs(), dir.file("f")), "new");
}

// Fail the Nth operation for N = 1, 2, 3 ... until a run is clean.
TEST(AtomicReplace, WhateverFailsTheOldOrTheNewIsThere) {
  std::uint64_t n = 1;
  for (;; ++n) {
    sim::SimDisk disk;
    ASSERT_TRUE(atomic_replace(disk, "f", as_byte_view("old")));
    const std::uint64_t before = disk.op_count();
    disk.set_fault(sim::Fault{.op_number = before + n, .code = ErrorCode::out_of_space});
    const Status replaced = atomic_replace(disk, "f", as_byte_view("new"));
    const bool fault_was_reached = disk.op_count() >= before + n;
    disk.set_fault(std::nullopt);
    if (!fault_was_reached) {
      EXPECT_TRUE(replaced);
      break;
    }
    ASSERT_FALSE(replaced) << n;
    EXPECT_EQ(replaced.error().code(), ErrorCode::out_of_space);
    const std::string found = read(disk, "f");
    if (n <= 4) {
      EXPECT_EQ(found, "old") << "before the rename";
      EXPECT_EQ(read(disk, "f.tmp"), "(absent)");
    } else {
      EXPECT_TRUE(found == "old" || found == "new") << found;
    }
    ASSERT_TRUE(atomic_replace(disk, "f", as_byte_view("newer"))) << "and trying again works";
    EXPECT_EQ(read(disk, "f"), "newer");
  }
  EXPECT_EQ(n, 7u) << "open, write, sync, close, rename, directory sync";
}

}  // namespace
}  // namespace varve
