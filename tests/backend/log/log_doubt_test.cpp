// A batch that was in flight when its process was killed, between the opening of the log and the
// moment it is durable.
//
// Invariants checked: nobody is shown what a power cut could still take; whoever could see it waits
// until it is durable, and gets the error if it cannot be; whoever could not does not wait.
#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <thread>

#include "backend/log/log_subject.h"
#include "backend/log/log_views.h"
#include "backend/log/log_workloads.h"
#include "backend/log/small_log.h"
#include "crash/crash_sweep.h"
#include "io/sim/sim_disk.h"

namespace varve::test {
namespace {

constexpr std::size_t kSize = 300;

// Nothing is synced but by who asks for it: checkpoints and reclaiming would.
log::LogOptions unsynced_options() {
  log::LogOptions options = small_log_options();
  options.checkpoint_batch_count_min = 1000;
  options.checkpoint_size_min = options.reclaim_size_min = std::uint64_t{1} << 30;
  options.user.durability.kind = Durability::Kind::none;
  return options;
}

// The first batch is durable, the second one was in flight.
class InDoubt {
 public:
  explicit InDoubt(bool erases = true, log::LogOptions options = unsynced_options())
      : options_(std::move(options)) {
    open();
    begin({.changes = {{"kept", noise(kSize, 1)}, {"a", noise(kSize, 2)}, {"b", noise(kSize, 3)}}});
    EXPECT_TRUE(log->sync());
    is_durable();
    begin({.changes = {{"a", noise(kSize, 4)}, {"new", noise(kSize, 5)}}});
    if (erases) {
      begin({.changes = {{"b", std::nullopt}}});
    }
    kill();
    before = disk.op_count();
    open();
  }
  void open() {
    auto opened = log::open_log(disk, "log", options_);
    ASSERT_TRUE(opened) << opened.error().message();
    log = *std::move(opened);
    for (const Error& problem : log->open_report().problems) ADD_FAILURE() << problem.message();
  }
  // It does nothing more.
  void kill() { log.reset(); }

  // Everything that was written so far was shown to somebody.
  void is_durable() {
    durable_count_ = static_cast<std::uint32_t>(states_.size() - 1);
    mark();
  }
  std::size_t sync_count() const {
    std::size_t count = 0;
    for (const sim::DiskOp& op : disk.log()) count += op.is_sync() ? 1 : 0;
    return count;
  }
  // Cuts the power at every point there was.
  std::uint64_t sweep(const std::string& what) {
    const crash::RecordedRun run{
        .start = {}, .log = disk.log(), .before_open = {crash::Records{}}, .states = states_};
    LogSubject subject(options_);
    const crash::SweepOptions few{.limits = {.all_subsets_atom_count = 3,
                                             .position_count_max = 4,
                                             .sample_count = 2,
                                             .garbage_count_max = 1},
                                  .recovery_every = 997};
    const auto result = crash::sweep_run(subject, run, few);
    EXPECT_TRUE(result.ok()) << what << ": " << result.summary();
    EXPECT_GT(result.state_count, 50u) << what;
    return result.state_count;
  }
  Bytes value(const std::string& key) const { return states_.back().at(key); }

  sim::SimDisk disk;
  std::unique_ptr<Backend> log;
  std::uint64_t before = 0;  // operations until it was opened again

 private:
  void begin(const crash::Step& step) {
    states_.push_back(crash::after(states_.back(), step));
    mark();
    WriteBatch batch;
    for (const auto& [key, value] : step.changes) {
      batch.add({Bytes::copy_of(as_byte_view(key)), value});
    }
    ASSERT_TRUE(log->write(batch));
  }
  void mark() {
    disk.mark(crash::to_mark({durable_count_, static_cast<std::uint32_t>(states_.size() - 1)}));
  }

  log::LogOptions options_;
  std::vector<crash::Records> states_ = {crash::Records{}};
  std::uint32_t durable_count_ = 0;
};

TEST(LogDoubt, OpeningAndReadingSomethingElseWaitForNoSync) {
  InDoubt world(false);
  const std::size_t sync_count = world.sync_count();
  EXPECT_EQ(world.log->get(as_byte_view("kept")).value(), world.value("kept"));
  EXPECT_EQ(world.log->get(as_byte_view("b")).value(), world.value("b"));
  EXPECT_EQ(world.log->get(as_byte_view("nowhere")).value(), std::nullopt);
  EXPECT_EQ(world.log->get_raw(as_byte_view("kept"), 10).value()->size(), 10u);
  EXPECT_EQ(world.log->multi_get({Bytes::copy_of("kept"), Bytes::copy_of("b")}).size(), 2u);
  EXPECT_EQ(world.sync_count(), sync_count);
  EXPECT_EQ(world.log->get(as_byte_view("a")).value(), world.value("a"));
  EXPECT_EQ(world.sync_count(), sync_count + 1);
  EXPECT_EQ(world.log->sequence(), 2u);
  EXPECT_EQ(world.sync_count(), sync_count + 1);
}

TEST(LogDoubt, WhoeverCouldSeeItMakesItDurableFirst) {
  struct Call {
    std::string name;
    std::function<void(InDoubt&)> make;
  };
  const std::vector<Call> calls = {
      {"get", [](InDoubt& w) { EXPECT_EQ(w.log->get(as_byte_view("a")).value(), w.value("a")); }},
      {"get of what it erased",
       [](InDoubt& w) { EXPECT_EQ(w.log->get(as_byte_view("b")).value(), std::nullopt); }},
      {"get_raw", [](InDoubt& w) { EXPECT_TRUE(w.log->get_raw(as_byte_view("new"), 1).value()); }},
      {"multi_get",
       [](InDoubt& w) {
         const auto values = w.log->multi_get({Bytes::copy_of("kept"), Bytes::copy_of("a")});
         EXPECT_EQ(values.at(0).value(), w.value("kept"));
         EXPECT_EQ(values.at(1).value(), w.value("a"));
       }},
      {"range", [](InDoubt& w) { EXPECT_EQ(w.log->range({}).value().entries.size(), 3u); }},
      {"snapshot",
       [](InDoubt& w) {
         EXPECT_EQ(w.log->snapshot().value()->get(as_byte_view("a")).value(), w.value("a"));
       }},
      {"sequence", [](InDoubt& w) { EXPECT_EQ(w.log->sequence(), 3u); }},
      {"stats", [](InDoubt& w) { EXPECT_EQ(w.log->stats().durable_sequence, 3u); }},
      {"verify", [](InDoubt& w) { EXPECT_TRUE(w.log->verify().value().empty()); }},
      {"sync", [](InDoubt& w) { EXPECT_TRUE(w.log->sync()); }},
      {"close", [](InDoubt& w) { EXPECT_TRUE(w.log->close()); }},
  };
  for (const Call& call : calls) {
    InDoubt world;
    const std::size_t sync_count = world.sync_count();
    call.make(world);
    EXPECT_GE(world.sync_count(), sync_count + 1) << call.name;
    world.is_durable();
    std::cout << call.name << ": " << world.sweep(call.name) << " states\n";
  }
}

TEST(LogDoubt, ABatchBehindItComesAfterIt) {
  InDoubt world;
  const std::size_t sync_count = world.sync_count();
  ASSERT_TRUE(world.log->write(one("kept", "later")));
  EXPECT_GE(world.sync_count(), sync_count + 1);
  EXPECT_EQ(world.log->stats().durable_sequence, 3u);
  EXPECT_EQ(world.log->stats().sequence, 4u);
  world.kill();
  world.open();
  EXPECT_EQ(value_at(*world.log, "kept"), "later");
  EXPECT_EQ(world.log->get(as_byte_view("a")).value(), world.value("a"));
}

TEST(LogDoubt, AProcessThatIsKilledBeforeThatLeavesItToTheNext) {
  InDoubt world;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(world.log->get(as_byte_view("kept")).value(), world.value("kept"));
    world.kill();
    world.open();
  }
  EXPECT_EQ(world.log->get(as_byte_view("a")).value(), world.value("a"));
  world.is_durable();
  EXPECT_EQ(world.log->get(as_byte_view("b")).value(), std::nullopt);
  std::cout << world.sweep("killed again") << " states\n";
}

TEST(LogDoubt, AnotherProcessSeesItOnceItIsDurable) {
  InDoubt world;
  const auto reader = log::open_log_to_read(world.disk, "log", small_log_options()).value();
  EXPECT_EQ(reader->sequence(), 1u);
  EXPECT_NE(reader->get(as_byte_view("a")).value(), world.value("a"));
  EXPECT_EQ(value_at(*reader, "new"), "(none)");
  ASSERT_TRUE(reader->refresh());
  EXPECT_EQ(reader->sequence(), 1u);
  EXPECT_EQ(world.log->get(as_byte_view("a")).value(), world.value("a"));
  ASSERT_TRUE(reader->refresh());
  EXPECT_EQ(reader->sequence(), 3u);
  EXPECT_EQ(reader->get(as_byte_view("a")).value(), world.value("a"));
}

// Every operation it takes, failing once and for ever, before and after it did its work.
TEST(LogDoubt, AFailureIsTheAnswerOfWhoeverNeedsItAndEndsTheWriting) {
  std::uint64_t state_count = 0;
  std::size_t failed_count = 0;
  for (const auto effect : {sim::Effect::none, sim::Effect::part, sim::Effect::all}) {
    for (const bool from_then_on : {false, true}) {
      for (std::uint64_t n = 1;; ++n) {
        SCOPED_TRACE(n);
        InDoubt world;
        world.disk.set_fault(sim::Fault{.op_number = world.disk.op_count() + n,
                                        .from_then_on = from_then_on,
                                        .effect = effect});
        const auto value = world.log->get(as_byte_view("a"));
        world.disk.set_fault(std::nullopt);
        if (value) {
          EXPECT_EQ(*value, world.value("a"));
          world.is_durable();
          state_count += world.sweep("a late failure");
          // Reading it and publishing may fail; reading, writing and syncing were before.
          if (n > 6) break;
          continue;
        }
        if (world.log->get(as_byte_view("a"))) continue;  // Only the reading had failed.
        ++failed_count;
        for (const std::string_view key : {"a", "b", "new"}) {
          EXPECT_FALSE(world.log->get(as_byte_view(key))) << key;
        }
        EXPECT_EQ(world.log->get(as_byte_view("kept")).value(), world.value("kept"));
        EXPECT_EQ(world.log->sequence(), 1u);
        EXPECT_EQ(world.log->stats().sequence, 1u);
        EXPECT_FALSE(world.log->range({}));
        EXPECT_FALSE(world.log->snapshot());
        EXPECT_FALSE(world.log->verify());
        EXPECT_FALSE(world.log->multi_get({Bytes::copy_of("a")}).at(0));
        EXPECT_EQ(world.log->write(one("kept", "later")).outcome(), WriteOutcome::failed);
        EXPECT_FALSE(world.log->sync());
        EXPECT_FALSE(world.log->close());
        world.kill();
        world.open();
        EXPECT_EQ(world.log->get(as_byte_view("a")).value(), world.value("a"));
        world.is_durable();
        state_count += world.sweep("a failure");
      }
    }
  }
  std::cout << failed_count << " failures, " << state_count << " states\n";
  EXPECT_GE(failed_count, 9u);
}

// A thread settles it beside those who read; they wait for it only where they must.
TEST(LogDoubt, ThreadsAreShownItWhenItIsDurable) {
  log::LogOptions options = unsynced_options();
  options.background = true;
  for (int round = 0; round < 20; ++round) {
    InDoubt world(true, options);
    const auto expect_whole = [&world] {
      EXPECT_EQ(world.log->get(as_byte_view("kept")).value(), world.value("kept"));
      EXPECT_EQ(world.log->get(as_byte_view("a")).value(), world.value("a"));
      EXPECT_EQ(world.log->stats().durable_sequence, 3u);
      EXPECT_EQ(world.log->get(as_byte_view("b")).value(), std::nullopt);
    };
    std::thread first(expect_whole);
    std::thread second(expect_whole);
    expect_whole();
    first.join();
    second.join();
    if (round % 2 == 0) {
      EXPECT_TRUE(world.log->write(one("kept", "later")));
    }
    EXPECT_TRUE(world.log->close());
  }
}

}  // namespace
}  // namespace varve::test
