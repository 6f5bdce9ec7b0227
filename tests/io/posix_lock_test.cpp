// One writing process per save.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "io/vfs.h"
#include "support/scratch_dir.h"

namespace varve {
namespace {

// A child that takes the lock, says so, and waits to be killed.
class Holder {
 public:
  explicit Holder(const std::string& path) {
    int ready[2];
    if (pipe(ready) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      const auto lock = posix_vfs().lock_writer(path);
      const char answer = lock ? 'y' : 'n';
      if (write(ready[1], &answer, 1) == 1) pause();
      _exit(0);
    }
    char answer = 'n';
    has_lock_ = read(ready[0], &answer, 1) == 1 && answer == 'y';
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~Holder() { kill_now(); }

  void kill_now() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  bool has_lock() const { return has_lock_; }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
  bool has_lock_ = false;
};

TEST(PosixLock, ASecondProcessIsToldWhoHoldsIt) {
  const test::ScratchDir dir;
  Holder holder(dir.file("lock"));
  ASSERT_TRUE(holder.has_lock());
  const auto lock = posix_vfs().lock_writer(dir.file("lock"));
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code(), ErrorCode::busy);
  const std::string who =
      "held for writing by process " + std::to_string(holder.pid()) + " (test_io";
  EXPECT_NE(lock.error().message().find(who), std::string::npos) << lock.error().message();
}

TEST(PosixLock, ADeadHolderIsNoObstacle) {
  const test::ScratchDir dir;
  Holder holder(dir.file("lock"));
  ASSERT_TRUE(holder.has_lock());
  holder.kill_now();
  const auto lock = posix_vfs().lock_writer(dir.file("lock"));
  EXPECT_TRUE(lock) << lock.error().message();
}

TEST(PosixLock, AForkedChildDoesNotKeepIt) {
  const test::ScratchDir dir;
  auto lock = posix_vfs().lock_writer(dir.file("lock"));
  ASSERT_TRUE(lock);
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  lock->reset();
  EXPECT_TRUE(posix_vfs().lock_writer(dir.file("lock")));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(PosixLock, AForkedChildThatEndsDoesNotReleaseIt) {
  const test::ScratchDir dir;
  auto lock = posix_vfs().lock_writer(dir.file("lock"));
  ASSERT_TRUE(lock);
  const pid_t child = fork();
  if (child == 0) {
    lock->reset();  // As exit() does for a static.
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(posix_vfs().lock_writer(dir.file("lock")).error().code(), ErrorCode::busy);
}

TEST(PosixLock, ALinkIsNotWrittenThrough) {
  const test::ScratchDir dir;
  ASSERT_TRUE(
      (*posix_vfs().open(dir.file("precious"), OpenMode::create))->append(as_byte_view("data")));
  ASSERT_EQ(symlink("precious", dir.file("lock").c_str()), 0);
  EXPECT_EQ(posix_vfs().lock_writer(dir.file("lock")).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ((*posix_vfs().open(dir.file("precious"), OpenMode::read))->read_all(10)->text(),
            "data");
}

TEST(PosixLock, ReadersNeedNone) {
  const test::ScratchDir dir;
  ASSERT_TRUE((*posix_vfs().open(dir.file("world"), OpenMode::create))->append(as_byte_view("w")));
  Holder holder(dir.file("lock"));
  ASSERT_TRUE(holder.has_lock());
  const auto file = posix_vfs().open(dir.file("world"), OpenMode::read);
  ASSERT_TRUE(file);
  EXPECT_EQ((*file)->read_all(10)->text(), "w");
}

TEST(PosixLock, WhatStandsInTheLockFileIsPrintedSafely) {
  const test::ScratchDir dir;
  const auto lock = posix_vfs().lock_writer(dir.file("lock"));
  ASSERT_TRUE(lock);
  const auto file = posix_vfs().open(dir.file("lock"), OpenMode::replace);
  ASSERT_TRUE((*file)->append(as_byte_view(std::string(5000, '\x1b'))));
  const auto second = posix_vfs().lock_writer(dir.file("lock"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message().find('\x1b'), std::string::npos);
  EXPECT_LT(second.error().message().size(), 1000u);
}

}  // namespace
}  // namespace varve
