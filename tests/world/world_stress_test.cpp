// A game on real threads: everything at once for a moment, and then everything compared.
//
// Invariants checked:
// 1. What other threads hold (chunks, pinned generations) does not change under them, and
//    no edit is ever seen by half.
// 2. At the end the store has what the model has.
// The rest is for the sanitizers to see.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <mutex>
#include <random>

#include "world/stream_watch.h"

namespace varve::test {
namespace {

constexpr int kWorldSize = 48;
constexpr int kStepCount = 3000;
constexpr std::size_t kLast = kFlatChunkSize - 1;

void dawdle() {
  static std::atomic<std::uint32_t> count = 0;
  for (std::uint32_t i = (count += 7) % 23; i > 0; --i) std::this_thread::yield();
}

// Both ends of a chunk are always changed together.
bool is_whole(ByteView contents) { return contents[0] == contents[kLast]; }

// Threads that look at what the game gives them until there is no more.
class Readers {
 public:
  Readers() {
    for (std::thread& thread : threads_) thread = std::thread([this] { run(); });
  }
  ~Readers() { stop(); }

  void give(ChunkRef chunk) {
    const std::lock_guard lock(mutex_);
    if (chunks_.size() < 16) chunks_.push_back(std::move(chunk));
  }
  void give(std::unique_ptr<StoreView> view) {
    const std::lock_guard lock(mutex_);
    if (views_.size() < 4) views_.push_back(std::move(view));
  }
  void stop() {
    stopping_ = true;
    for (std::thread& thread : threads_)
      if (thread.joinable()) thread.join();
    views_.clear();
  }
  std::uint64_t torn_count() const { return torn_count_; }

 private:
  void run() {
    while (!stopping_) {
      ChunkRef chunk;
      std::unique_ptr<StoreView> view;
      {
        const std::lock_guard lock(mutex_);
        if (!chunks_.empty()) {
          chunk = std::move(chunks_.front());
          chunks_.pop_front();
        }
        if (!views_.empty()) {
          view = std::move(views_.front());
          views_.pop_front();
        }
      }
      if (chunk) look_at(chunk);
      if (view) look_at(*view);
      std::this_thread::yield();
    }
  }
  void look_at(const ChunkRef& chunk) {
    const std::byte before = chunk.as<RawChunk>().view()[0];
    for (int i = 0; i < 5; ++i) {
      const ByteView now = chunk.as<RawChunk>().view();
      if (!is_whole(now) || now[0] != before) ++torn_count_;
      std::this_thread::yield();
    }
  }
  void look_at(const StoreView& view) {
    const std::uint64_t generation = view.generation();
    for (int x = 0; x < kWorldSize; ++x) {
      const auto payload = view.read_chunk(ChunkPos(x));
      if (!payload || (*payload && !is_whole(**payload))) ++torn_count_;
    }
    if (view.generation() != generation) ++torn_count_;
  }

  std::mutex mutex_;
  std::deque<ChunkRef> chunks_;
  std::deque<std::unique_ptr<StoreView>> views_;
  std::atomic<bool> stopping_ = false;
  std::atomic<std::uint64_t> torn_count_ = 0;
  std::array<std::thread, 2> threads_;
};

class StressGame {
 public:
  StressGame() : flat_(options()), watch_(flat_) {
    flat_.control.before_read_chunk([](const ChunkPos&) -> Status {
      dawdle();
      return {};
    });
    flat_.control.after_read_entities_of([](const ChunkPos&) { dawdle(); });
    flat_.control.before_commit([this](const Commit&) -> Status {
      dawdle();
      if (++commit_count_ % 11 == 0) return io_error("now and then");
      return {};
    });
    flat_.control.after_commit([](const auto&) { dawdle(); });
  }

  void play() {
    for (int step = 0; step < kStepCount; ++step) play_step(step);
    readers_.stop();
    EXPECT_EQ(readers_.torn_count(), 0U);
  }

  void compare() {
    flat_.control.before_commit({});
    const Status closed = flat_.world->close();
    ASSERT_TRUE(closed) << closed.error().message();
    EXPECT_EQ(flat_.world->telemetry().dirty_record_count, 0U);
    flat_.crash_and_reopen();
    for (int x = 0; x < kWorldSize; ++x) {
      const auto known = cells_.find(x);
      const int expected = known == cells_.end() ? 7 : known->second;
      EXPECT_EQ(flat_.at(ChunkPos(x), 0), expected) << x;
      EXPECT_EQ(flat_.at(ChunkPos(x), kLast), expected) << x;
    }
    for (EntityId id = 0; id < kEntityCount; ++id) {
      const auto loaded = flat_.world->load_entity(id);
      ASSERT_TRUE(loaded);
      const auto known = entities_.find(id);
      EXPECT_EQ(*loaded,
                known == entities_.end() ? std::nullopt : std::optional<Entity>(known->second));
    }
  }

 private:
  static constexpr EntityId kEntityCount = 20;

  static WorldOptions options() {
    WorldOptions options = quiet_options();
    options.load_thread_count = 2;
    options.encode_thread_count = 2;
    options.memory_budget_size = 12 * 1100;
    return options;
  }

  int any(int end) { return std::uniform_int_distribution(0, end - 1)(random_); }

  void play_step(int step) {
    World& world = *flat_.world;
    const int centre = step / 8 % kWorldSize;
    if (step % 8 == 0) {
      ASSERT_TRUE(
          world.set_window(1, {.centre = ChunkPos(centre), .radius = {3}, .keep_margin = 1}));
    }
    if (step % 64 == 0) {
      ASSERT_TRUE(world.request(ChunkPos(any(kWorldSize)), any(10)));
    }
    const int x = std::clamp(centre + any(9) - 4, 0, kWorldSize - 1);
    edit(x, static_cast<std::uint8_t>(any(250)));
    if (any(6) == 0) move_entity(x);
    if (any(40) == 0) {
      ASSERT_TRUE(world.erase(ChunkPos(x)));
      cells_.erase(x);
    }
    if (any(20) == 0) world.evict(ChunkPos(x));
    if (any(25) == 0) (void)world.save();
    if (any(200) == 0) (void)world.save_to(fresh_memory_path());
    if (any(30) == 0) readers_.give(*world.pin());
    if (any(100) == 0) {
      ASSERT_TRUE(world.set_write_through({.enabled = any(2) == 0, .async_save_queue_size = 4}));
    }
    world.tick();
    watch_.update(any(10) == 0 ? 6 : 0.016);
    if (step % 16 == 0) check(any(kWorldSize));
  }

  void edit(int x, std::uint8_t value) {
    const ChunkRef here = flat_.world->get(ChunkPos(x));
    if (!here) return;
    EXPECT_TRUE(is_whole(here.as<RawChunk>().view()));
    if (any(3) == 0) readers_.give(here);
    const auto edited = flat_.world->edit<RawChunk>(ChunkPos(x), [&](RawChunk& chunk) {
      const std::byte byte{value};
      EXPECT_TRUE(chunk.set(0, {&byte, 1}));
      EXPECT_TRUE(chunk.set(kLast, {&byte, 1}));
    });
    ASSERT_TRUE(edited);
    cells_[x] = value;
  }

  void move_entity(int x) {
    const auto id = static_cast<EntityId>(any(kEntityCount));
    if (any(8) == 0) {
      ASSERT_TRUE(flat_.world->erase_entity(id));
      entities_.erase(id);
      return;
    }
    const Entity put{.id = id, .owner = ChunkPos(x), .data = text(std::to_string(any(1000)))};
    ASSERT_TRUE(flat_.world->put_entity(put));
    entities_[id] = put;
  }

  void check(int x) {
    if (const ChunkRef here = flat_.world->get(ChunkPos(x))) {
      const auto known = cells_.find(x);
      ASSERT_EQ(static_cast<int>(here.as<RawChunk>().view()[0]),
                known == cells_.end() ? 7 : known->second);
    }
    for (const Entity& entity : flat_.world->entities_in(ChunkPos(x)))
      ASSERT_EQ(entity, entities_.at(entity.id));
  }

  std::atomic<std::uint64_t> commit_count_ = 0;
  FlatWorld flat_;
  StreamWatch watch_;
  Readers readers_;
  std::mt19937 random_{1};
  std::map<int, int> cells_;
  std::map<EntityId, Entity> entities_;
};

TEST(WorldStress, EverythingAtOnceEndsAsTheModelSays) {
  StressGame game;
  game.play();
  game.compare();
}

}  // namespace
}  // namespace varve::test
