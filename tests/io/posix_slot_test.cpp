// Slots of readers in other processes.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "io/lock_holder.h"
#include "io/vfs.h"
#include "support/scratch_dir.h"

namespace varve {
namespace {

using test::LockHolder;

class PosixSlot : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(posix_vfs().open(path_, OpenMode::create)); }
  auto slot(std::uint32_t index) const {
    return [this, index] { return posix_vfs().lock_slot(path_, index); };
  }

  test::ScratchDir dir_;
  std::string path_ = dir_.file("readers");
};

TEST_F(PosixSlot, AnotherProcessIsSeenToHoldIt) {
  const LockHolder holder(slot(5));
  ASSERT_TRUE(holder.has_lock());
  EXPECT_TRUE(*posix_vfs().is_slot_locked(path_, 5));
  EXPECT_FALSE(*posix_vfs().is_slot_locked(path_, 4));
  const auto second = slot(5)();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::busy);
  EXPECT_EQ(second.error().message(), "taking slot 5: " + path_ + ": slot 5 is held");
  EXPECT_TRUE(slot(4)());
}

TEST_F(PosixSlot, ADeadHolderLeavesItFree) {
  LockHolder holder(slot(5));
  ASSERT_TRUE(holder.has_lock());
  holder.kill_now();
  EXPECT_FALSE(*posix_vfs().is_slot_locked(path_, 5));
  EXPECT_TRUE(slot(5)());
}

TEST_F(PosixSlot, AForkedChildDoesNotKeepIt) {
  auto lock = slot(5)();
  ASSERT_TRUE(lock);
  const LockHolder child([] { return true; });
  lock->reset();
  EXPECT_FALSE(*posix_vfs().is_slot_locked(path_, 5));
}

TEST_F(PosixSlot, AForkedChildThatEndsDoesNotReleaseIt) {
  auto lock = slot(5)();
  ASSERT_TRUE(lock);
  const pid_t child = fork();
  if (child == 0) {
    lock->reset();  // As exit() does for a static.
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(*posix_vfs().is_slot_locked(path_, 5));
}

TEST_F(PosixSlot, ALinkIsNotLockedThrough) {
  ASSERT_EQ(symlink("readers", dir_.file("link").c_str()), 0);
  EXPECT_EQ(posix_vfs().lock_slot(dir_.file("link"), 0).error().code(),
            ErrorCode::invalid_argument);
}

TEST_F(PosixSlot, APipeDoesNotBlock) {
  ASSERT_EQ(mkfifo(dir_.file("pipe").c_str(), 0600), 0);
  EXPECT_EQ(posix_vfs().lock_slot(dir_.file("pipe"), 0).error().code(),
            ErrorCode::invalid_argument);
  EXPECT_EQ(posix_vfs().is_slot_locked(dir_.file("pipe"), 0).error().code(),
            ErrorCode::invalid_argument);
}

TEST_F(PosixSlot, AFileThatCannotBeWrittenCanBeAskedButNotLocked) {
  const auto held = slot(5)();
  ASSERT_TRUE(held);
  ASSERT_EQ(chmod(path_.c_str(), 0444), 0);
  ASSERT_EQ(chmod(dir_.path().c_str(), 0755), 0);
  // Root may write everything; nobody may not.
  const bool is_root = geteuid() == 0;
  if (is_root && seteuid(65534) != 0) GTEST_SKIP() << "root cannot become another user here";
  const auto refused = slot(4)();
  const auto asked = posix_vfs().is_slot_locked(path_, 5);
  const bool is_in_reach = euidaccess(path_.c_str(), R_OK) == 0;
  if (is_root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  if (!is_in_reach) GTEST_SKIP() << "another user cannot reach " << dir_.path();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "taking slot 4: " + path_ + ": open for writing failed: Permission denied (EACCES)");
  ASSERT_TRUE(asked) << asked.error().message();
  EXPECT_TRUE(*asked);
}

}  // namespace
}  // namespace varve
