// The index of history against a naive one: whatever was noted or not, written or not, damaged,
// cut or given up, it says what the log has. The seeds are printed; VARVE_SEED replays one.
#include "journal/history_index.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <set>

#include "base/endian.h"
#include "history_model.h"
#include "io/sim/sim_disk.h"
#include "model_world.h"
#include "support/allocation_watch.h"

namespace varve::test {
namespace {

using journal::HistoryIndex;
using journal::TickLog;

Bytes blob_key(std::uint64_t first_tick) {
  std::byte bytes[9];
  bytes[0] = std::byte{6};
  store_be<std::uint64_t>(bytes + 1, first_tick);
  return Bytes::copy_of(ByteView(bytes));
}

// A log, its index, and what both should say.
class Rig {
 public:
  Rig(std::uint64_t seed, std::uint64_t stretch_ticks)
      : random_(seed), game_(seed), stretch_ticks_(stretch_ticks) {
    open();
  }

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  void open() {
    index_.reset();
    log_.reset();
    log_ = TickLog::open(disk_, "log",
                         {.durability = {.kind = Durability::Kind::every_n, .count = 3},
                          .segment_size = 4096,
                          .background = false})
               .value();
    index_ = HistoryIndex::open(*backend_, *log_, stretch_ticks_).value();
  }

  void append(bool notes) {
    tick_ += below(5) == 0 ? below(3 * stretch_ticks_) + 1 : 1;
    TickMutations mutations = game_.play_tick(static_cast<std::size_t>(below(6)));
    if (below(4) == 0) mutations.entity_images.push_back({.entity = below(5) + 1});
    if (below(4) == 0) mutations.player_images.push_back({.name = "image"});
    ASSERT_TRUE(log_->append(tick_, encode_mutations(mutations).value()));
    if (notes) {
      ASSERT_TRUE(index_->note(tick_, mutations));
    }
    model_.note(tick_, mutations);
    last_ = std::move(mutations);
  }
  // Without memory from the allocation `index` on.
  Status note_last_failing(std::size_t index) {
    const AllocationFailure failure(index);
    return index_->note(tick_, last_);
  }
  void append_some(std::uint64_t count, bool notes) {
    for (; count > 0; --count) append(notes);
  }

  // Keys of the indexes there are.
  std::vector<Bytes> keys() const {
    std::vector<Bytes> found;
    const RangePage page = backend_->range({.prefix = Bytes::copy_of("\x06")}).value();
    for (const RangeEntry& each : page.entries) found.push_back(each.key);
    return found;
  }
  std::size_t blob_count() const { return keys().size(); }

  void damage_one() {
    const std::vector<Bytes> all = keys();
    if (all.empty()) return;
    const Bytes& key = all[below(all.size())];
    WriteBatch batch;
    const Bytes value = backend_->get(key).value().value();
    switch (below(3)) {
      case 0:
        batch.erase(key);
        break;
      case 1:
        batch.put(key, value.slice(0, below(value.size())));
        break;
      default:
        batch.put(key, Bytes::copy_of("nonsense"));
    }
    ASSERT_TRUE(backend_->write(batch));
  }

  void cut() {
    if (!log_->first_tick()) return;
    const std::uint64_t at = below(tick_ + 1);
    ASSERT_TRUE(log_->truncate_before(at));
    ASSERT_TRUE(index_->forget_before(log_->first_tick().value()));
    model_.forget_before(log_->first_tick().value());
  }

  TickRange some_range() {
    if (below(4) == 0) return {};
    const std::uint64_t from = below(tick_ + 3);
    return {from, from + below(4 * stretch_ticks_)};
  }

  void expect_agreement() {
    const TickRange range = some_range();
    for (const auto& [name, ticks] : model_.records) {
      const auto found = index_->ticks_of(ticks.key, range);
      ASSERT_TRUE(found) << found.error().message();
      ASSERT_EQ(*found, model_.in_range(ticks.ticks, range)) << name;
    }
    for (const auto& [id, ticks] : model_.singletons) {
      const auto found = index_->ticks_of_singleton(id, range);
      ASSERT_TRUE(found) << found.error().message();
      ASSERT_EQ(*found, model_.in_range(ticks, range)) << id;
    }
    RecordKey nobody{.kind = RecordKind::entity, .id = 1'000'000};
    ASSERT_TRUE(index_->ticks_of(nobody, range).value().empty());
    // All of them, in order, and no other.
    std::vector<std::pair<RecordKey, std::vector<std::uint64_t>>> all;
    ASSERT_TRUE(index_->for_each_touched(
        range, [&](const RecordKey& key, std::span<const std::uint64_t> ticks) -> Result<bool> {
          all.emplace_back(key, std::vector(ticks.begin(), ticks.end()));
          return true;
        }));
    ASSERT_EQ(all, model_.touched(range));
  }

  HistoryIndex& index() { return *index_; }
  TickLog& log() { return *log_; }
  Backend& backend() { return *backend_; }
  std::uint64_t tick() const { return tick_; }

 private:
  std::mt19937_64 random_;
  RandomGame game_;
  const std::uint64_t stretch_ticks_;
  sim::SimDisk disk_;
  std::unique_ptr<Backend> backend_ = make_memory_backend();
  std::unique_ptr<TickLog> log_;
  std::unique_ptr<HistoryIndex> index_;
  HistoryModel model_;
  TickMutations last_;
  std::uint64_t tick_ = 0;
};

void live(std::uint64_t seed) {
  SCOPED_TRACE("VARVE_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed + 1'000);
  Rig rig(seed, random() % 30 + 1);
  for (int life = 0; life < 3; ++life) {
    const bool notes = rig.below(4) != 0;
    for (std::uint64_t n = rig.below(30) + 3; n > 0; --n) {
      rig.append_some(rig.below(9), notes);
      switch (rig.below(6)) {
        case 0:
          rig.damage_one();
          break;
        case 1:
          rig.cut();
          break;
        case 2:
          ASSERT_TRUE(rig.index().catch_up());
          break;
        default:
          ASSERT_TRUE(rig.index().write_finished());
      }
      if (rig.below(3) == 0) rig.expect_agreement();
      if (testing::Test::HasFatalFailure()) return;
    }
    rig.open();
  }
}

TEST(HistoryIndex, SaysWhatANaiveOneSays) {
  if (const char* seed = std::getenv("VARVE_SEED")) return live(std::strtoull(seed, nullptr, 10));
  std::cout << "seeds 1 to 60\n";
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    live(seed);
    if (HasFatalFailure()) return;
  }
}

TEST(HistoryIndex, ReadsNothingWhereEverythingWasNotedAndWritten) {
  Rig rig(7, 10);
  for (int n = 0; n < 40; ++n) {
    rig.append(true);
    ASSERT_TRUE(rig.index().write_finished());
  }
  rig.expect_agreement();
  EXPECT_EQ(rig.index().scanned_count(), 0u);
  EXPECT_GT(rig.blob_count(), 3u);
}

TEST(HistoryIndex, ReadsAStretchOnceHoweverOftenItIsAsked) {
  Rig rig(8, 1'000'000);
  rig.append_some(50, false);
  for (int n = 0; n < 5; ++n) rig.expect_agreement();
  EXPECT_EQ(rig.index().scanned_count(), 50u);
  // And goes on from there, whether it is told or not.
  rig.append_some(5, true);
  rig.expect_agreement();
  EXPECT_LE(rig.index().scanned_count(), 55u);
}

TEST(HistoryIndex, IsWrittenWhenTheLogIsDurableThatFar) {
  Rig rig(9, 4);
  for (int n = 0; n < 200; ++n) {
    rig.append(true);
    ASSERT_TRUE(rig.index().write_finished());
    const std::uint64_t durable = rig.log().durable_tick().value_or(0);
    for (std::uint64_t first = 0; first <= rig.tick(); first += 4) {
      const bool is_there = rig.backend().get(blob_key(first)).value().has_value();
      ASSERT_TRUE(!is_there || first + 3 <= durable) << first;
    }
  }
  ASSERT_TRUE(rig.log().sync());
  ASSERT_TRUE(rig.index().write_finished());
  EXPECT_GT(rig.blob_count(), 20u);
}

TEST(HistoryIndex, WritesAnewWhatSomebodyMissed) {
  Rig rig(10, 5);
  rig.append_some(40, true);
  ASSERT_TRUE(rig.log().sync());
  ASSERT_TRUE(rig.index().write_finished());
  const std::size_t count = rig.blob_count();
  WriteBatch batch;
  batch.erase(rig.keys()[1]);
  ASSERT_TRUE(rig.backend().write(batch));
  ASSERT_TRUE(rig.index().write_finished());
  EXPECT_EQ(rig.blob_count(), count - 1) << "nobody has asked yet";
  ASSERT_TRUE(rig.index().ticks_of({.kind = RecordKind::entity, .id = 1}, {}));
  ASSERT_TRUE(rig.index().write_finished());
  EXPECT_EQ(rig.blob_count(), count);
}

// As after a crash between giving up a log and forgetting what was indexed of it.
TEST(HistoryIndex, WhatTheLogDoesNotReachIsLeftOfSomethingElse) {
  Rig rig(11, 10);
  rig.append_some(60, true);
  ASSERT_TRUE(rig.log().sync());
  ASSERT_TRUE(rig.index().write_finished());
  const std::uint64_t beyond = rig.index().stretch_start(rig.tick()) + 10;
  WriteBatch batch;
  const Bytes some = rig.keys()[0];
  batch.put(blob_key(beyond), rig.backend().get(some).value().value());
  batch.put(blob_key(3), Bytes::copy_of("of stretches of another length"));
  ASSERT_TRUE(rig.backend().write(batch));
  rig.expect_agreement();
  rig.open();
  EXPECT_FALSE(rig.backend().get(blob_key(beyond)).value());
  EXPECT_FALSE(rig.backend().get(blob_key(3)).value());
  rig.expect_agreement();
}

TEST(HistoryIndex, ForgetsWhatIsGivenUp) {
  Rig rig(12, 10);
  rig.append_some(60, true);
  ASSERT_TRUE(rig.log().sync());
  ASSERT_TRUE(rig.index().write_finished());
  const std::uint64_t from = rig.tick() / 2;
  ASSERT_TRUE(rig.index().forget_from(from));
  for (std::uint64_t first = 0; first <= rig.tick(); first += 10) {
    if (first + 10 > from) {
      EXPECT_FALSE(rig.backend().get(blob_key(first)).value()) << first;
    }
  }
  // The log has it all the same: it is read, and written again.
  rig.expect_agreement();
  ASSERT_TRUE(rig.index().write_finished());
  rig.expect_agreement();
}

// A tick that was noted in parts, or not at all, is read instead.
TEST(HistoryIndex, MemoryThatRunsOutTakesNothingFromIt) {
  Rig rig(14, 50);
  std::size_t failure_count = 0;
  for (std::size_t index = 0; index < 12; ++index) {
    for (int n = 0; n < 12; ++n) {
      rig.append(false);
      if (rig.note_last_failing(index)) continue;
      ++failure_count;
      if (n % 3 == 0) rig.append(true);
    }
    rig.expect_agreement();
    if (HasFatalFailure()) return;
    ASSERT_TRUE(rig.index().write_finished());
    rig.expect_agreement();
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(failure_count, 10u);
}

TEST(HistoryIndex, AStretchHasSomeTicksAndNotTooMany) {
  Rig rig(13, 10);
  EXPECT_EQ(HistoryIndex::open(rig.backend(), rig.log(), 0).error().code(),
            ErrorCode::invalid_argument);
  EXPECT_EQ(HistoryIndex::open(rig.backend(), rig.log(), std::uint64_t{1} << 40).error().code(),
            ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace varve::test
