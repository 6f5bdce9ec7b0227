// Memory that runs out at the Nth allocation of a call, for N = 1, 2, 3 ... until one gets through.
//
// Invariants checked: nothing throws; a commit that failed left the generation before it and one
// that succeeded made the next; numbers of spaces that a failed commit gave are not used; and the
// store takes commits when there is memory again, which are there after reopening.
#include <gtest/gtest.h>

#include <iostream>

#include "base/guarded.h"
#include "crash/store_subject.h"
#include "sharing_sample.h"
#include "support/allocation_watch.h"

namespace varve {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

const std::string kLong(255, 'l');

Commit change(std::uint64_t tick) {
  const auto text = Bytes::copy_of("a text too long for a short string: " + std::to_string(tick));
  const Space space = Space::named("a space called " + std::to_string(tick)).value();
  Commit made{.tick = tick,
              .chunks = {{ChunkPos(0, 0), text}, {ChunkPos(0, 0).in(space), text}},
              .entities = {{7, EntityValue{ChunkPos(0, static_cast<int>(tick)).in(space), text}}},
              .players = {{kLong, text}},
              .globals = {{"sky", text}},
              .generator = GeneratorId{"a generator with quite a long name",
                                       static_cast<std::uint32_t>(tick)}};
  if (tick > 1) made.chunks.push_back({ChunkPos(static_cast<int>(tick) - 1, 5), std::nullopt});
  made.chunks.push_back({ChunkPos(static_cast<int>(tick), 5), text});
  // Stored as they are, without a copy: one that changes and one that never does.
  made.chunks.push_back({ChunkPos(0, 6), noise_of(tick, 3'000)});
  made.chunks.push_back({ChunkPos(0, 7), noise_of(99, 3'000)});
  return made;
}

// The same, with chunks that come to share a payload, join one and let go of one.
Commit sharing_change(std::uint64_t tick) {
  Commit made = change(tick);
  for (int x = 0; x < 4; ++x) {
    made.chunks.push_back({ChunkPos(x, 70), noise_of(tick / 2 + static_cast<unsigned>(x) / 3)});
  }
  return made;
}

// Fails the allocation `index` of the third commit. Whether the commit got through.
bool commit_starved(std::size_t index, Commit (*change)(std::uint64_t) = varve::change,
                    const VarveOptions& options = {}) {
  const auto disk = new_disk();
  auto store = open_sample(disk, options);
  for (std::uint64_t tick = 1; tick <= 2; ++tick) commit(*store, change(tick));
  const crash::Records before = crash::read_records(*store).value();
  const Commit third = change(3);
  Progress progress;
  std::optional<AllocationFailure> starving(std::in_place, index);
  const auto made = store->commit(third, progress);
  starving.reset();
  EXPECT_EQ(store->generation(), made ? 3u : 2u) << index;
  EXPECT_EQ(store->tick(), made ? 3u : 2u) << index;
  if (!made) {
    EXPECT_EQ(made.error().code(), ErrorCode::out_of_space) << made.error().message();
    EXPECT_EQ(crash::read_records(*store).value(), before) << index;
    EXPECT_EQ(store->generator()->version, 2u) << index;
  }
  // Once there is memory: another one that needs numbers, and the same.
  EXPECT_EQ(commit(*store, change(4)).generation, made ? 4u : 3u) << index;
  const crash::Records after = crash::read_records(*store).value();
  EXPECT_TRUE(verify(*store).clean()) << index << ": " << problems_of(verify(*store));
  store = open_sample(disk, options);
  EXPECT_EQ(crash::read_records(*store).value(), after) << index;
  EXPECT_EQ(store->generation(), made ? 4u : 3u) << index;
  EXPECT_TRUE(verify(*store).clean()) << index << ": " << problems_of(verify(*store));
  return made.ok();
}

TEST(VarveAllocation, ACommitHappensWhollyOrNotAtAll) {
  commit_starved(100'000);  // What is made once per program is made now.
  std::size_t index = 0;
  std::size_t failed = 0;
  for (std::size_t in_a_row = 0; in_a_row < 20 && !testing::Test::HasFailure(); ++index) {
    const bool made = commit_starved(index);
    failed += made ? 0 : 1;
    in_a_row = made ? in_a_row + 1 : 0;
  }
  std::cout << index << " places for memory to run out, " << failed << " commits failed\n";
  EXPECT_GT(failed, 60u);
}

TEST(VarveAllocation, SoDoesOneThatShares) {
  const auto starved = [](std::size_t index) {
    return commit_starved(index, sharing_change, kSharing);
  };
  starved(100'000);
  std::size_t failed = 0;
  for (std::size_t index = 0, in_a_row = 0; in_a_row < 20 && !HasFailure(); ++index) {
    const bool made = starved(index);
    failed += made ? 0 : 1;
    in_a_row = made ? in_a_row + 1 : 0;
  }
  std::cout << failed << " commits failed\n";
  EXPECT_GT(failed, 80u);
}

// Calls `call` with ever more memory until it succeeds; how often it failed.
template <class Call>
int failures_before(Call call) {
  for (int count = 0;; ++count) {
    std::optional<AllocationFailure> starving(std::in_place, count);
    auto result = call();
    starving.reset();
    if (result) return count;
    EXPECT_EQ(result.error().code(), ErrorCode::out_of_space) << result.error().message();
    if (result.error().code() != ErrorCode::out_of_space) return count;
  }
}

TEST(VarveAllocation, EveryOtherCallReportsIt) {
  const auto disk = new_disk();
  auto store = open_sample(disk);
  commit(*store, change(1));
  const Space space = Space::named("a space called 1").value();
  // What is stored as it is needs none at all.
  EXPECT_GE(failures_before([&] { return store->read_entity(7); }), 0);
  EXPECT_GT(failures_before([&] { return store->read_entities_of(ChunkPos(0, 1).in(space)); }), 0);
  EXPECT_GT(failures_before([&] { return store->pin(); }), 0);
  EXPECT_GT(failures_before(
                [&] { return store->list_chunks({}, [](const ChunkInfo&) { return true; }); }),
            0);
  EXPECT_GT(
      failures_before([&] { return store->list_players([](const NamedInfo&) { return true; }); }),
      0);
  EXPECT_GT(failures_before([&] {
              Progress progress;
              return store->verify(progress);
            }),
            0);
  EXPECT_GT(failures_before([&] { return store->quarantine(ChunkPos(0, 0)); }), 0);
  // As a format opens it.
  EXPECT_GT(failures_before([&] { return or_out_of_memory([&] { return try_open(disk); }); }), 0);
  EXPECT_TRUE(verify(*store).clean());
}

TEST(VarveAllocation, AGeneratorIsGivenOrNotAndNothingThrows) {
  const auto disk = new_disk();
  const auto generator = std::make_shared<SampleGenerator>(1);
  for (int count = 0; count < 20; ++count) {
    const auto store = open_sample(disk, {.deltas = true});
    {
      const AllocationFailure starving(count);
      EXPECT_NO_THROW(store->use_generator(generator));
    }
    EXPECT_TRUE(try_commit(*store, {.chunks = {chunk(ChunkPos(count, 0), "x")}}));
  }
}

}  // namespace
}  // namespace varve
