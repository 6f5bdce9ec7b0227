// Every mutant of what a journal does to its disk is caught or explained: ticks, snapshots, and
// what goes when history does. A snapshot is a record here, so that one that was acknowledged must
// be there though the ticks it stands for still are.
//
// In all of them: what the log and the backend write ahead, files made ready for later and the
// marks of a close are as in the tests of these two. The backend's control file is never synced
// before the end, since it may say less than is true.
#include <gtest/gtest.h>

#include "crash/expected_mutants.h"
#include "journal/engine_subject.h"

namespace varve::test {
namespace {

constexpr crash::SweepOptions kOptions{.limits = {.all_subsets_atom_count = 5,
                                                  .position_count_max = 12,
                                                  .sample_count = 4,
                                                  .garbage_count_max = 1}};

StorageConfig by_hand() {
  StorageConfig config;
  config.wal_segment_size = 2048;
  config.snapshot_policy = {.kind = SnapshotPolicy::Kind::manual};
  config.sync_mode = {.kind = Durability::Kind::every_commit};
  config.history_ticks = 100;
  return config;
}

StorageConfig by_itself() {
  StorageConfig config = by_hand();
  config.snapshot_policy = {.kind = SnapshotPolicy::Kind::every_n_ticks, .ticks = 2};
  config.history_ticks = 1;
  return config;
}

crash::Step tick(char name) {
  return {.changes = {{std::string("global ") + name, Bytes::copy_of(std::string(9, name))}}};
}
crash::Step upkeep(std::string name) { return {.changes = {}, .upkeep = std::move(name)}; }
crash::Step with_snapshot(crash::Step step, std::uint64_t tick) {
  step.changes[snapshot_key(tick)] = Bytes();
  return step;
}
void sweep(std::string_view what, const StorageConfig& config, const crash::Workload& workload,
           const crash::Workload& before, const crash::ExpectedMutants& expected) {
  EngineSubject journal(config, config.snapshot_policy.kind == SnapshotPolicy::Kind::manual);
  const crash::Start start = before.empty() ? crash::Start{} : start_after(journal, before);
  crash::expect_mutants(what, journal, workload, start, expected, kOptions);
}

// 0..34 make three folders and the backend, 37..42 the segment with the first tick; 45 and 46 are
// the second; 52..57 leave the mark of the log, 58 and 59 that of the backend.
TEST(EngineMutants, OfCreation) {
  sweep("creation", by_hand(), {tick('a'), tick('b')}, {},
        {.caught_count = 85,
         .infeasible_count = 104,
         .survivor_count = 97,
         // The name of each folder is synced by whoever made it and again by whoever puts
         // something in it, in case a creation was cut short: 1 and 20 are one name, 3 and 4, 33
         // and 34 another, and any of them does. 15: without a checkpoint all is found in the
         // segments. 29, 49: nothing is in these files yet. 57, 59: that it was closed is nice to
         // know.
         .dropped = {1, 3, 4, 15, 20, 29, 33, 34, 49, 57, 59},
         .explained = {// Nothing was promised before the first tick, which waits for all of it.
                       {0, 34},
                       // Zeros, and a file made ready.
                       {39, 40},
                       {46, 50},
                       {45, 49},
                       {52, 59}}});
}

// 3..8 are a segment with the tick, 11 and 12 the snapshot; behind it the backend makes a segment
// ready, up to 21; 24..30 leave the marks.
TEST(EngineMutants, OfASnapshot) {
  sweep("snapshot", by_hand(), {tick('b'), with_snapshot(upkeep("snapshot"), 2)}, {tick('a')},
        {.caught_count = 31,
         .infeasible_count = 5,
         .survivor_count = 20,
         // 19: nothing is in it yet. 28, 30: the marks.
         .dropped = {19, 28, 30},
         .explained = {{5, 6},
                       /* a segment of the backend that has nothing in it yet */ {12, 14},
                       {15, 22},
                       {26, 30}}});
}

// 3..8 are a segment with the tick; 11 and 12 say where the log begins from now on, 13..21 are the
// backend's; 22..26 are the log's mark, 27..30 take its segments; 32..36 are a tick.
TEST(EngineMutants, OfCuttingTheLog) {
  sweep("cut", by_hand(), {tick('e'), upkeep("truncate"), tick('f')},
        {tick('a'), upkeep("reopen"), tick('b'), upkeep("reopen"), tick('c'),
         with_snapshot(upkeep("snapshot"), 3), upkeep("reopen"), tick('d')},
        {.caught_count = 70,
         .infeasible_count = 14,
         .survivor_count = 34,
         // 19: nothing is in it yet. 28: a segment below the mark is not read, under whatever name
         // its bytes come back. 42, 44: the marks of the close.
         .dropped = {19, 28, 42, 44},
         .explained = {{5, 6},
                       {12, 14},
                       {15, 21},
                       /* the backend's control file */ {18, 24},
                       // What goes need not be gone, but not before the mark: that is caught.
                       {26, 30},
                       {37, 44}},
         // The temporary name of the mark, and the end of a call that promises nothing but that
         // what is kept stays.
         .irrelevant = {22, 31}});
}

// Snapshots that are made by themselves come with a tick, which may be there without them. 11 and
// 12 are the tick, 13..15 a file made ready, 16 and 17 the snapshot, 18..26 the backend's; 27 and
// 28 say where the log begins, 31..35 are its mark, 36 takes a segment; 39..46 close.
TEST(EngineMutants, OfRetention) {
  sweep("retention", by_itself(), {tick('g'), tick('h')},
        {tick('a'), tick('b'), tick('c'), tick('d'), tick('e'), tick('f')},
        {.caught_count = 100,
         .infeasible_count = 26,
         .survivor_count = 45,
         // 15, 24: nothing is in these files yet. 44, 46: the marks of the close.
         .dropped = {15, 24, 44, 46},
         .explained = {{5, 6},
                       // A file made ready, and a segment of the backend that has nothing in it.
                       {11, 19},
                       // The same, and the control file. That the log's beginning comes behind the
                       // snapshot and before the mark is caught.
                       {20, 28},
                       {33, 35},
                       {39, 46}},
         // The temporary name of the mark; and the tick, which does not wait for its snapshot, nor
         // for what goes.
         .irrelevant = {31, 37}});
}

}  // namespace
}  // namespace varve::test
