// Worlds with a journal, on the real disk: what ticks promise, in every format that is durable.
#include <gtest/gtest.h>

#include <filesystem>

#include "support/format_page.h"
#include "support/scratch_dir.h"
#include "varve/backend.h"
#include "varve/nebula.h"
#include "varve/world.h"
#include "world/sample_world.h"

namespace varve::test {
namespace {

namespace fs = std::filesystem;

Bytes bytes(std::string_view text) { return Bytes::copy_of(text); }
std::unique_ptr<RawChunk> raw(std::string_view text) {
  return std::make_unique<RawChunk>(bytes(text));
}

class WorldJournalTest : public testing::TestWithParam<const char*> {
 protected:
  WorldOptions options() const {
    WorldOptions options;
    options.format = GetParam();
    options.autosave = AutosaveConfig{.enabled = false, .max_backups = 0};
    options.timed_saves = {.players_s = 0};
    options.journal = JournalConfig{.history_ticks = 1'000, .stretch_ticks = 4};
    if (is_nebula()) options.chunk_type = nebula::voxel_chunks();
    return options;
  }
  bool is_nebula() const { return std::string_view(GetParam()) == "nebula"; }
  std::unique_ptr<World> open() { return open(options()); }
  std::unique_ptr<World> open(const WorldOptions& options) {
    auto world = World::open_or_create(path, options);
    EXPECT_TRUE(world) << world.error().message();
    return world ? *std::move(world) : nullptr;
  }
  ChunkPos at(int x) const { return is_nebula() ? ChunkPos(0, x, 0, 0) : ChunkPos(x, 0); }
  // A chunk whose first cell has a value, and that cell of one.
  Status put(World& world, int x, std::uint8_t value) const {
    if (is_nebula()) return world.put(at(x), std::make_unique<nebula::VoxelChunk>(value));
    return world.put(at(x), std::make_unique<RawChunk>(
                                Bytes::copy_of(std::string(16, static_cast<char>(value)))));
  }
  Result<bool> set(World& world, int x, std::uint8_t value) const {
    const auto loaded = world.load_now(at(x));
    if (!loaded) return loaded.error();
    if (is_nebula()) return world.edit(at(x), nebula::VoxelChunk::edit_of({}, value));
    const auto byte = static_cast<std::byte>(value);
    return world.edit(at(x), RawChunk::edit_of(0, ByteView(&byte, 1)));
  }
  int get(World& world, int x) const {
    const auto chunk = world.load_now(at(x));
    if (!chunk) return -1;
    if (is_nebula()) return chunk->as<nebula::VoxelChunk>().get({});
    return static_cast<int>(chunk->as<RawChunk>().view()[0]);
  }

  const ScratchDir dir;
  const std::string path = dir.file("arena");
};

TEST_P(WorldJournalTest, WhatWasTickedIsThereWithoutASave) {
  {
    auto world = open();
    ASSERT_TRUE(put(*world, 1, 10));
    ASSERT_TRUE(put(*world, 2, 20));
    EXPECT_EQ(world->tick(), 1U);
    ASSERT_TRUE(set(*world, 1, 11));
    ASSERT_TRUE(world->erase(at(2)));
    ASSERT_TRUE(world->put_player("ann", bytes("rich")));
    ASSERT_TRUE(world->put_global("weather", bytes("rain")));
    EXPECT_EQ(world->tick(), 2U);
    ASSERT_TRUE(set(*world, 1, 12));
    EXPECT_EQ(world->tick(), 3U);
    ASSERT_TRUE(world->make_durable());
    EXPECT_EQ(world->durable_tick(), 3U);
    // Of the tick that is under way nothing is left.
    ASSERT_TRUE(set(*world, 1, 99));
  }
  auto world = open();
  EXPECT_EQ(world->current_tick(), 3U);
  EXPECT_EQ(world->store().tick(), 3U);
  EXPECT_EQ(get(*world, 1), 12);
  EXPECT_EQ(get(*world, 2), -1);
  EXPECT_EQ(world->load_player("ann")->value().text(), "rich");
  EXPECT_EQ(world->load_global("weather")->value().text(), "rain");
  EXPECT_TRUE(world->close());
}

TEST_P(WorldJournalTest, TicksGoOnBehindASave) {
  {
    auto world = open();
    ASSERT_TRUE(put(*world, 1, 1));
    world->tick();
    ASSERT_TRUE(world->save().wait());
    EXPECT_EQ(world->store().tick(), 1U);
    for (int value = 2; value < 30; ++value) {
      ASSERT_TRUE(set(*world, 1, static_cast<std::uint8_t>(value)));
      world->tick();
    }
    ASSERT_TRUE(world->make_durable());
    EXPECT_EQ(world->store().tick(), 1U);
  }
  for (int round = 0; round < 3; ++round) {
    auto world = open();
    EXPECT_EQ(world->current_tick(), 29U + static_cast<unsigned>(round));
    EXPECT_EQ(get(*world, 1), 29 + round);
    ASSERT_TRUE(set(*world, 1, static_cast<std::uint8_t>(30 + round)));
    world->tick();
    if (round == 1) {
      EXPECT_TRUE(world->close());
    }
  }
}

TEST_P(WorldJournalTest, ASaveInTheMidstOfATickBeginsWhenItEnds) {
  auto world = open();
  ASSERT_TRUE(put(*world, 1, 1));
  SaveHandle asked = world->save();
  world->update(0.1);
  EXPECT_FALSE(asked.is_done());
  EXPECT_TRUE(world->is_saving());
  EXPECT_EQ(world->tick(), 1U);
  ASSERT_TRUE(asked.wait());
  EXPECT_EQ(asked.result()->value().tick, 1U);

  // Waiting for it on the game thread ends the tick, or nobody would.
  ASSERT_TRUE(set(*world, 1, 2));
  ASSERT_TRUE(world->save().wait());
  EXPECT_EQ(world->current_tick(), 2U);
  EXPECT_EQ(world->store().tick(), 2U);

  ASSERT_TRUE(world->put_player("ann", bytes("rich")));
  SaveHandle left = world->player_left("ann");
  EXPECT_FALSE(left.is_done());
  world->tick();
  ASSERT_TRUE(left.wait());
  EXPECT_EQ(world->store().read_player("ann")->value().text(), "rich");
  EXPECT_TRUE(world->close());
}

TEST_P(WorldJournalTest, WhatBeforeSaveChangesIsATick) {
  WorldOptions with_hook = options();
  int count = 0;
  with_hook.before_save = [&](World& world) {
    return world.put_global("saves", bytes(std::to_string(++count)));
  };
  {
    auto world = open(with_hook);
    ASSERT_TRUE(put(*world, 1, 1));
    EXPECT_EQ(world->tick(), 1U);
    ASSERT_TRUE(world->save().wait());
    EXPECT_EQ(world->current_tick(), 2U);
    EXPECT_TRUE(world->close());
  }
  auto world = open();
  EXPECT_EQ(world->load_global("saves")->value().text(), std::to_string(count));
}

TEST_P(WorldJournalTest, AWorldOpenedWithoutItsJournalHasWhatItKnew) {
  {
    auto world = open();
    ASSERT_TRUE(put(*world, 1, 5));
    world->tick();
  }
  WorldOptions without = options();
  without.journal.reset();
  {
    auto world = open(without);
    EXPECT_EQ(get(*world, 1), 5);
    EXPECT_FALSE(world->store().read_global("varve:journal")->has_value());
    ASSERT_TRUE(set(*world, 1, 6));
    world->tick();
    EXPECT_TRUE(world->close());
  }
  // Its journal knows nothing of that, and is not believed any more.
  auto world = open();
  EXPECT_EQ(get(*world, 1), 6);
  EXPECT_TRUE(fs::exists(path + ".journal.detached"));
  ASSERT_TRUE(set(*world, 1, 7));
  world->tick();
  world.reset();
  EXPECT_EQ(get(*open(), 1), 7);
}

TEST_P(WorldJournalTest, AJournalOfAnotherSaveIsSetAside) {
  {
    auto world = open();
    ASSERT_TRUE(put(*world, 1, 5));
    world->tick();
    EXPECT_TRUE(world->close());
  }
  fs::remove_all(path);
  auto world = open();
  EXPECT_EQ(get(*world, 1), -1);
  EXPECT_EQ(world->current_tick(), 0U);
  EXPECT_TRUE(fs::exists(path + ".journal.detached"));
}

TEST_P(WorldJournalTest, ThePastCanBeReadAndPutBack) {
  auto world = open();
  ASSERT_TRUE(put(*world, 1, 1));
  world->tick();
  ASSERT_TRUE(world->set_author("eve"));
  for (int value = 2; value <= 20; ++value) {
    ASSERT_TRUE(set(*world, 1, static_cast<std::uint8_t>(value)));
    world->tick();
    if (value == 9) {
      ASSERT_TRUE(world->save().wait());
    }
  }
  auto history = world->history();
  ASSERT_TRUE(history) << history.error().message();
  EXPECT_EQ((*history)->latest_tick(), 20U);
  for (std::uint64_t tick = 1; tick <= 20; ++tick) {
    const auto past = (*history)->at_tick(tick);
    ASSERT_TRUE(past) << past.error().message();
    const auto payload = (*past)->chunk(at(1));
    ASSERT_TRUE(payload) << tick << ": " << payload.error().message();
    ASSERT_TRUE(payload->has_value()) << tick;
    auto chunk = options().chunk_type ? options().chunk_type->decode(at(1), **payload)
                                      : raw_chunks()->decode(at(1), **payload);
    const int value = is_nebula() ? static_cast<nebula::VoxelChunk&>(**chunk).get({})
                                  : static_cast<int>(static_cast<RawChunk&>(**chunk).view()[0]);
    EXPECT_EQ(value, static_cast<int>(tick)) << "at tick " << tick;
  }
  const auto events = (*history)->chunk_history(at(1), {});
  ASSERT_TRUE(events);
  EXPECT_EQ(events->size(), 20U);
  EXPECT_EQ(events->back().author, "eve");

  const auto plan = (*history)->plan_rollback({.tick = 7});
  ASSERT_TRUE(plan) << plan.error().message();
  const auto rolled = world->roll_back(*plan);
  ASSERT_TRUE(rolled) << rolled.error().message();
  EXPECT_EQ(get(*world, 1), 7);
  EXPECT_EQ(*rolled, 21U);
  history = world->history();
  const auto again = (*history)->plan_rollback({.tick = 20});
  ASSERT_TRUE(again);
  ASSERT_TRUE(world->roll_back(*again));
  EXPECT_EQ(get(*world, 1), 20);
  history->reset();
  EXPECT_TRUE(world->close());
}

TEST_P(WorldJournalTest, ADamagedLogIsToldAndGoesOnOnlyIfThatIsAccepted) {
  {
    auto world = open();
    for (int value = 1; value <= 40; ++value) {
      ASSERT_TRUE(value == 1 ? put(*world, 1, 1).has_value()
                             : set(*world, 1, static_cast<std::uint8_t>(value)).has_value());
      world->tick();
      ASSERT_TRUE(world->make_durable());
    }
  }
  std::string segment;
  for (const auto& entry : fs::directory_iterator(path + ".journal/log")) {
    if (entry.file_size() > 4096) segment = entry.path();
  }
  ASSERT_FALSE(segment.empty());
  {
    std::FILE* file = std::fopen(segment.c_str(), "r+b");
    std::fseek(file, 512 * 12 + 30, SEEK_SET);
    std::fputc(0x5a, file);
    std::fclose(file);
  }
  const auto refused = World::open(path, options());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::corruption);
  EXPECT_NE(refused.error().message().find("accept_damage"), std::string::npos)
      << refused.error().message();
  WorldOptions accepting = options();
  accepting.journal->accept_damage = true;
  int left = 0;
  {
    auto world = open(accepting);
    left = get(*world, 1);
    EXPECT_GT(left, 0);
    EXPECT_LT(left, 40);
    EXPECT_EQ(world->current_tick(), static_cast<std::uint64_t>(left));
    ASSERT_TRUE(set(*world, 1, 77));
    world->tick();
  }
  auto world = open();
  EXPECT_EQ(get(*world, 1), 77);
}

TEST_P(WorldJournalTest, OldHistoryGoesOnceItIsStored) {
  WorldOptions short_past = options();
  short_past.journal->history_ticks = 8;
  short_past.journal->segment_size = 4096;
  auto world = open(short_past);
  ASSERT_TRUE(put(*world, 1, 1));
  world->tick();
  for (int value = 2; value <= 120; ++value) {
    ASSERT_TRUE(set(*world, 1, static_cast<std::uint8_t>(value)));
    world->tick();
    if (value % 10 == 0) {
      ASSERT_TRUE(world->save().wait());
    }
  }
  world->update(0);
  auto history = world->history();
  ASSERT_TRUE(history);
  // The log is cut behind the game's back; nothing it still promises is gone.
  const std::uint64_t oldest = (*history)->oldest_tick();
  EXPECT_LE(oldest, 112U);
  for (std::uint64_t tick = 112; tick <= 120; ++tick) {
    const auto past = (*history)->at_tick(tick);
    ASSERT_TRUE(past) << past.error().message();
    EXPECT_TRUE((*past)->chunk(at(1))) << tick;
  }
  history->reset();
  EXPECT_TRUE(world->close());
}

INSTANTIATE_TEST_SUITE_P(Formats, WorldJournalTest, testing::Values("varve", "nebula"));

TEST(WorldJournal, SettersAreLoggedAsEditsAndWholeChunks) {
  const ScratchDir dir;
  WorldOptions options{.chunk_type = std::make_shared<SectionType>(),
                       .journal = JournalConfig{.stretch_ticks = 4}};
  {
    auto world = World::open_or_create(dir.file("arena"), options).value();
    ASSERT_TRUE(world->put(ChunkPos(1), std::make_unique<SectionChunk>()));
    world->tick();
    for (std::uint8_t value = 1; value < 10; ++value) {
      ASSERT_TRUE(world->edit<SectionChunk>(
          ChunkPos(1), [&](SectionChunk& chunk) { chunk.set_cell(value, value); }));
      world->tick();
    }
  }
  auto world = World::open(dir.file("arena"), options).value();
  const auto chunk = world->load_now(ChunkPos(1)).value();
  for (std::uint8_t value = 1; value < 10; ++value) {
    EXPECT_EQ(chunk.as<SectionChunk>().cell(value), value);
  }
}

TEST(WorldJournal, EntitiesComeBackWhereTheyWere) {
  const ScratchDir dir;
  const auto open = [&] {
    return World::open_or_create(dir.file("arena"), {.journal = JournalConfig{}}).value();
  };
  const auto at = [](int x) { return ChunkPos(x, 0); };
  EntityId walker = 0;
  EntityId gone = 0;
  {
    auto world = open();
    walker = world->new_entity_id();
    gone = world->new_entity_id();
    ASSERT_TRUE(world->put_entity({.id = walker, .owner = at(1), .data = bytes("a")}));
    ASSERT_TRUE(world->put_entity({.id = gone, .data = bytes("b")}));
    world->tick();
    ASSERT_TRUE(world->save().wait());
    ASSERT_TRUE(world->put_entity({.id = walker, .owner = at(2), .data = bytes("aa")}));
    ASSERT_TRUE(world->erase_entity(gone));
    world->tick();
  }
  auto world = open();
  const auto entity = world->load_entity(walker)->value();
  EXPECT_EQ(entity.owner, at(2));
  EXPECT_EQ(entity.data.text(), "aa");
  EXPECT_FALSE(world->load_entity(gone)->has_value());
}

// The bytes of the page, with the id of this journal in the place of the page's.
TEST(WorldJournal, TheExamplesOfThePage) {
  const ScratchDir dir;
  constexpr std::string_view kPage = "world_journal_v1.md";
  const auto with_id = [](const Bytes& example, const Bytes& link) {
    std::string text(example.text());
    text.replace(1, 16, link.text().substr(1, 16));
    return text;
  };
  // Seven ticks without a journal, then two openings with one.
  const std::string path = dir.file("arena");
  {
    auto world = World::open_or_create(path, {}).value();
    ASSERT_TRUE(world->put(ChunkPos(1, 0), raw("x")));
    while (world->current_tick() < 7) world->tick();
    ASSERT_TRUE(world->close());
  }
  ASSERT_TRUE(World::open(path, {.journal = JournalConfig{}}).value()->close());
  const auto world = World::open(path, {.journal = JournalConfig{}}).value();
  const Bytes link = world->store().read_global("varve:journal")->value();
  EXPECT_EQ(link.text(), with_id(example_of(kPage, "The link"), link));
  const auto backend = open_file_backend_to_read(path + ".journal/index").value();
  const Bytes meta = backend->get(as_byte_view(std::string_view("\x01", 1)))->value();
  EXPECT_EQ(meta.text(), with_id(example_of(kPage, "Key 01"), link));
}

TEST(WorldJournal, AHandleIsDurableBeforeItIsStored) {
  const ScratchDir dir;
  FlatWorld flat({.autosave = AutosaveConfig{.enabled = false, .max_backups = 0},
                  .journal = JournalConfig{.path = dir.file("flat.journal")}});
  ASSERT_TRUE(flat.world->load_now(ChunkPos(1)));
  ASSERT_TRUE(flat.set(ChunkPos(1), 0, 9));
  flat.world->tick();
  HeldCommits held(flat.control);
  SaveHandle save = flat.world->save();
  held.wait_until_one_is_held();
  EXPECT_TRUE(save.is_durable());
  EXPECT_FALSE(save.is_stored());
  held.release();
  ASSERT_TRUE(save.wait());
  EXPECT_TRUE(save.is_stored());
}

TEST(WorldJournal, ItIsRefusedWhereItCouldNotWork) {
  const ScratchDir dir;
  const auto open = [&](const WorldOptions& options) {
    return World::open_or_create(dir.file("arena"), options);
  };
  EXPECT_FALSE(open({.write_through = {.enabled = true}, .journal = JournalConfig{}}));
  EXPECT_FALSE(open({.journal = JournalConfig{.stretch_ticks = 0}}));
  EXPECT_FALSE(World::open_or_create(fresh_memory_path(), {.journal = JournalConfig{}}));
  auto world = open({.journal = JournalConfig{}}).value();
  EXPECT_FALSE(world->set_write_through({.enabled = true}));
  EXPECT_FALSE(world->set_author("a\nb"));
  const auto other = open({.journal = JournalConfig{}});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code(), ErrorCode::busy);
  ASSERT_TRUE(world->put(ChunkPos(1), raw("x")));
  world->tick();
  world.reset();
  const auto wrong_type =
      open({.chunk_type = std::make_shared<SectionType>(), .journal = JournalConfig{}});
  ASSERT_FALSE(wrong_type);
  EXPECT_NE(wrong_type.error().message().find("'raw'"), std::string::npos)
      << wrong_type.error().message();
}

}  // namespace
}  // namespace varve::test
