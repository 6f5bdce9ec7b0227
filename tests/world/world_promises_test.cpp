// What the headers promise in a subordinate clause: priorities, times, logs, counts, order.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "contract/one_file_store.h"
#include "io/sim/sim_disk.h"
#include "support/scratch_dir.h"
#include "varve/format.h"
#include "world/sample_world.h"

namespace varve::test {
namespace {

using namespace std::chrono_literals;

constexpr ChunkPos kHere(1, 2);
constexpr ChunkPos kThere(3, 4);

Bytes text(std::string_view words) { return Bytes::copy_of(words); }

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

// --- Priority --------------------------------------------------------------------------------

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

// --- Handles and times -------------------------------------------------------------------------

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

// --- Autosave, changed while running -------------------------------------------------------------

TEST(WorldPromises, AutosaveIsSwitchedOnAndOffWhileRunning) {
  FlatWorld flat({.autosave = AutosaveConfig{.enabled = false, .interval_s = 10}});
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  flat.world->update(1000);
  EXPECT_EQ(flat.world->telemetry().save_start_us.count(), 0U);
  ASSERT_TRUE(flat.world->set_autosave({.enabled = true, .interval_s = 10}));
  flat.world->update(10);
  EXPECT_EQ(flat.world->telemetry().save_start_us.count(), 1U);
  flat.update_until([&] { return !flat.world->is_saving(); });
  EXPECT_EQ(flat.stored_at(kHere, 0), 1);
  ASSERT_TRUE(flat.set(kHere, 0, 2));
  ASSERT_TRUE(flat.world->set_autosave({.enabled = false, .interval_s = 10}));
  EXPECT_FALSE(flat.world->autosave().enabled);
  flat.world->update(1000);
  EXPECT_EQ(flat.world->telemetry().save_start_us.count(), 1U);
  EXPECT_EQ(flat.control.commit_count, 1U);
  EXPECT_EQ(flat.world->state(kHere), ChunkState::dirty);
}

TEST(WorldPromises, TheNumberOfBackupsIsChangedWhileRunning) {
  FlatWorld flat({.autosave = AutosaveConfig{.max_backups = 1}});
  const auto save = [&](std::string_view label) {
    ASSERT_TRUE(flat.world->put_global("label", text(label)));
    ASSERT_TRUE(flat.world->save().wait());
  };
  const auto label_of = [&](const std::string& suffix) -> std::string {
    auto opened = World::open(flat.path + suffix);
    if (!opened) return std::string(to_string(opened.error().code()));
    return std::string((**(*opened)->load_global("label")).text());
  };
  const std::string none(to_string(ErrorCode::not_found));
  save("a");
  save("b");
  EXPECT_EQ(label_of(".backup"), "a");
  ASSERT_TRUE(flat.world->set_autosave({.max_backups = 0}));
  EXPECT_EQ(label_of(".backup"), "a") << "nothing goes before the next save";
  save("c");
  EXPECT_EQ(label_of(".backup"), none);
  ASSERT_TRUE(flat.world->set_autosave({.max_backups = 2}));
  save("d");
  EXPECT_EQ(label_of(".backup"), "c");
  save("e");
  save("f");
  EXPECT_EQ(label_of(".backup"), "e");
  EXPECT_EQ(label_of(".backup.2"), "d");
  EXPECT_EQ(label_of(".backup.3"), none);
}

TEST(WorldPromises, TheTimeToTheNextTryIsChangedWhileRunning) {
  FlatWorld flat({.autosave = AutosaveConfig{.interval_s = 100, .retry_s = 50}});
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  flat.control.before_commit([](const Commit&) { return Status(io_error("it failed")); });
  flat.world->update(100);
  flat.update_until([&] { return !flat.world->is_saving(); });
  flat.world->update(10);
  EXPECT_EQ(flat.world->telemetry().save_start_us.count(), 1U);
  // Sooner: the ten seconds that have passed are enough now.
  ASSERT_TRUE(flat.world->set_autosave({.interval_s = 100, .retry_s = 10}));
  flat.world->update(0);
  EXPECT_EQ(flat.world->telemetry().save_start_us.count(), 2U);
  flat.update_until([&] { return !flat.world->is_saving(); });
  EXPECT_EQ(flat.control.commit_count, 2U);
  // Later: after the second failure it is twice 40, not twice 10.
  ASSERT_TRUE(flat.world->set_autosave({.interval_s = 100, .retry_s = 40}));
  flat.world->update(79);
  EXPECT_EQ(flat.world->telemetry().save_start_us.count(), 2U);
  flat.control.before_commit({});
  flat.world->update(1);
  EXPECT_EQ(flat.world->telemetry().save_start_us.count(), 3U);
  flat.update_until([&] { return !flat.world->is_saving(); });
  EXPECT_EQ(flat.stored_at(kHere, 0), 1);
  EXPECT_EQ(flat.control.commit_count, 3U);
}

// --- The log -------------------------------------------------------------------------------------

class Log {
 public:
  LogCallback callback() {
    return [this](const LogEvent& event) {
      const std::lock_guard lock(mutex_);
      events_.push_back(event);
    };
  }
  std::vector<LogEvent> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(events_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<LogEvent> events_;
};

std::string field(const LogEvent& event, std::string_view name) {
  for (const auto& [key, value] : event.fields)
    if (key == name) return value;
  return "no such field";
}

// A save that works, one that fails, and loads that fail, blocking and in the background.
void live_through_good_and_bad(FlatWorld& flat, const std::function<void(std::string_view)>& then) {
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  ASSERT_TRUE(flat.world->save().wait());
  flat.world->update(0);
  then("saved");
  ASSERT_TRUE(flat.set(kHere, 0, 2));
  flat.control.before_commit([](const Commit&) { return Status(out_of_space("no room")); });
  ASSERT_FALSE(flat.world->save().wait());
  flat.world->update(0);
  then("not saved");
  flat.control.before_commit({});
  flat.control.before_read_chunk([](const ChunkPos&) { return Status(corruption("it is torn")); });
  ASSERT_FALSE(flat.world->load_now(kThere));
  then("not loaded");
  ASSERT_TRUE(flat.world->request({5, 6}));
  flat.update_until([](const UpdateReport& report) { return !report.failed.empty(); });
  then("not loaded in the background");
}

TEST(WorldPromises, TheLogTellsWhatWasSavedAndWhatFailed) {
  Log log;
  FlatWorld flat({.log = log.callback()});
  std::map<std::string_view, std::vector<LogEvent>> logged;
  ASSERT_NO_FATAL_FAILURE(live_through_good_and_bad(
      flat, [&](std::string_view chapter) { logged[chapter] = log.take(); }));
  ASSERT_EQ(logged.size(), 4U);
  for (const auto& [chapter, events] : logged) {
    ASSERT_EQ(events.size(), 1U) << chapter;
    EXPECT_FALSE(events[0].message.empty()) << chapter;
  }
  const LogEvent& saved = logged["saved"][0];
  EXPECT_EQ(saved.level, LogLevel::info);
  EXPECT_EQ(field(saved, "generation"), std::to_string(flat.world->store().generation()));
  EXPECT_EQ(field(saved, "chunks"), "1");
  const LogEvent& not_saved = logged["not saved"][0];
  EXPECT_EQ(not_saved.level, LogLevel::error);
  EXPECT_EQ(field(not_saved, "code"), to_string(ErrorCode::out_of_space));
  EXPECT_EQ(field(not_saved, "error"), "no room");
  for (const auto& [chapter, where] : {std::pair("not loaded", kThere),
                                       std::pair("not loaded in the background", ChunkPos(5, 6))}) {
    const LogEvent& not_loaded = logged[chapter][0];
    EXPECT_EQ(not_loaded.level, LogLevel::error) << chapter;
    EXPECT_EQ(field(not_loaded, "code"), to_string(ErrorCode::corruption)) << chapter;
    EXPECT_NE(not_loaded.message.find(to_string(where)), std::string::npos) << not_loaded.message;
  }
}

TEST(WorldPromises, WithoutALogEverythingHappensInSilence) {
  FlatWorld flat;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  int chapter_count = 0;
  live_through_good_and_bad(flat, [&](std::string_view) { ++chapter_count; });
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(chapter_count, 4);
  EXPECT_EQ(flat.world->telemetry().save_failure_count, 1U);
  EXPECT_EQ(flat.world->telemetry().load_failure_count, 2U);
}

// --- Formats
// ---------------------------------------------------------------------------------------

TEST(WorldPromises, TheFormatIsChosenForANewWorldAndFoundOutLater) {
  // Registered formats stay for the life of the process; another test may have been first.
  if (!find_format("onefile")) {
    ASSERT_TRUE(register_format(std::make_unique<OneFileFormat>(posix_vfs())));
  }
  const ScratchDir dir;
  const std::string path = dir.file("world");
  const WorldOptions any{.generator = std::make_shared<FlatGenerator>()};
  WorldOptions chosen = any;
  chosen.format = "onefile";
  EXPECT_EQ(World::create(path, any).error().code(), ErrorCode::invalid_argument)
      << "a new world needs a format";
  EXPECT_EQ(World::open(path, chosen).error().code(), ErrorCode::not_found);
  {
    auto created = World::create(path, chosen);
    ASSERT_TRUE(created) << created.error().message();
    EXPECT_EQ((*created)->store().capabilities().format, "onefile");
    ASSERT_TRUE((*created)->put_global("label", text("mine")));
    ASSERT_TRUE((*created)->close());
  }
  EXPECT_FALSE(World::create(path, chosen)) << "there is one already";
  for (const WorldOptions& options : {chosen, any}) {
    auto opened = World::open(path, options);
    ASSERT_TRUE(opened) << opened.error().message();
    EXPECT_EQ((*opened)->store().capabilities().format, "onefile");
    EXPECT_EQ(**(*opened)->load_global("label"), text("mine"));
    ASSERT_TRUE((*opened)->close());
  }
  WorldOptions unknown = any;
  unknown.format = "no such format";
  const auto refused = World::open(path, unknown);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("no such format"), std::string::npos);
  EXPECT_TRUE(World::open_or_create(dir.file("other"), chosen));
}

TEST(WorldPromises, APinIsUnsupportedWhereTheFormatHasNone) {
  sim::SimDisk disk;
  Capabilities can = OneFileStore::everything();
  can.pins = false;
  auto opened = World::on(*OneFileStore::create(disk, "save", can));
  ASSERT_TRUE(opened);
  World& world = **opened;
  ASSERT_TRUE(world.put_global("label", text("mine")));
  ASSERT_TRUE(world.save().wait());
  const auto view = world.pin();
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code(), ErrorCode::unsupported);
  EXPECT_NE(view.error().message().find(can.format), std::string::npos) << view.error().message();
  EXPECT_EQ(**world.load_global("label"), text("mine")) << "nothing else suffers";
}

// --- Order
// -----------------------------------------------------------------------------------------

struct SeenCommit {
  std::uint64_t tick = 0;
  std::map<std::string, int> chunks = {};
  std::map<std::string, std::string> players = {};
  std::map<std::string, std::string> globals = {};
  std::optional<std::uint32_t> backup_count = {};
};

SeenCommit seen(const Commit& commit) {
  SeenCommit seen{.tick = commit.tick, .backup_count = commit.backup_count};
  for (const ChunkChange& change : commit.chunks)
    seen.chunks[to_string(change.pos)] =
        change.payload ? static_cast<int>(change.payload->view()[0]) : -1;
  for (const NamedChange& change : commit.players)
    seen.players[change.name] = change.data ? std::string(change.data->text()) : "erased";
  for (const NamedChange& change : commit.globals)
    seen.globals[change.name] = change.data ? std::string(change.data->text()) : "erased";
  return seen;
}

TEST(WorldPromises, CommitsComeInTheOrderTheyWereAskedFor) {
  using Chunks = std::map<std::string, int>;
  using Named = std::map<std::string, std::string>;
  Gate gate;
  std::mutex mutex;
  std::vector<SeenCommit> commits;
  std::vector<std::uint64_t> generations;
  FlatWorld flat;
  GateOpener opener(gate);
  flat.control.before_commit([&](const Commit& commit) {
    {
      const std::lock_guard lock(mutex);
      commits.push_back(seen(commit));
    }
    gate.pass();
    return Status();
  });
  flat.control.after_commit([&](const Result<CommitStats>& stats) {
    const std::lock_guard lock(mutex);
    generations.push_back(stats ? stats->generation : 0);
  });
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_EQ(flat.at(kThere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  ASSERT_TRUE(flat.set(kThere, 0, 1));
  ASSERT_TRUE(flat.world->put_player("anna", text("1")));
  ASSERT_TRUE(flat.world->put_global("label", text("1")));
  flat.world->tick();
  SaveHandle first = flat.world->save();
  gate.wait_for_arrivals(1);
  // The store stands still, and everything changes again.
  flat.world->tick();
  ASSERT_TRUE(flat.set(kHere, 0, 2));
  ASSERT_TRUE(flat.set(kThere, 0, 2));
  ASSERT_TRUE(flat.world->put_player("anna", text("2")));
  ASSERT_TRUE(flat.world->put_global("label", text("2")));
  SaveHandle left = flat.world->player_left("anna");
  flat.world->evict(kThere);
  flat.world->update(0);
  SaveHandle second = flat.world->save();
  ASSERT_TRUE(flat.set(kHere, 0, 3));
  EXPECT_EQ(flat.control.commit_count, 1U) << "one at a time";
  gate.open();
  ASSERT_TRUE(second.wait());
  EXPECT_TRUE(first.is_stored());
  EXPECT_TRUE(left.is_stored());
  flat.world->update(0);
  EXPECT_EQ(flat.world->state(kThere), ChunkState::absent);

  const std::lock_guard lock(mutex);
  ASSERT_EQ(commits.size(), 4U);
  EXPECT_EQ(commits[0].chunks, (Chunks{{to_string(kHere), 1}, {to_string(kThere), 1}}));
  EXPECT_EQ(commits[0].players, (Named{{"anna", "1"}}));
  EXPECT_EQ(commits[0].globals, (Named{{"label", "1"}}));
  // Parts of the world bring what they are about and nothing else.
  EXPECT_EQ(commits[1].chunks, Chunks());
  EXPECT_EQ(commits[1].players, (Named{{"anna", "2"}}));
  EXPECT_EQ(commits[1].globals, Named());
  EXPECT_EQ(commits[2].chunks, (Chunks{{to_string(kThere), 2}}));
  EXPECT_EQ(commits[2].players, Named());
  EXPECT_EQ(commits[2].globals, Named());
  // The rest, and nothing again that went before it.
  EXPECT_EQ(commits[3].chunks, (Chunks{{to_string(kHere), 3}}));
  EXPECT_EQ(commits[3].players, Named());
  EXPECT_EQ(commits[3].globals, (Named{{"label", "2"}}));
  // Only a save of everything moves the tick, or a backup.
  for (const auto& [index, tick] : {std::pair(0, 1U), {1, 1U}, {2, 1U}, {3, 2U}})
    EXPECT_EQ(commits[static_cast<std::size_t>(index)].tick, tick) << index;
  EXPECT_TRUE(commits[0].backup_count);
  EXPECT_FALSE(commits[1].backup_count);
  EXPECT_FALSE(commits[2].backup_count);
  EXPECT_TRUE(commits[3].backup_count);
  EXPECT_EQ(generations, (std::vector<std::uint64_t>{1, 2, 3, 4}));
  EXPECT_EQ(first.wait()->generation, 1U);
  EXPECT_EQ(left.wait()->generation, 2U);
  EXPECT_EQ(second.wait()->generation, 4U);
  EXPECT_EQ(flat.stored_at(kHere, 0), 3);
  EXPECT_EQ(flat.stored_at(kThere, 0), 2);
  EXPECT_EQ(**flat.world->store().read_player("anna"), text("2"));
}

// --- Buffers
// -----------------------------------------------------------------------------------------

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

// --- Telemetry
// -----------------------------------------------------------------------------------------

TEST(WorldPromises, TelemetryCountsExactly) {
  std::atomic<std::uint64_t> written_size = 0;
  FlatWorld flat;
  flat.control.after_commit([&](const Result<CommitStats>& stats) {
    if (stats) written_size += stats->written_size;
  });
  World& world = *flat.world;
  ASSERT_EQ(flat.at(kHere, 0), 7);   // a miss, generated
  ASSERT_EQ(flat.at(kHere, 0), 7);   // a hit
  ASSERT_EQ(flat.at(kThere, 0), 7);  // a miss, generated
  EXPECT_TRUE(world.get(kThere));    // a hit
  EXPECT_FALSE(world.get({9, 9}));   // a miss
  ASSERT_TRUE(world.request({5, 6}));
  flat.update_until([](const UpdateReport& report) { return !report.loaded.empty(); });
  ASSERT_TRUE(*flat.set(kHere, 0, 1));
  ASSERT_TRUE(*flat.set(kHere, 0, 2));
  ASSERT_FALSE(*flat.set(kHere, 0, 2)) << "nothing changes";
  ASSERT_FALSE(flat.set({9, 9}, 0, 1)) << "not in memory";
  ASSERT_TRUE(
      world.put({8, 8}, std::make_unique<RawChunk>(Bytes(Buffer(kFlatChunkSize).freeze()))));
  ASSERT_TRUE(world.erase(kThere));
  Telemetry telemetry = world.telemetry();
  EXPECT_EQ(telemetry.edit_count, 4U);
  EXPECT_EQ(telemetry.hit_count, 2U);
  EXPECT_EQ(telemetry.miss_count, 3U);
  EXPECT_EQ(telemetry.generated_count, 3U);
  EXPECT_EQ(telemetry.load_count, 3U);
  EXPECT_EQ(telemetry.resident_chunk_count, 3U);
  EXPECT_EQ(telemetry.dirty_chunk_count, 3U);
  EXPECT_EQ(telemetry.commit_count, 0U);
  EXPECT_EQ(telemetry.bytes_written, 0U);

  ASSERT_TRUE(world.save().wait());
  EXPECT_EQ(world.telemetry().commit_count, 1U);
  EXPECT_GE(world.telemetry().bytes_written, 2 * kFlatChunkSize);
  ASSERT_TRUE(world.put_player("anna", text("a")));
  ASSERT_TRUE(world.player_left("anna").wait());
  ASSERT_TRUE(flat.set(kHere, 0, 3));
  flat.control.before_commit([](const Commit&) { return Status(io_error("it failed")); });
  ASSERT_FALSE(world.save().wait());
  EXPECT_EQ(world.telemetry().commit_count, 2U) << "one that failed is none";
  flat.control.before_commit({});
  ASSERT_TRUE(world.save().wait());
  ASSERT_TRUE(world.save().wait()) << "nothing is new, and nothing is committed";
  // What was stored is not generated when it is loaded again.
  world.evict(kHere);
  ASSERT_EQ(flat.at(kHere, 0), 3);
  telemetry = world.telemetry();
  EXPECT_EQ(telemetry.edit_count, 5U);
  EXPECT_EQ(telemetry.hit_count, 2U);
  EXPECT_EQ(telemetry.miss_count, 4U);
  EXPECT_EQ(telemetry.generated_count, 3U);
  EXPECT_EQ(telemetry.load_count, 4U);
  EXPECT_EQ(telemetry.evicted_count, 1U);
  EXPECT_EQ(telemetry.commit_count, 3U);
  EXPECT_EQ(telemetry.save_count, 2U);
  EXPECT_EQ(telemetry.save_failure_count, 1U);
  EXPECT_EQ(telemetry.encode_count, 4U) << "two, one that was not stored, and that one again";
  EXPECT_EQ(telemetry.dirty_record_count, 0U);
  EXPECT_EQ(telemetry.bytes_written, written_size);
}

}  // namespace
}  // namespace varve::test
