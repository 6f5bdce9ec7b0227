// Bad days the game makes itself: generators, chunk types and hooks that fail, odd records.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "io/sim/sim_disk.h"
#include "store/commit_check.h"
#include "support/scratch_dir.h"
#include "world/flat_on_disk.h"

namespace varve::test {
namespace {

constexpr ChunkPos kHere(1, 2);
constexpr ChunkPos kThere(3, 4);

// --- The game's own code ---------------------------------------------------------------------

struct BadGenerator final : Generator {
  GeneratorId id() const override { return {.name = "bad", .version = 3}; }
  Result<Bytes> generate(const ChunkPos& pos) const override {
    if (pos[0] == 0) throw std::runtime_error("no idea");
    if (pos[0] == 1) return Bytes::copy_of("short");
    if (pos[0] == 2) return unsupported("nothing here");
    if (pos[0] == 3) throw 7;
    return FlatGenerator().generate(pos);
  }
};

TEST(WorldBadDays, AGeneratorThatFailsFailsThatChunkAlone) {
  FlatWorld flat({.generator = std::make_shared<BadGenerator>()});
  for (int x = 0; x < 4; ++x) {
    const auto loaded = flat.world->load_now({x, 0});
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code(), ErrorCode::invalid_argument) << "nothing stored is damaged";
    const std::string& message = loaded.error().message();
    EXPECT_NE(message.find("generator 'bad' 3"), std::string::npos) << message;
    EXPECT_NE(message.find("chunk:" + std::to_string(x)), std::string::npos) << message;
  }
  EXPECT_NE(flat.world->load_now({0, 0}).error().message().find("no idea"), std::string::npos);
  const std::string wrong_size = flat.world->load_now({1, 0}).error().message();
  EXPECT_NE(wrong_size.find("1024"), std::string::npos) << wrong_size;
  EXPECT_NE(wrong_size.find("5"), std::string::npos) << wrong_size;
  EXPECT_EQ(flat.at({4, 0}, 0), 7);
  // In the background too.
  ASSERT_TRUE(flat.world->request({0, 0}));
  ASSERT_TRUE(flat.world->request({5, 0}));
  std::size_t failed_count = 0;
  std::size_t loaded_count = 0;
  flat.update_until([&](const UpdateReport& report) {
    failed_count += report.failed.size();
    loaded_count += report.loaded.size();
    return failed_count + loaded_count == 2;
  });
  EXPECT_EQ(failed_count, 1U);
}

TEST(WorldBadDays, AnotherGeneratorIsRefusedUnlessItIsMeant) {
  FlatWorld flat;
  flat.world->tick();
  ASSERT_TRUE(flat.world->save().wait());
  ASSERT_TRUE(flat.world->close());
  WorldOptions other = flat_options();
  other.generator = std::make_shared<FlatGenerator>(std::uint8_t{8}, 2);
  const auto refused = World::open(flat.path, other);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("version 1"), std::string::npos);
  EXPECT_NE(refused.error().message().find("version 2"), std::string::npos);
  other.accept_other_generator = true;
  {
    auto accepted = World::open(flat.path, other);
    ASSERT_TRUE(accepted) << accepted.error().message();
    (*accepted)->tick();
    ASSERT_TRUE((*accepted)->close());
  }
  other.accept_other_generator = false;
  EXPECT_TRUE(World::open(flat.path, other)) << "it is remembered from then on";
  // Without any generator the rest can be read.
  auto bare = World::open(flat.path);
  ASSERT_TRUE(bare);
  const auto missing = (*bare)->load_now(kHere);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), ErrorCode::not_found);
  EXPECT_NE(missing.error().message().find("'flat' 2"), std::string::npos);
}

// Raw chunks, of which some cannot be encoded.
std::atomic<bool> broken = true;
class BrokenChunk final : public Chunk {
 public:
  explicit BrokenChunk(int how) : how_(how) {}
  Result<Bytes> encode(BufferPool&) const override {
    if (broken && how_ == 1) return invalid_argument("too many blocks");
    if (broken && how_ == 2) throw std::length_error("too long");
    return Bytes::copy_of("fine");
  }
  std::unique_ptr<Chunk> clone() const override { return std::make_unique<BrokenChunk>(*this); }
  Result<bool> apply(ByteView edit) override {
    how_ = static_cast<int>(edit[0]);
    return true;
  }
  std::size_t memory_size() const override { return 4; }

 private:
  int how_;
};

TEST(WorldBadDays, AChunkThatCannotBeEncodedStaysDirtyAndTheRestIsSaved) {
  broken = true;
  FlatWorld flat;
  World& world = *flat.world;
  ASSERT_TRUE(world.put({0, 0}, std::make_unique<BrokenChunk>(0)));
  ASSERT_TRUE(world.put({1, 0}, std::make_unique<BrokenChunk>(1)));
  ASSERT_TRUE(world.put({2, 0}, std::make_unique<BrokenChunk>(2)));
  const auto saved = world.save().wait();
  ASSERT_TRUE(saved) << "the rest was saved";
  ASSERT_EQ(saved->problems.size(), 2U);
  EXPECT_EQ(saved->problems[0].key, "chunk:1,0");
  EXPECT_NE(saved->problems[0].error.message().find("too many blocks"), std::string::npos);
  EXPECT_EQ(saved->problems[1].key, "chunk:2,0");
  EXPECT_NE(saved->problems[1].error.message().find("too long"), std::string::npos);
  EXPECT_EQ(world.state({0, 0}), ChunkState::persisted);
  EXPECT_EQ(world.state({1, 0}), ChunkState::dirty);
  EXPECT_EQ(world.state({2, 0}), ChunkState::dirty);
  EXPECT_TRUE(*world.store().read_chunk({0, 0}));
  EXPECT_FALSE(*world.store().read_chunk({1, 0}));
  const Status closed = world.close();
  ASSERT_FALSE(closed);
  EXPECT_NE(closed.error().message().find("chunk:1,0"), std::string::npos)
      << closed.error().message();
  broken = false;
  ASSERT_TRUE(world.close());
  flat.crash_and_reopen();
  EXPECT_TRUE(*flat.world->store().read_chunk({1, 0}));
  EXPECT_TRUE(*flat.world->store().read_chunk({2, 0}));
}

TEST(WorldBadDays, ExceptionsInTheBackgroundBecomeErrors) {
  FlatWorld flat({.log = [](const LogEvent&) { throw std::runtime_error("log"); }});
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  flat.control.before_commit([](const Commit&) -> Status { throw std::runtime_error("store"); });
  const auto saved = flat.world->save().wait();
  ASSERT_FALSE(saved);
  EXPECT_NE(saved.error().message().find("store"), std::string::npos);
  EXPECT_EQ(flat.world->state(kHere), ChunkState::dirty);
  flat.control.before_read_chunk(
      [](const ChunkPos&) -> Status { throw std::runtime_error("read"); });
  ASSERT_TRUE(flat.world->request(kThere));
  flat.update_until([](const UpdateReport& report) { return !report.failed.empty(); });
  flat.control.before_read_chunk({});
  flat.control.before_commit({});
  EXPECT_EQ(flat.at(kThere, 0), 7);
  ASSERT_TRUE(flat.world->save().wait());
  EXPECT_EQ(flat.stored_at(kHere, 0), 1);
}

TEST(WorldBadDays, AHookThatFailsFailsTheSaveAndKeepsTheWorldOpen) {
  int how = 0;
  FlatWorld flat({.before_save = [&](World& world) -> Status {
    if (how == 0) throw std::runtime_error("the ECS is locked");
    if (how == 1) return busy("the ECS is busy");
    return world.put_entity({.id = 1, .data = Bytes::copy_of("cow")});
  }});
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  for (how = 0; how < 2; ++how) {
    const auto saved = flat.world->save().wait();
    ASSERT_FALSE(saved);
    EXPECT_NE(saved.error().message().find("the ECS is"), std::string::npos);
    EXPECT_FALSE(flat.world->close());
    EXPECT_FALSE(flat.world->save_to(fresh_memory_path()).wait());
    EXPECT_EQ(flat.world->state(kHere), ChunkState::dirty);
  }
  EXPECT_EQ(flat.control.commit_count, 0U);
  // A paused world is saved too, with all the hook has to say.
  flat.world->pause();
  ASSERT_TRUE(flat.world->close());
  flat.crash_and_reopen();
  EXPECT_TRUE(*flat.world->store().read_entity(1));
  EXPECT_EQ(flat.stored_at(kHere, 0), 1);
}

TEST(WorldBadDays, AnEditThatThrowsIsAnErrorAndWhatItDidBeforeIsKept) {
  FlatWorld flat;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  const auto edited = flat.world->edit<RawChunk>(kHere, [](RawChunk& chunk) {
    const std::byte one{1};
    (void)chunk.set(0, {&one, 1});
    throw std::runtime_error("half-way");
  });
  ASSERT_FALSE(edited);
  EXPECT_NE(edited.error().message().find("half-way"), std::string::npos);
  EXPECT_EQ(flat.at(kHere, 0), 1);
  EXPECT_EQ(flat.world->state(kHere), ChunkState::dirty);
}

TEST(WorldBadDays, AChunkLargerThanTheFormatTakesHoldsUpNothingElse) {
  sim::SimDisk disk;
  Capabilities can = OneFileStore::everything();
  can.payload_size_max = 100;
  auto opened = World::on(*OneFileStore::create(disk, "save", can), {});
  ASSERT_TRUE(opened);
  World& world = **opened;
  ASSERT_TRUE(world.put(kHere, std::make_unique<RawChunk>(Bytes::copy_of(std::string(101, 'x')))));
  ASSERT_TRUE(world.put(kThere, std::make_unique<RawChunk>(Bytes::copy_of("small"))));
  const auto saved = world.save().wait();
  ASSERT_TRUE(saved);
  ASSERT_EQ(saved->problems.size(), 1U);
  EXPECT_EQ(saved->problems[0].key, "chunk:1,2");
  EXPECT_NE(saved->problems[0].error.message().find("101"), std::string::npos);
  EXPECT_EQ(world.state(kHere), ChunkState::dirty);
  EXPECT_EQ(world.state(kThere), ChunkState::persisted);
}

TEST(WorldBadDays, ADamagedWorldIsCopiedWithoutWhatIsDamaged) {
  broken = true;
  sim::SimDisk disk;
  Capabilities can = OneFileStore::everything();
  can.pins = false;  // so that the copy is read from the store itself
  StoreControl control;
  auto opened = World::on(hook(*OneFileStore::create(disk, "save", can), control), flat_options());
  ASSERT_TRUE(opened);
  World& world = **opened;
  for (int x = 0; x < 4; ++x) set(world, {x, 0}, 1);
  ASSERT_TRUE(world.save().wait());
  // One record cannot be read any more, and of another the newest state not be encoded.
  control.before_read_chunk([](const ChunkPos& pos) -> Status {
    if (pos == ChunkPos(1, 0)) return corruption("the checksum is wrong");
    return {};
  });
  ASSERT_TRUE(world.put({2, 0}, std::make_unique<BrokenChunk>(1)));
  const std::string path = fresh_memory_path();
  const auto copied = world.save_to(path, "memory").wait();
  ASSERT_TRUE(copied) << copied.error().message();
  ASSERT_EQ(copied->problems.size(), 2U);
  EXPECT_EQ(copied->problems[0].key, "chunk:2,0");
  EXPECT_EQ(copied->problems[1].key, "chunk:1,0");
  EXPECT_EQ(copied->chunk_count, 3U);
  auto copy = World::open(path, flat_options());
  ASSERT_TRUE(copy);
  EXPECT_EQ(get(**copy, {1, 0}), 7) << "left out";
  EXPECT_EQ(get(**copy, {2, 0}), 1) << "as it is stored";
  // A store that cannot be read at all is no such case.
  control.before_read_chunk([](const ChunkPos&) -> Status { return io_error("the disk is gone"); });
  EXPECT_EQ(world.save_to(fresh_memory_path(), "memory").wait().error().code(), ErrorCode::io);
  broken = false;
}

TEST(WorldBadDays, WhatTheHookOfACopyCallsWorks) {
  SaveHandle inner;
  Status closed;
  FlatWorld flat({.before_save = [&](World& world) {
    inner = world.save();
    closed = world.close();
    return Status();
  }});
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  ASSERT_TRUE(flat.world->save_to(fresh_memory_path()).wait());
  EXPECT_EQ(closed.error().code(), ErrorCode::busy);
  ASSERT_TRUE(inner.wait());
  EXPECT_EQ(flat.stored_at(kHere, 0), 1);
}

// --- Odd records -------------------------------------------------------------------------------

TEST(WorldBadDays, AnEntityWithoutAChunkIsKeptOrRefusedWhenItIsPut) {
  FlatWorld flat;
  ASSERT_TRUE(flat.world->put_entity({.id = 1, .data = Bytes::copy_of("nowhere")}));
  ASSERT_TRUE(flat.world->put_entity({.id = 2, .owner = kThere, .data = Bytes::copy_of("there")}));
  ASSERT_TRUE(flat.world->close());
  flat.crash_and_reopen();
  EXPECT_EQ((*flat.world->load_entity(1))->data, Bytes::copy_of("nowhere"));
  ASSERT_TRUE(flat.world->load_now(kThere)) << "a chunk that was never saved";
  ASSERT_EQ(flat.world->entities_in(kThere).size(), 1U);

  sim::SimDisk disk;
  Capabilities can = OneFileStore::everything();
  can.entities_without_owner = false;
  auto strict = World::on(*OneFileStore::create(disk, "save", can), flat_options());
  ASSERT_TRUE(strict);
  const Status refused = (*strict)->put_entity({.id = 17});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::unsupported);
  EXPECT_NE(refused.error().message().find("entity:17"), std::string::npos);
  EXPECT_TRUE((*strict)->save().wait()) << "nothing stands in the way of the next save";
}

TEST(WorldBadDays, ARecordIsRefusedInTheWordsOfTheStore) {
  sim::SimDisk disk;
  Capabilities can = OneFileStore::everything();
  can.coordinate_count_max = 2;
  can.payload_size_max = 3;
  can.spaces = can.entities_without_owner = can.players = false;
  auto opened = World::on(*OneFileStore::create(disk, "save", can), {});
  ASSERT_TRUE(opened);
  World& world = **opened;
  const auto expect_same = [&](const Status& refused, const Commit& commit) {
    ASSERT_FALSE(refused);
    const Status by_store = check_commit(commit, world.store().capabilities(), 0);
    ASSERT_FALSE(by_store) << refused.error().message();
    EXPECT_EQ(refused.error().code(), by_store.error().code());
    EXPECT_EQ(refused.error().message(), by_store.error().message());
  };
  const Bytes four = Bytes::copy_of("four");
  ChunkPos stray = kHere;
  stray.coordinates[3] = 1;
  ChunkPos nowhere = kHere;
  nowhere.coordinate_count = 0;
  for (const ChunkPos& pos :
       {ChunkPos(1, 2, 3), kHere.in(*Space::named("the_nether")), stray, nowhere}) {
    expect_same(world.put(pos, std::make_unique<RawChunk>(Bytes())), {.chunks = {{pos, Bytes()}}});
    expect_same(world.put_entity({.id = 7, .owner = pos}), {.entities = {{7, EntityValue{pos}}}});
  }
  expect_same(world.put_entity({.id = 7}), {.entities = {{7, EntityValue{}}}});
  expect_same(world.put_entity({.id = 7, .owner = kHere, .data = four}),
              {.entities = {{7, EntityValue{kHere, four}}}});
  expect_same(world.put_player("ann", Bytes()), {.players = {{"ann", Bytes()}}});
  expect_same(world.erase_player(""), {.players = {{"", {}}}});
  expect_same(world.put_global("sky", four), {.globals = {{"sky", four}}});
  expect_same(world.put_global("a\nb", Bytes()), {.globals = {{"a\nb", Bytes()}}});

  ASSERT_TRUE(world.put(kHere, std::make_unique<RawChunk>(four)));
  const auto saved = world.save().wait();
  ASSERT_TRUE(saved);
  ASSERT_EQ(saved->problems.size(), 1U);
  expect_same(saved->problems[0].error, {.tick = 0, .chunks = {{kHere, four}}});
}

TEST(WorldBadDays, NamesMayBeAnythingThatIsText) {
  const ScratchDir dir;
  const std::vector<std::string> names = {"a.b",  "a b",          "..",     "../../etc/passwd",
                                          "/abs", "Ünïcödé 世界", "a\\b:c", std::string(255, 'x')};
  {
    auto opened = create_on(posix_vfs(), dir.file("my.world v2 ü"));
    ASSERT_TRUE(opened) << opened.error().message();
    for (const std::string& name : names) {
      ASSERT_TRUE((*opened)->put_player(name, Bytes::copy_of("p" + name))) << name;
      ASSERT_TRUE((*opened)->put_global(name, Bytes::copy_of("g" + name))) << name;
      const Space space = *Space::named(name);
      set(**opened, kHere.in(space), 4);
    }
    for (const std::string& bad : {std::string(), std::string("a\nb"), std::string("a\0b", 3),
                                   std::string("\xff\xfe"), std::string(256, 'x')}) {
      EXPECT_EQ((*opened)->put_player(bad, {}).error().code(), ErrorCode::invalid_argument);
      EXPECT_EQ((*opened)->put_global(bad, {}).error().code(), ErrorCode::invalid_argument);
    }
    ASSERT_TRUE((*opened)->close());
  }
  auto reopened = open_on(posix_vfs(), dir.file("my.world v2 ü"));
  ASSERT_TRUE(reopened);
  for (const std::string& name : names) {
    EXPECT_EQ(**(*reopened)->load_player(name), Bytes::copy_of("p" + name));
    EXPECT_EQ(**(*reopened)->load_global(name), Bytes::copy_of("g" + name));
    EXPECT_EQ(get(**reopened, kHere.in(*Space::named(name))), 4);
  }
}

TEST(WorldBadDays, OpeningWhatIsNotThereOrNamesNoFormatIsExplained) {
  const auto missing = World::open("memory:was-never-made");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code(), ErrorCode::not_found);
  const auto homeless = World::create("no such folder/world");
  ASSERT_FALSE(homeless);
  EXPECT_EQ(homeless.error().code(), ErrorCode::not_found);
  EXPECT_NE(homeless.error().message().find("no such folder/world"), std::string::npos);
  const auto unknown = World::create("some/path", {.format = "tape"});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message().find("tape"), std::string::npos);
  EXPECT_FALSE(World::on(nullptr));
  const std::string path = fresh_memory_path();
  auto first = World::create(path);
  ASSERT_TRUE(first);
  EXPECT_FALSE(World::create(path));
  const auto second = World::open(path);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::busy);
}

TEST(WorldBadDays, DroppingADirtyWorldIsSaidInTheLog) {
  std::mutex mutex;
  std::vector<LogEvent> events;
  {
    FlatWorld flat({.log = [&](const LogEvent& event) {
      const std::lock_guard lock(mutex);
      events.push_back(event);
    }});
    ASSERT_EQ(flat.at(kHere, 0), 7);
    ASSERT_TRUE(flat.set(kHere, 0, 1));
  }
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().level, LogLevel::warning);
}

}  // namespace
}  // namespace varve::test
