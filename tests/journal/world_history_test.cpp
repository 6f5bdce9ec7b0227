// Random worlds, kept whole for every tick, against what their journal and save tell of them. The
// seeds are printed; VARVE_SEED replays one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>

#include "journal/history_world.h"
#include "varve/components.h"

namespace varve::test {
namespace {

using Kind = RecordChange::Kind;

void for_each_seed(int count, const std::function<void(std::uint64_t)>& live) {
  const char* seed = std::getenv("VARVE_SEED");
  if (seed != nullptr) return live(std::strtoull(seed, nullptr, 10));
  std::cout << "seeds 1 to " << count << '\n';
  for (int i = 1; i <= count && !testing::Test::HasFatalFailure(); ++i) {
    SCOPED_TRACE("VARVE_SEED=" + std::to_string(i));
    live(static_cast<std::uint64_t>(i));
  }
}

// Until there is something to tell: right after a cut there may be nothing.
void play_to_tell(HistoryWorld& world, int tick_count) {
  do {
    world.play(tick_count);
  } while (world.journal().oldest_tick() > world.tick());
}

Result<RecordValue> told(const PastWorld& past, const RecordKey& key) {
  const auto value = [](const Result<std::optional<Bytes>>& data) -> Result<RecordValue> {
    if (!data) return data.error();
    if (!*data) return RecordValue();
    return RecordValue(EntityValue{.owner = {}, .data = **data});
  };
  if (key.kind == RecordKind::chunk) return value(past.chunk(key.pos));
  if (key.kind == RecordKind::player) return value(past.player(key.name));
  if (key.kind == RecordKind::global) return value(past.global(key.name));
  const auto entity = past.entity(key.id);
  if (!entity) return entity.error();
  if (!*entity) return RecordValue();
  return RecordValue(EntityValue{.owner = (*entity)->owner, .data = (*entity)->data});
}

RecordValue kept(const Records& records, const std::string& key) {
  const auto found = records.find(key);
  return found == records.end() ? RecordValue() : RecordValue(found->second);
}

std::vector<Entity> entities(const HistoryWorld& world, std::uint64_t tick,
                             const std::optional<ChunkBox>& box) {
  std::vector<Entity> found;
  for (const auto& [text, key] : world.keys()) {
    if (key.kind != RecordKind::entity) continue;
    const RecordValue value = kept(world.at(tick), text);
    if (!value || (box && (!value->owner || !box->contains(*value->owner)))) continue;
    found.push_back({.id = key.id, .owner = value->owner, .data = value->data});
  }
  std::ranges::sort(found, {}, &Entity::id);
  return found;
}

ChunkBox some_box(HistoryWorld& world) {
  const auto x = static_cast<std::int32_t>(world.below(4));
  return {.min = ChunkPos(x, 0), .max = ChunkPos(x + 1, static_cast<std::int32_t>(world.below(2)))};
}

void check_tick(HistoryWorld& world, const WorldHistory& history, std::uint64_t tick) {
  SCOPED_TRACE("tick " + std::to_string(tick));
  const auto past = history.at_tick(tick);
  ASSERT_TRUE(past) << past.error().message();
  EXPECT_EQ((*past)->tick(), tick);
  for (const auto& [text, key] : world.keys()) {
    const auto value = told(**past, key);
    ASSERT_TRUE(value) << text << ": " << value.error().message();
    ASSERT_EQ(*value, kept(world.at(tick), text)) << text;
  }
  const ChunkBox box = some_box(world);
  const auto inside = (*past)->entities_in(box);
  ASSERT_TRUE(inside) << inside.error().message();
  EXPECT_EQ(*inside, entities(world, tick, box));
  std::vector<Entity> all;
  ASSERT_TRUE((*past)->for_each_entity([&](const Entity& entity) {
    all.push_back(entity);
    return true;
  }));
  EXPECT_EQ(all, entities(world, tick, std::nullopt));
}

void check_all_ticks(const ChunkKit& kit, std::uint64_t seed, int tick_count) {
  HistoryWorld world(kit, seed);
  for (int round = 0; round < 4; ++round) {
    world.play(tick_count);
    if (testing::Test::HasFatalFailure()) return;
    const auto history = world.history();
    const std::uint64_t oldest = history->oldest_tick();
    ASSERT_EQ(oldest, world.journal().oldest_tick());
    ASSERT_EQ(history->latest_tick(), world.tick());
    for (std::uint64_t tick = oldest; tick <= world.tick(); ++tick) {
      check_tick(world, *history, tick);
      if (testing::Test::HasFatalFailure()) return;
    }
    const auto later = history->at_tick(world.tick() + 1);
    ASSERT_FALSE(later);
    EXPECT_EQ(later.error().code(), ErrorCode::invalid_argument);
    if (oldest == 0) continue;
    const auto earlier = history->at_tick(oldest - 1);
    ASSERT_FALSE(earlier);
    EXPECT_EQ(earlier.error().code(), ErrorCode::not_found);
    EXPECT_NE(earlier.error().message().find(std::to_string(oldest)), std::string::npos);
  }
}

TEST(WorldHistory, EveryRecordAtEveryTickOfRawChunks) {
  const auto kit = raw_kit();
  for_each_seed(40, [&](std::uint64_t seed) { check_all_ticks(*kit, seed, 30); });
}
TEST(WorldHistory, EveryRecordAtEveryTickOfVoxelChunks) {
  const auto kit = voxel_kit();
  for_each_seed(8, [&](std::uint64_t seed) { check_all_ticks(*kit, seed, 12); });
}

// --- What happened ---------------------------------------------------------------------------

TickRange some_range(HistoryWorld& world, const WorldHistory& history) {
  const std::uint64_t oldest = history.oldest_tick();
  const std::uint64_t from = oldest + world.below(world.tick() - oldest + 1);
  return {.from = from, .to = from + world.below(world.tick() + 3 - from)};
}

// The changes of one record in a range, with what it was before and after each.
template <class Visit>
void replay(const HistoryWorld& world, const std::string& key, const TickRange& range,
            const Visit& visit) {
  Records records;
  bool has_begun = false;
  for (const TickOp& done : world.ops()) {
    if (to_string(done.op.key) != key || done.tick < range.from || done.tick >= range.to) continue;
    if (!has_begun) {
      if (const RecordValue before = kept(world.at(done.tick - 1), key)) records[key] = *before;
    }
    has_begun = true;
    const RecordValue before = kept(records, key);
    EXPECT_TRUE(world.apply(records, done.op));
    visit(done, before, kept(records, key));
  }
}

void check_entity(const HistoryWorld& world, const WorldHistory& history, const RecordKey& key,
                  const TickRange& range) {
  std::vector<EntityEvent> expected;
  replay(world, to_string(key), range,
         [&](const TickOp& done, const RecordValue&, const RecordValue& after) {
           if (!expected.empty() && expected.back().tick == done.tick) expected.pop_back();
           expected.push_back({done.tick, done.op.change.author, after});
         });
  const auto told = history.entity_history(key.id, range);
  ASSERT_TRUE(told) << told.error().message();
  EXPECT_EQ(*told, expected) << to_string(key);
}

void check_chunk(const ChunkKit& kit, const HistoryWorld& world, const WorldHistory& history,
                 const RecordKey& key, const TickRange& range) {
  std::vector<ChunkEvent> expected;
  replay(world, to_string(key), range,
         [&](const TickOp& done, const RecordValue&, const RecordValue& after) {
           const bool is_edit = done.op.change.kind == Kind::edit;
           expected.push_back({done.tick, done.op.change.author,
                               is_edit ? ChunkEvent::Kind::edit
                               : after ? ChunkEvent::Kind::put
                                       : ChunkEvent::Kind::erase,
                               done.op.change.data});
         });
  const auto told = history.chunk_history(key.pos, range);
  ASSERT_TRUE(told) << told.error().message();
  EXPECT_EQ(*told, expected) << to_string(key);
  for (const Bytes& cell : kit.cells()) {
    const auto value_in = [&](const RecordValue& chunk) {
      return chunk ? kit.cell_of(chunk->data, cell) : std::nullopt;
    };
    std::vector<CellEvent> changes;
    replay(world, to_string(key), range,
           [&](const TickOp& done, const RecordValue& before, const RecordValue& after) {
             if (value_in(before) == value_in(after)) return;
             changes.push_back({done.tick, done.op.change.author, value_in(after)});
           });
    const auto of_cell = history.block_history(key.pos, cell, range);
    ASSERT_TRUE(of_cell) << of_cell.error().message();
    EXPECT_EQ(*of_cell, changes) << to_string(key);
  }
}

void check_histories(const ChunkKit& kit, std::uint64_t seed, int tick_count) {
  HistoryWorld world(kit, seed);
  play_to_tell(world, tick_count);
  if (testing::Test::HasFatalFailure()) return;
  const auto history = world.history();
  for (const auto& [text, key] : world.keys()) {
    TickRange range = some_range(world, *history);
    if (world.below(2) == 0) range = {.from = history->oldest_tick()};
    if (key.kind == RecordKind::entity) check_entity(world, *history, key, range);
    if (key.kind == RecordKind::chunk) check_chunk(kit, world, *history, key, range);
    if (testing::Test::HasFatalFailure()) return;
  }
  const auto from_the_oldest = history->entity_history(1, {});
  EXPECT_TRUE(from_the_oldest) << "0 is from the oldest";
  if (history->oldest_tick() > 1) {
    EXPECT_EQ(history->entity_history(1, {.from = 1}).error().code(), ErrorCode::not_found);
  }
}

TEST(WorldHistory, ChangesOfRecordsAndCellsOfRawChunks) {
  const auto kit = raw_kit();
  for_each_seed(40, [&](std::uint64_t seed) { check_histories(*kit, seed, 80); });
}
TEST(WorldHistory, ChangesOfRecordsAndCellsOfVoxelChunks) {
  const auto kit = voxel_kit();
  for_each_seed(3, [&](std::uint64_t seed) { check_histories(*kit, seed, 40); });
}

TEST(WorldHistory, TheFirstTickAtWhichSomethingHolds) {
  const auto kit = raw_kit();
  for_each_seed(40, [&](std::uint64_t seed) {
    HistoryWorld world(*kit, seed);
    play_to_tell(world, 60);
    const auto history = world.history();
    const TickRange range = some_range(world, *history);
    const std::size_t size = world.below(6);
    const std::string key = "global:name 1";
    std::optional<std::uint64_t> expected;
    for (std::uint64_t t = range.from; t < range.to && t <= world.tick() && !expected; ++t) {
      const RecordValue value = kept(world.at(t), key);
      if (value && value->data.size() == size) expected = t;
    }
    const auto found = history->find_tick(range, [&](const PastWorld& past) -> Result<bool> {
      const auto value = past.global("name 1");
      if (!value) return value.error();
      return *value && (*value)->size() == size;
    });
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(*found, expected);
    const auto failed = history->find_tick(
        {}, [&](const PastWorld&) -> Result<bool> { return cancelled("enough"); });
    EXPECT_EQ(failed.error().code(), ErrorCode::cancelled);
  });
}

void check_diff(HistoryWorld& world, const WorldHistory& history, std::uint64_t before,
                std::uint64_t after, const std::optional<ChunkBox>& box) {
  std::vector<std::string> expected;
  for (const auto& [text, key] : world.keys()) {
    const RecordValue a = kept(world.at(before), text), b = kept(world.at(after), text);
    if (a == b) continue;
    const auto inside = [&](const RecordValue& v) {
      return v && v->owner && box->contains(*v->owner);
    };
    const bool is_wanted = !box || (key.kind == RecordKind::chunk && box->contains(key.pos)) ||
                           (key.kind == RecordKind::entity && (inside(a) || inside(b)));
    if (!is_wanted) continue;
    expected.push_back(text + (a ? " " + std::to_string(a->data.size()) : " none") +
                       (b ? " " + std::to_string(b->data.size()) : " none"));
  }
  const auto found = history.diff(before, after, box);
  ASSERT_TRUE(found) << found.error().message();
  std::vector<std::string> told;
  for (const RecordDifference& d : *found) {
    told.push_back(to_string(d.key) +
                   (d.size_before ? " " + std::to_string(*d.size_before) : " none") +
                   (d.size_after ? " " + std::to_string(*d.size_after) : " none"));
  }
  EXPECT_TRUE(
      std::ranges::is_sorted(*found, {}, [](const RecordDifference& d) { return d.key.kind; }));
  std::ranges::sort(told);
  std::ranges::sort(expected);
  EXPECT_EQ(told, expected);
}

TEST(WorldHistory, WhatDiffersBetweenTwoTicks) {
  const auto kit = raw_kit();
  for_each_seed(40, [&](std::uint64_t seed) {
    HistoryWorld world(*kit, seed);
    play_to_tell(world, 60);
    const auto history = world.history();
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t oldest = history->oldest_tick();
      const std::uint64_t a = oldest + world.below(world.tick() - oldest + 1);
      const std::uint64_t b = oldest + world.below(world.tick() - oldest + 1);
      std::optional<ChunkBox> box;
      if (world.below(2) == 0) box = some_box(world);
      check_diff(world, *history, a, b, box);
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

// --- Putting it back ---------------------------------------------------------------------------

void expect_records(const Records& found, const Records& expected) {
  for (const auto& [key, value] : expected) EXPECT_EQ(kept(found, key), RecordValue(value)) << key;
  for (const auto& [key, value] : found) EXPECT_TRUE(expected.contains(key)) << key;
}

// Rolls back, looks, and rolls that back.
void check_rollback(HistoryWorld& world, const RollbackRequest& request, const Records& expected) {
  const std::uint64_t before = world.tick();
  const Records now = world.at(before);
  const auto plan = world.history()->plan_rollback(request);
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_TRUE(plan->problems.empty() || !request.author.empty());
  world.log(ops_of(*plan));
  expect_records(world.at(world.tick()), expected);
  const auto again = world.history()->plan_rollback(request);
  ASSERT_TRUE(again);
  if (request.author.empty()) {
    EXPECT_TRUE(again->empty()) << "it is done";
  }
  const auto back = world.history()->plan_rollback({.tick = before});
  ASSERT_TRUE(back) << back.error().message();
  world.log(ops_of(*back));
  expect_records(world.at(world.tick()), now);
}

TEST(WorldRollback, PutsBackAllOrAPartAndCanBePutBackItself) {
  const auto kit = raw_kit();
  for_each_seed(40, [&](std::uint64_t seed) {
    HistoryWorld world(*kit, seed);
    play_to_tell(world, 50);
    for (int i = 0; i < 6; ++i) {
      const std::uint64_t oldest = world.history()->oldest_tick();
      RollbackRequest request{.tick = oldest + world.below(world.tick() - oldest + 1)};
      const std::size_t what = world.below(3);
      if (what == 1) request.box = some_box(world);
      if (what == 2) request.chunks = {ChunkPos(3, 1), ChunkPos(0, 0)};
      const auto is_inside = [&](const ChunkPos& pos) {
        return (request.box && request.box->contains(pos)) ||
               std::ranges::find(request.chunks, pos) != request.chunks.end();
      };
      const Records& then = world.at(request.tick);
      const Records& now = world.at(world.tick());
      Records expected = now;
      for (const auto& [text, key] : world.keys()) {
        const RecordValue to = kept(then, text), from = kept(now, text);
        const auto stands = [&](const RecordValue& v) {
          return v && v->owner && is_inside(*v->owner);
        };
        const bool is_wanted = what == 0 || (key.kind == RecordKind::chunk && is_inside(key.pos)) ||
                               (key.kind == RecordKind::entity && (stands(to) || stands(from)));
        if (!is_wanted) continue;
        expected.erase(text);
        if (to) expected[text] = *to;
      }
      check_rollback(world, request, expected);
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

// What is left of one record if an author's last changes in a row, to each cell of it, had not
// been. nullopt: it cannot be told.
std::optional<RecordValue> without_author(const ChunkKit& kit, const HistoryWorld& world,
                                          const RecordKey& key, const RollbackRequest& request) {
  const std::string text = to_string(key);
  const TickRange since{.from = request.tick + 1};
  const RecordValue now = kept(world.at(world.tick()), text);
  if (key.kind != RecordKind::chunk) {
    std::optional<RecordValue> to;
    replay(world, text, since,
           [&](const TickOp& done, const RecordValue& before, const RecordValue&) {
             if (done.op.change.author != request.author) to.reset();
             if (done.op.change.author == request.author && !to) to = before;
           });
    return to ? *to : now;
  }
  bool is_put = false;
  replay(world, text, since, [&](const TickOp& done, const RecordValue&, const RecordValue&) {
    is_put |= done.op.change.kind == Kind::put;
  });
  if (!is_put) {
    // Cell by cell, by the rule.
    RecordValue to = now;
    for (const Bytes& cell : kit.cells()) {
      std::optional<Bytes> value;
      bool is_authors = false;
      replay(world, text, since,
             [&](const TickOp& done, const RecordValue& before, const RecordValue&) {
               if (!kit.writes_to(done.op.change.data, cell)) return;
               const bool is_author = done.op.change.author == request.author;
               if (is_author && !is_authors) value = kit.cell_of(before->data, cell);
               is_authors = is_author;
             });
      if (!is_authors || !value) continue;
      to->data = *kit.edited(to->data, *kit.type()->cell_edit(cell, *value));
    }
    return to;
  }
  // Whole chunks came in between: all that others did.
  Records records;
  if (const RecordValue then = kept(world.at(request.tick), text)) records[text] = *then;
  bool fits = true;
  bool has_authors = false;
  replay(world, text, since, [&](const TickOp& done, const RecordValue&, const RecordValue&) {
    const bool is_whole = done.op.change.kind == Kind::put;
    if (done.op.change.author == request.author) {
      has_authors = true;
    } else {
      if (is_whole) {
        fits = true;
        has_authors = false;
      }
      fits = fits && world.apply(records, done.op);
    }
  });
  if (!has_authors) return now;
  if (!fits) return std::nullopt;
  return kept(records, text);
}

void check_author(const ChunkKit& kit, std::uint64_t seed, int tick_count) {
  HistoryWorld world(kit, seed);
  play_to_tell(world, tick_count);
  for (int i = 0; i < 5 && !testing::Test::HasFatalFailure(); ++i) {
    const std::uint64_t oldest = world.history()->oldest_tick();
    const RollbackRequest request{.tick = oldest + world.below(world.tick() - oldest + 1),
                                  .author = "ann"};
    Records expected;
    for (const auto& [text, key] : world.keys()) {
      const auto value = without_author(kit, world, key, request);
      const RecordValue to = value ? *value : kept(world.at(world.tick()), text);
      if (to) expected[text] = *to;
    }
    check_rollback(world, request, expected);
    play_to_tell(world, 3);
  }
}

TEST(WorldRollback, OfAnAuthorPutsBackCellsNobodyElseChanged) {
  const auto kit = raw_kit();
  for_each_seed(60, [&](std::uint64_t seed) { check_author(*kit, seed, 25); });
}
TEST(WorldRollback, OfAnAuthorInVoxelChunks) {
  const auto kit = voxel_kit();
  for_each_seed(4, [&](std::uint64_t seed) { check_author(*kit, seed, 20); });
}

}  // namespace
}  // namespace varve::test
