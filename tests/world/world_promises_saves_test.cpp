// What the headers promise about a save: who does its work, what its handle says, how long it took,
// which memory it uses.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "world/stream_watch.h"

namespace varve::test {
namespace {

using namespace std::chrono_literals;

constexpr ChunkPos kHere(1, 2);
constexpr ChunkPos kThere(3, 4);

// A chunk that is encoded as the test says.
class ProbeChunk final : public Chunk {
 public:
  using Encode = std::function<Result<Bytes>(BufferPool&)>;
  explicit ProbeChunk(Encode encode) : encode_(std::move(encode)) {}

  Result<Bytes> encode(BufferPool& pool) const override { return encode_(pool); }
  std::unique_ptr<Chunk> clone() const override { return std::make_unique<ProbeChunk>(encode_); }
  Result<bool> apply(ByteView) override { return invalid_argument("a probe is not edited"); }
  std::size_t memory_size() const override { return sizeof(*this); }

 private:
  Encode encode_;
};

// --- Priority -----------------------------------------------------------------------------------

int nice_level_of_this_thread() { return getpriority(PRIO_PROCESS, static_cast<id_t>(gettid())); }

// Whether a thread may step behind those that run as this one does.
bool threads_can_be_nicer() {
  bool can = false;
  std::thread probe([&can, own = nice_level_of_this_thread()] {
    can = setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), own + 1) == 0 &&
          nice_level_of_this_thread() == own + 1;
  });
  probe.join();
  return can;
}

TEST(WorldPromises, SavesRunBehindTheGame) {
  if (!threads_can_be_nicer()) GTEST_SKIP() << "this system does not let a thread be nicer";
  const int own = nice_level_of_this_thread();
  // Neither encode() returns before both run, so that they run on two threads.
  Gate gate;
  std::mutex mutex;
  std::map<pid_t, int> encoding;
  std::map<pid_t, int> committing;
  FlatWorld flat({.encode_thread_count = 1});
  GateOpener opener(gate);
  const auto note = [&mutex](std::map<pid_t, int>& levels) {
    const std::lock_guard lock(mutex);
    levels[gettid()] = nice_level_of_this_thread();
  };
  flat.control.before_commit([&](const Commit&) { return note(committing), Status(); });
  for (const ChunkPos& pos : {kHere, kThere}) {
    ASSERT_TRUE(flat.world->put(pos, std::make_unique<ProbeChunk>([&](BufferPool&) {
                                  note(encoding);
                                  gate.pass();
                                  return text("probe");
                                })));
  }
  SaveHandle save = flat.world->save();
  gate.wait_for_arrivals(2);
  gate.open();
  ASSERT_TRUE(save.wait());
  EXPECT_EQ(encoding.size(), 2U);
  EXPECT_EQ(committing.size(), 1U);
  for (const auto& levels : {encoding, committing}) {
    EXPECT_FALSE(levels.contains(gettid())) << "the game thread did a save's work";
    for (const auto& [thread, level] : levels) EXPECT_GT(level, own);
  }
  EXPECT_EQ(nice_level_of_this_thread(), own) << "the game is as it was";
}

// --- Handles and times --------------------------------------------------------------------------

TEST(WorldPromises, AHandleThatWasWaitedForSaysSoInEveryWay) {
  FlatWorld flat;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  HeldCommits held(flat.control);
  SaveHandle save = flat.world->save();
  held.wait_until_one_is_held();
  EXPECT_FALSE(save.is_durable());
  EXPECT_FALSE(save.is_stored());
  EXPECT_FALSE(save.is_done());
  EXPECT_FALSE(save.wait_for(0ms));
  EXPECT_FALSE(save.result());
  held.release();
  ASSERT_TRUE(save.wait());
  EXPECT_TRUE(save.is_durable());
  EXPECT_TRUE(save.is_stored());
  EXPECT_TRUE(save.is_done());
  EXPECT_TRUE(save.wait_for(0ms));
  ASSERT_TRUE(save.result());
  EXPECT_TRUE(*save.result());
  EXPECT_EQ(flat.stored_at(kHere, 0), 1) << "stored means in the save itself";

  ASSERT_TRUE(flat.set(kHere, 0, 2));
  flat.control.before_commit([](const Commit&) { return Status(io_error("it failed")); });
  SaveHandle failed = flat.world->save();
  ASSERT_FALSE(failed.wait());
  EXPECT_TRUE(failed.is_done());
  EXPECT_TRUE(failed.wait_for(0ms));
  EXPECT_FALSE(failed.is_durable());
  EXPECT_FALSE(failed.is_stored());
}

TEST(WorldPromises, TheTimeOfEncodingIsReported) {
  Gate gate;
  FlatWorld flat;
  GateOpener opener(gate);
  ASSERT_TRUE(flat.world->put(kHere, std::make_unique<ProbeChunk>([&](BufferPool&) {
                                gate.pass();
                                return text("probe");
                              })));
  SaveHandle save = flat.world->save();
  gate.wait_for_arrivals(1);
  EXPECT_EQ(flat.control.commit_count, 0U) << "it still encodes";
  gate.open();
  const auto report = save.wait();
  ASSERT_TRUE(report);
  EXPECT_GT(report->encode_time.count(), 0);
  EXPECT_GT(report->commit_time.count(), 0);
}

TEST(WorldPromises, TheTimeBehindAnotherSaveIsReported) {
  FlatWorld flat;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  HeldCommits held(flat.control);
  SaveHandle whole = flat.world->save();
  held.wait_until_one_is_held();
  ASSERT_TRUE(flat.world->put_player("anna", text("a")));
  SaveHandle left = flat.world->player_left("anna");
  EXPECT_FALSE(left.wait_for(0ms));
  EXPECT_EQ(flat.control.commit_count, 1U) << "the second one waits";
  held.release();
  ASSERT_TRUE(whole.wait());
  const auto report = left.wait();
  ASSERT_TRUE(report);
  EXPECT_GT(report->queued_time.count(), 0);
}

// --- Buffers ------------------------------------------------------------------------------------

// A block that comes from the pool is as large as what it was made for, one that is new as
// large as what is asked for now. Addresses would not tell: an allocator gives them again.
TEST(WorldPromises, ALaterSaveEncodesIntoTheBlockOfAnEarlierOne) {
  std::size_t capacity = 0;
  FlatWorld flat({.autosave = AutosaveConfig{.max_backups = 0}});
  constexpr std::size_t kLarge = 4096;
  const auto capacity_of_a_save_of = [&](std::size_t size, int fill) {
    capacity = 0;
    EXPECT_TRUE(
        flat.world->put(kHere, std::make_unique<ProbeChunk>([&, size, fill](BufferPool& pool) {
                          Buffer block = pool.take(size);
                          capacity = block.capacity();
                          std::memset(block.data(), fill, block.size());
                          return pool.share(std::move(block));
                        })));
    EXPECT_TRUE(flat.world->save().wait());
    const auto stored = flat.world->store().read_chunk(kHere);
    EXPECT_EQ((**stored).size(), size);
    EXPECT_EQ(static_cast<int>((**stored).view()[size - 1]), fill);
    return capacity;
  };
  // This store keeps the bytes themselves until the next save replaces them: so two
  // blocks take turns.
  EXPECT_EQ(capacity_of_a_save_of(kLarge, 1), kLarge);
  EXPECT_EQ(capacity_of_a_save_of(kLarge, 2), kLarge);
  for (int i = 3; i <= 10; ++i)
    EXPECT_EQ(capacity_of_a_save_of(kLarge - static_cast<std::size_t>(i), i), kLarge) << i;
}

}  // namespace
}  // namespace varve::test
