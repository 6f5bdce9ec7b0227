// One writing process per save.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "io/lock_holder.h"
#include "io/vfs.h"
#include "support/scratch_dir.h"

namespace varve {
namespace {

using test::LockHolder;

auto writer_of(const std::string& path) {
  return [path] { return posix_vfs().lock_writer(path); };
}

TEST(PosixLock, ASecondProcessIsToldWhoHoldsIt) {
  const test::ScratchDir dir;
  LockHolder holder(writer_of(dir.file("lock")));
  ASSERT_TRUE(holder.has_lock());
  const auto lock = posix_vfs().lock_writer(dir.file("lock"));
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code(), ErrorCode::busy);
  const std::string who =
      "held for writing by process " + std::to_string(holder.pid()) + " (test_io";
  EXPECT_NE(lock.error().message().find(who), std::string::npos) << lock.error().message();
}

TEST(PosixLock, WritersAreKeptOutByAnyNumberWhoNeedNoRightToWrite) {
  const test::ScratchDir dir;
  const std::string path = dir.file("lock");
  EXPECT_EQ(posix_vfs().lock_writers_out(path).error().code(), ErrorCode::not_found);
  {
    const auto writer = posix_vfs().lock_writer(path);
    ASSERT_TRUE(writer);
    const auto refused = posix_vfs().lock_writers_out(path);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::busy);
    EXPECT_NE(refused.error().message().find("held for writing by process"), std::string::npos)
        << refused.error().message();
  }
  ASSERT_EQ(chmod(path.c_str(), 0400), 0);
  auto one = posix_vfs().lock_writers_out(path);
  ASSERT_TRUE(one) << one.error().message();
  LockHolder other([path] { return posix_vfs().lock_writers_out(path); });
  ASSERT_TRUE(other.has_lock());
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  const auto writer = posix_vfs().lock_writer(path);
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().code(), ErrorCode::busy);
  EXPECT_NE(writer.error().message().find("somebody who reads it"), std::string::npos)
      << writer.error().message();
  one->reset();
  EXPECT_EQ(posix_vfs().lock_writer(path).error().code(), ErrorCode::busy);
  other.kill_now();
  EXPECT_TRUE(posix_vfs().lock_writer(path));
}

TEST(PosixLock, ADeadHolderIsNoObstacle) {
  const test::ScratchDir dir;
  LockHolder holder(writer_of(dir.file("lock")));
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
  LockHolder holder(writer_of(dir.file("lock")));
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
