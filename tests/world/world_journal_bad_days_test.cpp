// Worlds with a journal when things go wrong around it: journals that are moved, missing,
// another's; disks that fail for good; chunks that cannot be saved; saves and players in the midst
// of a tick.
#include <gtest/gtest.h>

#include <filesystem>

#include "io/sim/sim_disk.h"
#include "support/scratch_dir.h"
#include "varve/format.h"
#include "varve/world.h"
#include "world/sample_world.h"
#include "world/world_seam.h"

namespace varve::test {
namespace {

namespace fs = std::filesystem;

Bytes bytes(std::string_view text) { return Bytes::copy_of(text); }
std::unique_ptr<RawChunk> raw(std::string_view text) {
  return std::make_unique<RawChunk>(bytes(text));
}
std::string at(World& world, const ChunkPos& pos) {
  const auto chunk = world.load_now(pos);
  return chunk ? std::string(as_text(chunk->as<RawChunk>().view())) : "none";
}
constexpr ChunkPos kHome(1, 0);

WorldOptions quiet(std::optional<JournalConfig> journal) {
  WorldOptions options;
  options.autosave = AutosaveConfig{.enabled = false, .max_backups = 0};
  options.timed_saves = {.players_s = 0};
  options.journal = std::move(journal);
  return options;
}

class WorldJournalBadDays : public testing::Test {
 protected:
  std::unique_ptr<World> open(std::optional<JournalConfig> journal) {
    auto world = World::open_or_create(path, quiet(std::move(journal)));
    EXPECT_TRUE(world) << world.error().message();
    return world ? *std::move(world) : nullptr;
  }
  // A world whose journal knows what its save does not.
  void play(std::optional<JournalConfig> journal, std::string_view text) {
    auto world = open(std::move(journal));
    ASSERT_TRUE(world->put(kHome, raw(text)));
    world->tick();
    ASSERT_TRUE(world->make_durable());
  }

  const ScratchDir dir;
  const std::string path = dir.file("arena");
};

TEST_F(WorldJournalBadDays, AJournalInAnotherPlaceBeginsWithWhatTheOldOneKnew) {
  play(JournalConfig{}, "from the first");
  auto world = open(JournalConfig{.path = dir.file("elsewhere")});
  EXPECT_EQ(at(*world, kHome), "from the first");
  EXPECT_EQ(world->current_tick(), 1U);
  ASSERT_TRUE(world->put(kHome, raw("from the second")));
  world->tick();
  world.reset();
  // And back, which finds the second by what the save says of it.
  world = open(JournalConfig{});
  EXPECT_EQ(at(*world, kHome), "from the second");
  EXPECT_TRUE(fs::exists(path + ".journal.detached"));
}

TEST_F(WorldJournalBadDays, EditsAreNotAppliedByAnotherType) {
  play(JournalConfig{}, "raw");
  for (std::optional<JournalConfig> journal : {std::optional<JournalConfig>(), {JournalConfig{}}}) {
    WorldOptions options = quiet(std::move(journal));
    options.chunk_type = std::make_shared<SectionType>();
    const auto refused = World::open(path, options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::invalid_argument);
  }
  EXPECT_EQ(at(*open(std::nullopt), kHome), "raw");
}

TEST_F(WorldJournalBadDays, AJournalThatWasAwayIsNotBelievedWhenItIsBack) {
  play(JournalConfig{}, "old");
  fs::rename(path + ".journal", dir.file("away"));
  {
    auto world = open(std::nullopt);
    EXPECT_EQ(at(*world, kHome), "none");
    ASSERT_TRUE(world->put(kHome, raw("new")));
    ASSERT_TRUE(world->close());
  }
  fs::rename(dir.file("away"), path + ".journal");
  EXPECT_EQ(at(*open(JournalConfig{}), kHome), "new");
  EXPECT_TRUE(fs::exists(path + ".journal.detached"));
}

TEST_F(WorldJournalBadDays, ASaveThatGetsAnEmptyJournalGetsAnIdOfItsOwn) {
  const JournalConfig shared{.path = dir.file("shared.journal")};
  ASSERT_TRUE(open(shared)->close());
  {
    auto other = World::open_or_create(dir.file("other"), quiet(shared)).value();
    ASSERT_TRUE(other->put(kHome, raw("the other's")));
    other->tick();
  }
  EXPECT_EQ(at(*open(shared), kHome), "none");
}

TEST_F(WorldJournalBadDays, ALogWithoutItsIndexIsNotTakenForNew) {
  play(JournalConfig{}, "kept");
  fs::remove_all(path + ".journal/index");
  const auto refused = World::open(path, quiet(JournalConfig{}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::corruption) << refused.error().message();
}

TEST_F(WorldJournalBadDays, NothingIsMadeWhereASaveSaysItsJournalIs) {
  ASSERT_TRUE(open(JournalConfig{.path = dir.file("mine.journal")})->close());
  fs::remove_all(dir.file("mine.journal"));
  fs::create_directories(dir.file("mine.journal/of somebody else"));
  ASSERT_TRUE(open(std::nullopt)->close());
  EXPECT_FALSE(fs::exists(dir.file("mine.journal/index")));
  EXPECT_FALSE(fs::exists(dir.file("mine.journal/lock")));
}

TEST_F(WorldJournalBadDays, TheLinkIsNotTheGames) {
  auto world = open(JournalConfig{});
  EXPECT_FALSE(world->put_global("varve:journal", bytes("x")));
  EXPECT_FALSE(world->erase_global("varve:journal"));
  // A copy has a journal of its own, or none.
  ASSERT_TRUE(world->put(kHome, raw("copied")));
  ASSERT_TRUE(world->save_to(dir.file("copy")).wait());
  ASSERT_TRUE(world->close());
  auto copy = World::open(dir.file("copy"), quiet(std::nullopt)).value();
  EXPECT_FALSE(copy->store().read_global("varve:journal")->has_value());
  EXPECT_EQ(at(*copy, kHome), "copied");
}

TEST_F(WorldJournalBadDays, APlayerWhoIsBackInTheSameTickStays) {
  auto world = open(JournalConfig{});
  ASSERT_TRUE(world->put_player("ann", bytes("left")));
  SaveHandle left = world->player_left("ann");
  ASSERT_TRUE(world->put_player("ann", bytes("back")));
  world->tick();
  ASSERT_TRUE(left.wait());
  world->update(0);
  ASSERT_TRUE(world->player("ann"));
  EXPECT_EQ(world->player("ann")->text(), "back");
}

TEST_F(WorldJournalBadDays, WaitingInAHookForWhatCannotBeginIsBusy) {
  WorldOptions options = quiet(JournalConfig{});
  ErrorCode code = ErrorCode::io;
  options.before_save = [&](World& world) -> Status {
    if (!world.put_global("hook", bytes("ran"))) return invalid_argument("no put");
    const auto saved = world.save().wait();
    if (!saved) code = saved.error().code();
    return {};
  };
  auto world = World::open_or_create(path, options).value();
  ASSERT_TRUE(world->put(kHome, raw("x")));
  world->tick();
  ASSERT_TRUE(world->save_to(dir.file("copy")).wait());
  EXPECT_EQ(code, ErrorCode::busy);
}

TEST_F(WorldJournalBadDays, SavesThatWaitForATickAreMadeWhenTheWorldGoes) {
  {
    auto world = open(JournalConfig{});
    ASSERT_TRUE(world->put(kHome, raw("first")));
    world->tick();
    (void)world->save();
    ASSERT_TRUE(world->put(kHome, raw("second")));
    (void)world->save();
  }
  auto world = open(std::nullopt);
  EXPECT_EQ(world->store().tick(), 2U);
  EXPECT_EQ(at(*world, kHome), "second");
}

// --- Chunks that cannot be saved -----------------------------------------------------------

std::atomic<bool> encoding_fails = false;

class BrittleChunk final : public Chunk {
 public:
  explicit BrittleChunk(char value) : value_(value) {}
  Result<Bytes> encode(BufferPool&) const override {
    if (encoding_fails) return io_error("brittle");
    return Bytes::copy_of(std::string_view(&value_, 1));
  }
  std::unique_ptr<Chunk> clone() const override { return std::make_unique<BrittleChunk>(value_); }
  Result<bool> apply(ByteView edit) override {
    const char value = static_cast<char>(edit[0]);
    return std::exchange(value_, value) != value;
  }
  std::size_t memory_size() const override { return sizeof(*this); }
  char value() const { return value_; }

 private:
  char value_;
};

class BrittleType final : public ChunkType {
 public:
  std::string_view name() const override { return "brittle"; }
  Result<std::unique_ptr<Chunk>> decode(const ChunkPos&, const Bytes& payload) const override {
    return std::make_unique<BrittleChunk>(payload.text()[0]);
  }
};

TEST_F(WorldJournalBadDays, ASaveThatLeavesAChunkOutStaysAtItsTick) {
  WorldOptions options = quiet(JournalConfig{});
  options.chunk_type = std::make_shared<BrittleType>();
  {
    auto world = World::open_or_create(path, options).value();
    ASSERT_TRUE(world->put(kHome, std::make_unique<BrittleChunk>('a')));
    world->tick();
    ASSERT_TRUE(world->save().wait());
    EXPECT_EQ(world->store().tick(), 1U);
    ASSERT_TRUE(world->edit(kHome, bytes("b")));
    world->tick();
    ASSERT_TRUE(world->make_durable());
    encoding_fails = true;
    const auto saved = world->save().wait();
    encoding_fails = false;
    ASSERT_TRUE(saved);
    EXPECT_EQ(saved->problems.size(), 1U);
    EXPECT_EQ(world->store().tick(), 1U) << "what it lacks would never be recovered";
  }
  auto world = World::open(path, options).value();
  EXPECT_EQ(world->current_tick(), 2U);
  EXPECT_EQ(world->load_now(kHome)->as<BrittleChunk>().value(), 'b');
  ASSERT_TRUE(world->edit(kHome, bytes("c")));
  world->tick();
  ASSERT_TRUE(world->save().wait());
  EXPECT_EQ(world->store().tick(), 3U);
}

// --- A disk that fails for good --------------------------------------------------------------

TEST(WorldJournalGivenUp, SavesGoOnAndThePartsWaitForTheWhole) {
  sim::SimDisk disk(sim::DiskImage{}, 1);
  const std::string save = fresh_memory_path();
  const Format* memory = find_format("memory").value();
  WorldOptions options = quiet(JournalConfig{
      .path = "arena.journal", .sync_mode = {.kind = Durability::Kind::every_commit}});
  std::vector<std::string> told;
  options.log = [&](const LogEvent& event) { told.push_back(event.message); };
  {
    auto world = WorldSeam::on(memory->create(save).value(), options,
                               {.vfs = disk, .background = false, .seed = 3})
                     .value();
    ASSERT_TRUE(world->put(kHome, raw("logged")));
    ASSERT_TRUE(world->put_player("ann", bytes("logged")));
    world->tick();
    EXPECT_EQ(world->durable_tick(), 1U);
    disk.set_fault(sim::Fault{disk.op_count() + 1, ErrorCode::io, true, sim::Effect::none});
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(world->put(kHome, raw("not logged " + std::to_string(i))));
      world->tick();
    }
    EXPECT_EQ(world->durable_tick(), 1U) << "nobody may be told that more is";
    EXPECT_FALSE(world->make_durable());
    ASSERT_TRUE(world->put_player("ann", bytes("not logged")));
    world->tick();
    // A part would take the link, and the first tick with it.
    const auto part = world->player_left("ann").wait();
    ASSERT_FALSE(part);
    EXPECT_TRUE(world->store().read_global("varve:journal")->has_value());
    // The whole is saved by itself.
    world->update(0.1);
    // It may be done already, and then there is none to wait for.
    if (world->is_saving()) (void)world->current_save().wait();
    const auto saved = world->last_save();
    ASSERT_TRUE(saved.has_value());
    ASSERT_TRUE(*saved) << saved->error().message();
    world->update(0.1);
    EXPECT_EQ(world->store().tick(), world->current_tick());
    EXPECT_FALSE(world->store().read_global("varve:journal")->has_value());
    ASSERT_TRUE(world->put_player("bo", bytes("after")));
    world->tick();
    ASSERT_TRUE(world->player_left("bo").wait());
  }
  EXPECT_NE(std::find(told.begin(), told.end(), "the journal was given up; saves go on"),
            told.end());
  disk.set_fault(std::nullopt);
  auto world = WorldSeam::on(memory->open(save).value(), options,
                             {.vfs = disk, .background = false, .seed = 4})
                   .value();
  EXPECT_EQ(at(*world, kHome), "not logged 4");
  EXPECT_EQ(world->load_player("bo")->value().text(), "after");
}

}  // namespace
}  // namespace varve::test
