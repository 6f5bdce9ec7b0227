// What a journal does on ordinary days and on bad ones.
#include <gtest/gtest.h>

#include <map>

#include "io/path.h"
#include "io/sim/sim_disk.h"
#include "journal/engine.h"
#include "journal/tick_log.h"

namespace varve::test {
namespace {

using journal::open_storage;

constexpr std::string_view kPath = "journal";

StorageConfig small_config() {
  StorageConfig config;
  config.wal_segment_size = 4096;
  config.snapshot_policy = {.kind = SnapshotPolicy::Kind::manual};
  config.sync_mode = {.kind = Durability::Kind::every_commit};
  return config;
}

class Engine : public testing::Test {
 protected:
  Result<std::unique_ptr<StorageEngine>> try_open() {
    return open_storage(disk_, kPath, config_, {.background = false, .seed = 3});
  }
  void open() {
    auto opened = try_open();
    ASSERT_TRUE(opened) << opened.error().message();
    engine_ = *std::move(opened);
  }
  void close() {
    ASSERT_TRUE(engine_->close());
    engine_.reset();
  }
  // Without a close, as after kill -9.
  void drop() { engine_.reset(); }
  // One entity more, which knows its tick, and some bytes that take room.
  TickMutations tick_of(std::uint64_t tick) {
    TickRecorder recorder;
    const EntityId entity = engine_->state().next_entity().value();
    recorder.spawn(entity, ChunkPos(static_cast<std::int32_t>(tick), -1));
    recorder.insert(entity, kWholeEntity, Bytes::copy_of(std::to_string(tick)));
    std::string noise(300, '\0');
    for (std::size_t i = 0; i < noise.size(); ++i)
      noise[i] = static_cast<char>((i * 7919 + tick) * 2654435761u >> 13);
    recorder.put_global("noise", Bytes::copy_of(noise));
    return recorder.take();
  }
  void commit(std::uint64_t tick) {
    const Status committed = engine_->commit_tick(tick, tick_of(tick));
    ASSERT_TRUE(committed) << committed.error().message();
    digests_[tick] = engine_->state().digest();
  }
  void commit_through(std::uint64_t last) {
    for (std::uint64_t tick = engine_->latest_tick().value_or(0) + 1; tick <= last; ++tick)
      commit(tick);
  }
  void expect_history(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t tick = first; tick <= last; ++tick) {
      const auto state = engine_->recover(tick);
      ASSERT_TRUE(state) << tick << ": " << state.error().message();
      EXPECT_EQ(state->digest(), digests_[tick]) << tick;
    }
  }
  std::vector<std::string> segments() {
    std::vector<std::string> found;
    const std::vector<DirEntry> entries = disk_.list(path_join(kPath, "log")).value();
    for (const DirEntry& entry : entries) {
      if (entry.name.ends_with(".wal"))
        found.push_back(path_join(path_join(kPath, "log"), entry.name));
    }
    return found;
  }
  void flip_byte(const std::string& path, std::uint64_t offset) {
    auto file = disk_.open(path, OpenMode::write).value();
    std::byte byte;
    ASSERT_TRUE(file->read_exactly(offset, {&byte, 1}));
    byte ^= std::byte{0x20};
    ASSERT_TRUE(file->write_at(offset, ByteView(&byte, 1)));
  }

  // Its bytes, where they lie.
  void damage_last_snapshot() {
    const std::string folder = path_join(kPath, "snapshots");
    bool is_flipped = false;
    const std::vector<DirEntry> entries = disk_.list(folder).value();
    for (const DirEntry& entry : entries) {
      if (!entry.name.ends_with(".log")) continue;
      const std::string path = path_join(folder, entry.name);
      const Bytes all = disk_.open(path, OpenMode::read).value()->read_all(1 << 24).value();
      const std::size_t at = all.text().rfind("RGBSNAP");
      if (at == std::string_view::npos) continue;
      flip_byte(path, at + 50);
      is_flipped = true;
    }
    ASSERT_TRUE(is_flipped);
  }

  sim::SimDisk disk_;
  StorageConfig config_ = small_config();
  std::unique_ptr<StorageEngine> engine_;
  std::map<std::uint64_t, std::uint64_t> digests_;
};

TEST_F(Engine, AnEmptyOneHasNoTick) {
  open();
  EXPECT_EQ(engine_->latest_tick(), std::nullopt);
  EXPECT_EQ(engine_->durable_tick(), std::nullopt);
  EXPECT_EQ(engine_->oldest_tick(), std::nullopt);
  EXPECT_EQ(engine_->recover(0).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(engine_->create_snapshot().error().code(), ErrorCode::invalid_argument);
  close();
  open();
  EXPECT_EQ(engine_->latest_tick(), std::nullopt);
}

TEST_F(Engine, EveryTickIsThereAfterItWasDroppedAndIsItself) {
  open();
  commit_through(40);
  EXPECT_EQ(engine_->durable_tick(), 40u);
  drop();
  open();
  EXPECT_EQ(engine_->latest_tick(), 40u);
  EXPECT_EQ(engine_->state().digest(), digests_[40]);
  expect_history(1, 40);
  EXPECT_GE(segments().size(), 3u) << "the log was rotated";
}

TEST_F(Engine, SnapshotsAreStartedFromAndTheAllocatorIsInThem) {
  open();
  commit_through(10);
  TickRecorder recorder;
  recorder.despawn(make_entity(3, 0));
  recorder.despawn(make_entity(5, 0));
  ASSERT_TRUE(engine_->commit_tick(11, recorder.take()));
  digests_[11] = engine_->state().digest();
  EXPECT_EQ(engine_->create_snapshot().value(), 11u);
  EXPECT_EQ(engine_->create_snapshot().value(), 11u) << "there is one already";
  ASSERT_EQ(engine_->snapshots().size(), 1u);
  close();
  // Without a byte of the log.
  for (const std::string& path : segments()) ASSERT_TRUE(disk_.remove(path));
  auto opened = try_open();
  ASSERT_TRUE(opened) << opened.error().message();
  EXPECT_FALSE((*opened)->report().problems.empty()) << "ticks before the snapshot are lost";
  EXPECT_EQ((*opened)->state().digest(), digests_[11]);
  EXPECT_EQ((*opened)->state().next_entity().value(), make_entity(3, 1));
  EXPECT_EQ((*opened)->recover(5).error().code(), ErrorCode::not_found);
}

TEST_F(Engine, ASnapshotThatIsDamagedIsPassedOver) {
  open();
  commit_through(5);
  ASSERT_TRUE(engine_->create_snapshot());
  commit_through(10);
  ASSERT_TRUE(engine_->create_snapshot());
  commit_through(12);
  close();
  damage_last_snapshot();
  open();
  ASSERT_FALSE(engine_->report().problems.empty());
  EXPECT_EQ(engine_->state().digest(), digests_[12]);
  expect_history(1, 12);
}

TEST_F(Engine, TicksRise) {
  open();
  commit(5);
  EXPECT_EQ(engine_->commit_tick(5, {}).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(engine_->commit_tick(4, {}).error().code(), ErrorCode::invalid_argument);
  commit(9);
  EXPECT_EQ(engine_->recover(7)->digest(), digests_[5]) << "nothing changed between";
  EXPECT_EQ(engine_->recover(4).error().code(), ErrorCode::not_found);
  EXPECT_EQ(engine_->recover(10).error().code(), ErrorCode::invalid_argument);
  ASSERT_TRUE(engine_->commit_tick(12, {}));
  EXPECT_EQ(engine_->latest_tick(), 12u)
      << "a tick in which nothing happened has come all the same";
  drop();
  open();
  EXPECT_EQ(engine_->latest_tick(), 12u);
}

TEST_F(Engine, ComponentsHaveNamesThatStay) {
  open();
  const ComponentId position = engine_->register_component("position").value();
  const ComponentId health = engine_->register_component("health").value();
  EXPECT_NE(position, health);
  EXPECT_EQ(engine_->register_component("position").value(), position);
  TickRecorder recorder;
  recorder.spawn(make_entity(1, 0));
  recorder.insert(make_entity(1, 0), 77, Bytes::copy_of("?"));
  const Status refused = engine_->commit_tick(1, recorder.take());
  EXPECT_EQ(refused.error().code(), ErrorCode::invalid_argument);
  EXPECT_NE(refused.error().message().find("77"), std::string::npos) << refused.error().message();
  EXPECT_EQ(engine_->latest_tick(), std::nullopt);
  EXPECT_EQ(engine_->state().entity_count(), 0u);
  recorder.spawn(make_entity(1, 0));
  recorder.insert(make_entity(1, 0), health, Bytes::copy_of("20"));
  ASSERT_TRUE(engine_->commit_tick(1, recorder.take()));
  drop();
  open();
  EXPECT_EQ(engine_->component_id("health"), health);
  EXPECT_EQ(as_text(engine_->state().component(make_entity(1, 0), health).value()), "20");
}

TEST_F(Engine, WhatTheStateRefusesIsNotLogged) {
  open();
  commit(1);
  TickRecorder recorder;
  recorder.insert(make_entity(9, 0), kWholeEntity, Bytes::copy_of("nobody"));
  EXPECT_FALSE(engine_->commit_tick(2, recorder.take()));
  EXPECT_EQ(engine_->latest_tick(), 1u);
  commit(2);
  drop();
  open();
  EXPECT_EQ(engine_->state().digest(), digests_[2]);
}

TEST_F(Engine, HistoryGoesWhenItIsOldEnoughAndNotBefore) {
  config_.history_ticks = 20;
  config_.snapshot_policy = {.kind = SnapshotPolicy::Kind::every_n_ticks, .ticks = 5};
  open();
  commit_through(100);
  const std::uint64_t oldest = engine_->oldest_tick().value();
  EXPECT_GT(oldest, 1u);
  EXPECT_LE(oldest, 80u);
  expect_history(oldest, 100);
  const auto gone = engine_->recover(oldest - 1);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code(), ErrorCode::not_found);
  EXPECT_NE(gone.error().message().find("history truncated"), std::string::npos);
  EXPECT_NE(gone.error().message().find(std::to_string(oldest)), std::string::npos);
  // Before the log single moments are left, the fewer the older.
  std::size_t lone_count = 0;
  for (const SnapshotMeta& snapshot : engine_->snapshots()) {
    if (snapshot.tick >= oldest) continue;
    ++lone_count;
    EXPECT_EQ(engine_->recover(snapshot.tick)->digest(), digests_[snapshot.tick]);
  }
  EXPECT_GE(lone_count, 1u);
  EXPECT_LE(lone_count, 6u);
  drop();
  open();
  EXPECT_EQ(engine_->oldest_tick(), oldest);
  expect_history(oldest, 100);
}

TEST_F(Engine, NoMoreSegmentsThanWanted) {
  config_.max_wal_segments = 3;
  config_.snapshot_policy = {.kind = SnapshotPolicy::Kind::every_n_ticks, .ticks = 5};
  open();
  for (std::uint64_t tick = 1; tick <= 100; ++tick) {
    commit(tick);
    if (tick % 5 != 0) continue;
    EXPECT_LE(segments().size(), 3u + 1) << tick << " (one is kept ready)";
  }
  expect_history(engine_->oldest_tick().value(), 100);
}

TEST_F(Engine, ASnapshotWhenTheLogHasGrown) {
  config_.snapshot_policy = {.kind = SnapshotPolicy::Kind::log_size, .size = 5000};
  open();
  commit_through(40);
  EXPECT_GE(engine_->snapshots().size(), 2u);
  EXPECT_LE(engine_->snapshots().size(), 10u);
  expect_history(1, 40);
}

TEST_F(Engine, DamageInTheMiddleIsToldAndCanBeLeftBehind) {
  open();
  commit_through(40);
  close();
  ASSERT_GE(segments().size(), 3u);
  flip_byte(segments()[1], 600);
  const auto refused = try_open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::corruption);
  EXPECT_NE(refused.error().message().find("accept_damage"), std::string::npos)
      << refused.error().message();
  config_.accept_damage = true;
  open();
  const std::uint64_t latest = engine_->latest_tick().value();
  EXPECT_GT(latest, 1u);
  EXPECT_LT(latest, 40u);
  EXPECT_EQ(engine_->state().digest(), digests_[latest]);
  commit_through(latest + 5);
  drop();
  config_.accept_damage = false;
  open();
  EXPECT_EQ(engine_->latest_tick(), latest + 5);
  expect_history(latest, latest + 5);
  EXPECT_TRUE(disk_.exists(path_join(kPath, "log.damaged-" + std::to_string(latest))).value());
}

TEST_F(Engine, DamageBeforeASnapshotHurtsNobodyWhoDoesNotGoThere) {
  open();
  commit_through(40);
  ASSERT_TRUE(engine_->create_snapshot());
  commit_through(42);
  close();
  flip_byte(segments()[1], 600);
  open();
  EXPECT_EQ(engine_->state().digest(), digests_[42]);
  expect_history(40, 42);
  EXPECT_EQ(engine_->recover(39).error().code(), ErrorCode::corruption);
  EXPECT_TRUE(engine_->recover(1));
}

TEST_F(Engine, AMissingSegmentIsFound) {
  open();
  commit_through(40);
  close();
  ASSERT_TRUE(disk_.remove(segments()[1]));
  const auto refused = try_open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::corruption) << refused.error().message();
}

TEST_F(Engine, TheFirstSegmentMissingIsFound) {
  open();
  commit_through(40);
  close();
  ASSERT_TRUE(disk_.remove(segments()[0]));
  const auto refused = try_open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::corruption) << refused.error().message();
}

TEST_F(Engine, ALogThatEndsBeforeTheLastSnapshotIsGoneOnBehindIt) {
  open();
  commit_through(40);
  ASSERT_TRUE(engine_->create_snapshot());
  close();
  const std::vector<std::string> paths = segments();
  ASSERT_GE(paths.size(), 3u);
  for (std::size_t i = 2; i < paths.size(); ++i) ASSERT_TRUE(disk_.remove(paths[i]));
  open();
  EXPECT_FALSE(engine_->report().problems.empty());
  EXPECT_EQ(engine_->state().digest(), digests_[40]);
  const std::uint64_t next = engine_->latest_tick().value();
  EXPECT_GE(next, 40u);
  digests_[next] = engine_->state().digest();
  // With a gap, in which nothing happens.
  commit(next + 4);
  digests_[next + 1] = digests_[next + 2] = digests_[next + 3] = digests_[next];
  expect_history(40, next + 4);
  EXPECT_EQ(engine_->recover(39).error().code(), ErrorCode::not_found)
      << "not made up of what is left";
  drop();
  open();
  EXPECT_EQ(engine_->latest_tick(), next + 4);
  expect_history(40, next + 4);
}

// Ticks 90 and on are there; what leads to them is not.
TEST_F(Engine, ASegmentMissingBehindTheSnapshotTheLogBeginsWithIsFound) {
  config_.history_ticks = 10;
  config_.snapshot_policy = {.kind = SnapshotPolicy::Kind::every_n_ticks, .ticks = 30};
  open();
  commit_through(100);
  const std::uint64_t base = engine_->oldest_tick().value();
  ASSERT_GT(base, 1u);
  close();
  ASSERT_GE(segments().size(), 2u);
  ASSERT_TRUE(disk_.remove(segments().front()));
  auto opened = try_open();
  if (!opened) {
    EXPECT_EQ(opened.error().code(), ErrorCode::corruption);
    return;
  }
  engine_ = *std::move(opened);
  // Where a later snapshot leads on from it may be told; nothing else may be made up.
  for (std::uint64_t tick = base; tick <= 100; ++tick) {
    const auto state = engine_->recover(tick);
    if (state) {
      EXPECT_EQ(state->digest(), digests_[tick]) << tick;
    }
  }
  EXPECT_FALSE(engine_->recover(base + 1));
}

TEST_F(Engine, DamageAtTheEndIsToldAndCanBeLeftBehind) {
  open();
  commit_through(12);
  close();
  const std::string last = segments().back();
  const std::uint64_t size = disk_.info(last)->size;
  flip_byte(last, size - size % 512 - 512 + 20);
  const auto refused = try_open();
  ASSERT_FALSE(refused) << "ticks that were promised are gone";
  EXPECT_EQ(refused.error().code(), ErrorCode::corruption);
  config_.accept_damage = true;
  open();
  const std::uint64_t latest = engine_->latest_tick().value();
  EXPECT_LT(latest, 12u);
  EXPECT_EQ(engine_->state().digest(), digests_[latest]);
  commit_through(latest + 6);
  drop();
  config_.accept_damage = false;
  open();
  EXPECT_EQ(engine_->latest_tick(), latest + 6) << "what came after the damage is kept";
  expect_history(latest, latest + 6);
}

TEST_F(Engine, ADamagedSnapshotBehindTheLogIsNothingToStandOn) {
  open();
  commit_through(20);
  ASSERT_TRUE(engine_->create_snapshot());
  commit_through(40);
  ASSERT_TRUE(engine_->create_snapshot());
  close();
  damage_last_snapshot();
  const std::vector<std::string> paths = segments();
  ASSERT_TRUE(disk_.remove(paths.back()));
  config_.accept_damage = true;
  open();
  const std::uint64_t latest = engine_->latest_tick().value();
  EXPECT_GE(latest, 20u);
  EXPECT_LT(latest, 40u);
  EXPECT_EQ(engine_->state().digest(), digests_[latest]);
  commit_through(45);
  drop();
  config_.accept_damage = false;
  open();
  EXPECT_EQ(engine_->latest_tick(), 45u);
  expect_history(latest, 45);
}

TEST_F(Engine, TheLastTickThereCouldBeIsNone) {
  open();
  EXPECT_EQ(engine_->commit_tick(~std::uint64_t{0}, {}).error().code(),
            ErrorCode::invalid_argument);
  EXPECT_EQ(engine_->latest_tick(), std::nullopt);
}

TEST_F(Engine, SnapshotsByTheSizeOfTheLogComeAtEvenIntervals) {
  config_.snapshot_policy = {.kind = SnapshotPolicy::Kind::log_size, .size = 3000};
  config_.max_wal_segments = 2;
  open();
  std::vector<std::uint64_t> ticks;
  for (std::uint64_t tick = 1; tick <= 100; ++tick) {
    commit(tick);
    if (!engine_->snapshots().empty() &&
        (ticks.empty() || ticks.back() != engine_->snapshots().back().tick)) {
      ticks.push_back(engine_->snapshots().back().tick);
    }
    // Opening again does not begin to count anew.
    if (tick % 4 == 0) {
      drop();
      open();
    }
  }
  ASSERT_GE(ticks.size(), 5u);
  const std::uint64_t first = ticks[1] - ticks[0];
  for (std::size_t i = 1; i < ticks.size(); ++i) EXPECT_LE(ticks[i] - ticks[i - 1], first + 2);
}

TEST_F(Engine, OneWriterAtATime) {
  open();
  const auto second = try_open();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::busy);
}

TEST_F(Engine, AClosedOneSaysSo) {
  open();
  commit(1);
  ASSERT_TRUE(engine_->close());
  EXPECT_EQ(engine_->commit_tick(2, {}).error().code(), ErrorCode::invalid_argument);
  EXPECT_FALSE(engine_->create_snapshot());
  EXPECT_FALSE(engine_->recover(1));
  EXPECT_TRUE(engine_->close()) << "a second time nothing happens";
}

}  // namespace
}  // namespace varve::test
