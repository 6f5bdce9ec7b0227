// What is the memory store's own; all it shares with other stores is in tests/contract.
#include "store/memory_store.h"

#include <gtest/gtest.h>

#include <atomic>

#include "varve/format.h"

namespace varve {
namespace {

const Format& memory() { return **find_format("memory"); }

std::unique_ptr<Store> create(std::string_view path) {
  auto store = memory().create(path);
  EXPECT_TRUE(store) << store.error().message();
  return *std::move(store);
}

Result<CommitStats> commit(Store& store, const Commit& commit) {
  Progress progress;
  return store.commit(commit, progress);
}

// Bytes that count how many of them there are.
class Counted {
 public:
  Bytes make(std::string_view text) {
    const Bytes bytes = Bytes::copy_of(text);
    ++*count_;
    const std::shared_ptr<const void> owner(count_.get(),
                                            [count = count_, bytes](const void*) { --*count; });
    return Bytes::pinning(owner, bytes);
  }
  int alive() const { return *count_; }

 private:
  std::shared_ptr<std::atomic<int>> count_ = std::make_shared<std::atomic<int>>(0);
};

TEST(MemoryStore, OverwritingKeepsOneVersion) {
  Counted counted;
  const auto store = create("memory:overwritten");
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    const std::string text = "version " + std::to_string(i);
    ASSERT_TRUE(commit(*store, {.tick = i,
                                .chunks = {{ChunkPos(1, 2), counted.make(text)}},
                                .players = {{"ann", counted.make(text)}}}));
  }
  EXPECT_EQ(counted.alive(), 2);
}

TEST(MemoryStore, APinHoldsItsVersionAndNoOther) {
  Counted counted;
  const auto store = create("memory:pinned");
  std::unique_ptr<StoreView> pin;
  for (std::uint64_t i = 1; i <= 100; ++i) {
    ASSERT_TRUE(
        commit(*store, {.tick = i, .chunks = {{ChunkPos(1), counted.make(std::to_string(i))}}}));
    if (i == 50) pin = store->pin().value();
  }
  EXPECT_EQ(counted.alive(), 2);
  EXPECT_EQ(pin->read_chunk(ChunkPos(1)).value()->text(), "50");
  pin.reset();
  EXPECT_EQ(counted.alive(), 1);
}

TEST(MemoryStore, ErasedRecordsAreFreed) {
  Counted counted;
  const auto store = create("memory:erased");
  ASSERT_TRUE(commit(*store, {.tick = 1, .chunks = {{ChunkPos(1), counted.make("x")}}}));
  ASSERT_TRUE(commit(*store, {.tick = 2, .chunks = {{ChunkPos(1), {}}}}));
  EXPECT_EQ(counted.alive(), 0);
}

TEST(MemoryStore, BackupsHoldTheirVersionsUntilTheyDropOff) {
  Counted counted;
  const auto store = create("memory:backed up");
  for (std::uint64_t i = 1; i <= 10; ++i) {
    ASSERT_TRUE(commit(*store, {.tick = i,
                                .chunks = {{ChunkPos(1), counted.make(std::to_string(i))}},
                                .backup_count = 3}));
  }
  EXPECT_EQ(counted.alive(), 4);
  ASSERT_TRUE(commit(*store, {.tick = 11, .backup_count = 0}));
  EXPECT_EQ(counted.alive(), 1);
}

TEST(MemoryStore, RemovingASaveFreesItAndItsBackups) {
  Counted counted;
  {
    const auto store = create("memory:removed");
    for (std::uint64_t i = 1; i <= 3; ++i) {
      ASSERT_TRUE(commit(
          *store,
          {.tick = i, .globals = {{"x", counted.make(std::to_string(i))}}, .backup_count = 2}));
    }
    EXPECT_EQ(memory().remove("memory:removed").error().code(), ErrorCode::busy);
  }
  ASSERT_TRUE(memory().remove("memory:removed"));
  EXPECT_EQ(counted.alive(), 0);
  EXPECT_EQ(memory().open("memory:removed").error().code(), ErrorCode::not_found);
  EXPECT_EQ(memory().open("memory:removed.backup").error().code(), ErrorCode::not_found);
}

TEST(MemoryStore, ASaveLivesOnWithoutAStore) {
  create("memory:lives on").reset();
  EXPECT_TRUE(memory().detect("memory:lives on").value());
  EXPECT_TRUE(memory().open("memory:lives on"));
}

TEST(MemoryStore, ABackupIsASaveOfItsOwn) {
  const auto store = create("memory:with backup");
  ASSERT_TRUE(commit(*store, {.tick = 1, .globals = {{"x", Bytes::copy_of("1")}}}));
  ASSERT_TRUE(
      commit(*store, {.tick = 2, .globals = {{"x", Bytes::copy_of("2")}}, .backup_count = 2}));
  const auto backup = memory().open("memory:with backup.backup").value();
  EXPECT_EQ(backup->tick(), 1u);
  EXPECT_EQ(memory().open("memory:with backup.backup").error().code(), ErrorCode::busy);
  // It is written without a trace in its save, and moves on while it is open.
  ASSERT_TRUE(commit(*backup, {.tick = 1, .globals = {{"x", Bytes::copy_of("changed")}}}));
  EXPECT_EQ(store->read_global("x").value()->text(), "2");
  ASSERT_TRUE(commit(*store, {.tick = 3, .backup_count = 2}));
  ASSERT_TRUE(backup->close());
  const auto moved = memory().open("memory:with backup.backup.2").value();
  EXPECT_EQ(moved->read_global("x").value()->text(), "changed");
}

TEST(MemoryStore, ABackupThatIsRenamedIsRestored) {
  {
    const auto store = create("memory:broken");
    ASSERT_TRUE(commit(*store, {.tick = 1, .globals = {{"x", Bytes::copy_of("good")}}}));
    ASSERT_TRUE(commit(*store, {.tick = 2, .globals = {{"x", {}}}, .backup_count = 1}));
  }
  ASSERT_TRUE(memory().rename("memory:broken.backup", "memory:restored"));
  EXPECT_EQ(memory().open("memory:broken.backup").error().code(), ErrorCode::not_found);
  EXPECT_EQ(memory().open("memory:restored").value()->read_global("x").value()->text(), "good");
}

TEST(MemoryStore, NamesOfBackupsCannotBeTaken) {
  const auto taken = memory().create("memory:anything.backup");
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code(), ErrorCode::invalid_argument);
  EXPECT_FALSE(memory().create("memory:anything.backup.2"));
  EXPECT_TRUE(memory().create("memory:anything.backup.x"));
  EXPECT_TRUE(memory().create("memory:.backup"));
}

TEST(MemoryStore, BadPathsAreRefused) {
  EXPECT_FALSE(memory().create("memory:"));
  EXPECT_FALSE(memory().create("/a/path"));
  EXPECT_FALSE(memory().open("memory:" + std::string(100'000, 'x')));
  EXPECT_FALSE(memory().detect("memory:" + std::string(100'000, 'x')).value());
  EXPECT_FALSE(memory().detect("/a/path").value());
}

TEST(MemoryStore, SaysWhatItIs) {
  const auto store = create("memory:self");
  EXPECT_FALSE(store->capabilities().durable);
  EXPECT_EQ(store->capabilities().format, "memory");
  EXPECT_EQ(store->defaults().max_backups, 1u);
  EXPECT_EQ(store->defaults().autosave_interval_s, 300);
}

}  // namespace
}  // namespace varve
