// Bad days of the disk: each a clear error, and nothing lost.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/sim/sim_disk.h"
#include "support/scratch_dir.h"
#include "world/flat_on_disk.h"

namespace varve::test {
namespace {

constexpr ChunkPos kHere(1, 2);
constexpr ChunkPos kThere(3, 4);

// Every operation of a save fails in turn; the world keeps everything and the next save
// has it.
TEST(WorldBadDays, ASaveThatFailsHalfWayLosesNothing) {
  for (const ErrorCode code : {ErrorCode::io, ErrorCode::out_of_space}) {
    for (std::uint64_t failing = 1;; ++failing) {
      sim::SimDisk disk;
      auto opened = create_on(disk, "save");
      ASSERT_TRUE(opened) << opened.error().message();
      World& world = **opened;
      set(world, kHere, 1);
      ASSERT_TRUE(world.save().wait());
      set(world, kHere, 2);
      set(world, kThere, 2);
      const std::uint64_t before = disk.op_count();
      disk.set_fault(sim::Fault{.op_number = before + failing, .code = code});
      const auto saved = world.save().wait();
      disk.set_fault({});
      if (saved && disk.op_count() < before + failing) break;  // nothing was left to fail
      if (!saved) {
        EXPECT_EQ(world.state(kHere), ChunkState::dirty);
        EXPECT_EQ(world.state(kThere), ChunkState::dirty);
        EXPECT_EQ(world.telemetry().last_error->message(), saved.error().message());
      }
      EXPECT_EQ(get(world, kHere), 2);
      const auto again = world.save().wait();
      ASSERT_TRUE(again) << again.error().message();
      ASSERT_TRUE(world.close());
      auto reopened = open_on(disk, "save");
      ASSERT_TRUE(reopened) << reopened.error().message();
      EXPECT_EQ(get(**reopened, kHere), 2);
      EXPECT_EQ(get(**reopened, kThere), 2);
    }
  }
}

TEST(WorldBadDays, AFullDiskIsSaidAndTheNextSaveWithRoomHasEverything) {
  sim::SimDisk disk;
  auto opened = create_on(disk, "save");
  ASSERT_TRUE(opened);
  World& world = **opened;
  set(world, kHere, 1);
  ASSERT_TRUE(world.save().wait());
  disk.set_capacity(3 * kFlatChunkSize);
  for (int x = 0; x < 20; ++x) set(world, {x, 9}, 5);
  const auto saved = world.save().wait();
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code(), ErrorCode::out_of_space);
  EXPECT_EQ(world.telemetry().dirty_chunk_count, 20U);
  // Closing does not throw it away either.
  const Status closed = world.close();
  ASSERT_FALSE(closed);
  EXPECT_NE(closed.error().message().find("stays open"), std::string::npos);
  EXPECT_EQ(get(world, {7, 9}), 5);
  disk.set_capacity(1 << 20);
  ASSERT_TRUE(world.close());
  auto reopened = open_on(disk, "save");
  ASSERT_TRUE(reopened);
  for (int x = 0; x < 20; ++x) EXPECT_EQ(get(**reopened, {x, 9}), 5);
  EXPECT_EQ(get(**reopened, kHere), 1);
}

// Root may write anywhere, so a test that runs as root steps down for a while.
class Unprivileged {
 public:
  explicit Unprivileged(const std::string& dir) : root_(geteuid() == 0) {
    if (!root_) return;
    stepped_down_ = chown(dir.c_str(), kNobody, kNobody) == 0 && seteuid(kNobody) == 0;
  }
  ~Unprivileged() { step_up(); }
  bool works() const { return !root_ || stepped_down_; }
  void step_up() {
    if (stepped_down_) {
      EXPECT_EQ(seteuid(0), 0);
    }
    stepped_down_ = false;
  }

 private:
  static constexpr uid_t kNobody = 65534;
  bool root_;
  bool stepped_down_ = false;
};

TEST(WorldBadDays, AReadOnlyDirectoryFailsTheSaveAndNothingElse) {
  const ScratchDir dir;
  Unprivileged user(dir.path());
  if (!user.works()) GTEST_SKIP() << "this user can neither step down nor be kept from writing";
  auto opened = create_on(posix_vfs(), dir.file("save"));
  ASSERT_TRUE(opened) << opened.error().message();
  World& world = **opened;
  set(world, kHere, 1);
  ASSERT_TRUE(world.save().wait());
  ASSERT_EQ(chmod(dir.path().c_str(), 0555), 0);
  set(world, kHere, 2);
  const auto saved = world.save().wait();
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code(), ErrorCode::io);
  EXPECT_NE(saved.error().message().find(dir.path()), std::string::npos) << saved.error().message();
  EXPECT_EQ(get(world, kHere), 2);
  EXPECT_FALSE(create_on(posix_vfs(), dir.file("other")));
  ASSERT_EQ(chmod(dir.path().c_str(), 0755), 0);
  ASSERT_TRUE(world.close());
  auto reopened = open_on(posix_vfs(), dir.file("save"));
  ASSERT_TRUE(reopened);
  EXPECT_EQ(get(**reopened, kHere), 2);
}

TEST(WorldBadDays, ASaveDeletedUnderneathIsSaidAndTheWorldCanBeSavedElsewhere) {
  register_once(std::make_unique<OneFileFormat>(posix_vfs()));
  const ScratchDir dir;
  auto opened = create_on(posix_vfs(), dir.file("save"));
  ASSERT_TRUE(opened);
  World& world = **opened;
  set(world, kHere, 1);
  ASSERT_TRUE(world.save().wait());
  set(world, kThere, 2);
  ASSERT_EQ(unlink(dir.file("save").c_str()), 0);
  const auto saved = world.save().wait();
  ASSERT_FALSE(saved);
  EXPECT_NE(saved.error().message().find(dir.file("save")), std::string::npos);
  EXPECT_FALSE(world.close());
  const auto copied = world.save_to(dir.file("rescued")).wait();
  ASSERT_TRUE(copied) << copied.error().message();
  ASSERT_TRUE(world.close(World::Unsaved::discard));
  auto rescued = World::open(dir.file("rescued"), flat_options());
  ASSERT_TRUE(rescued) << rescued.error().message();
  EXPECT_EQ(get(**rescued, kHere), 1);
  EXPECT_EQ(get(**rescued, kThere), 2);
}

TEST(WorldBadDays, ASecondProcessIsToldWhoHasTheWorld) {
  const ScratchDir dir;
  int ready[2];
  int leave[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(leave), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    close(leave[1]);
    auto store = OneFileStore::create(posix_vfs(), dir.file("save"));
    char byte = store ? 'y' : 'n';
    if (write(ready[1], &byte, 1) != 1) _exit(2);
    if (read(leave[0], &byte, 1) != 0) _exit(3);
    _exit(0);
  }
  close(leave[0]);
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  const auto opened = open_on(posix_vfs(), dir.file("save"));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::busy);
  EXPECT_NE(opened.error().message().find(std::to_string(child)), std::string::npos)
      << opened.error().message();
  close(leave[1]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(open_on(posix_vfs(), dir.file("save"))) << "its end frees the world";
}

// A format whose saves cannot be renamed, on a disk that lives as long as it does.
class UnrenamableFormat final : public Format {
 public:
  static sim::SimDisk& disk() {
    static sim::SimDisk disk;
    return disk;
  }
  std::string_view name() const override { return "unrenamable"; }
  Result<bool> detect(std::string_view path) const override { return inner_.detect(path); }
  Result<std::unique_ptr<Store>> open(std::string_view path) const override {
    return inner_.open(path);
  }
  Result<std::unique_ptr<Store>> create(std::string_view path) const override {
    return inner_.create(path);
  }
  Status rename(std::string_view from, std::string_view) const override {
    return io_error("renaming " + std::string(from) + " failed");
  }
  Status remove(std::string_view path) const override { return inner_.remove(path); }

 private:
  OneFileFormat inner_{disk()};
};

TEST(WorldBadDays, ACopyThatFailsLeavesNothingBehind) {
  register_once(std::make_unique<UnrenamableFormat>());
  sim::SimDisk disk;
  auto opened = create_on(disk, "save");
  ASSERT_TRUE(opened);
  World& world = **opened;
  set(world, kHere, 1);
  const auto copied = world.save_to("copy", "unrenamable").wait();
  ASSERT_FALSE(copied);
  EXPECT_NE(copied.error().message().find("copy"), std::string::npos);
  EXPECT_FALSE(*UnrenamableFormat::disk().exists("copy"));
  EXPECT_FALSE(*UnrenamableFormat::disk().exists("copy.unfinished-copy"));
  EXPECT_EQ(world.state(kHere), ChunkState::dirty);
  ASSERT_TRUE(world.save().wait());
}

}  // namespace
}  // namespace varve::test
