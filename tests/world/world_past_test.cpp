// The past of worlds that are played: beside the game, of a save nobody has open, of a journal that
// is damaged.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <thread>

#include "store/varve/save_tables.h"
#include "support/scratch_dir.h"
#include "varve/backend.h"
#include "varve/world.h"

namespace varve::test {
namespace {

namespace fs = std::filesystem;

constexpr ChunkPos kPos(0, 0);
constexpr ChunkPos kMade(5, 5);  // by the generator, until somebody edits it
constexpr std::uint64_t kSide = 16;

class Dots final : public Generator {
 public:
  GeneratorId id() const override { return {.name = "dots", .version = 1}; }
  Result<Bytes> generate(const ChunkPos&) const override {
    return Bytes::copy_of(std::string(kSide, '.'));
  }
};

// The game: each tick t writes a byte of t into a cell of each of the two chunks and moves an
// entity, so that everybody can say what there was at any tick.
char letter(std::uint64_t tick) { return static_cast<char>('a' + tick % 26); }
std::string chunk_at(std::uint64_t tick) {
  std::string chunk(kSide, '.');
  for (std::uint64_t t = 1; t <= tick; ++t) chunk[t * 7 % kSide] = letter(t);
  return chunk;
}
Entity entity_at(std::uint64_t tick) {
  return {.id = 9,
          .owner = ChunkPos(static_cast<std::int32_t>(tick % 3), 0),
          .data = Bytes::copy_of(std::to_string(tick / 2))};
}
std::string author_at(std::uint64_t tick) { return tick % 3 == 0 ? "ann" : "bo"; }

Status play_tick(World& world) {
  const std::uint64_t tick = world.current_tick() + 1;
  const std::string text(1, letter(tick));
  const auto edit =
      RawChunk::edit_of(static_cast<std::uint32_t>(tick * 7 % kSide), as_byte_view(text));
  if (Status named = world.set_author(author_at(tick)); !named) return named;
  for (const ChunkPos& pos : {kPos, kMade}) {
    if (const auto loaded = world.load_now(pos); !loaded) return loaded.error();
    if (const auto edited = world.edit(pos, edit); !edited) return edited.error();
  }
  if (Status put = world.put_entity(entity_at(tick)); !put) return put;
  EXPECT_EQ(world.tick(), tick);
  return {};
}

WorldOptions options() {
  WorldOptions options;
  options.generator = std::make_shared<Dots>();
  options.autosave = AutosaveConfig{.enabled = false, .max_backups = 0};
  options.journal =
      JournalConfig{.segment_size = 8192, .history_ticks = 1'000'000, .stretch_ticks = 10};
  return options;
}
HistoryOptions history_options() {
  HistoryOptions options;
  options.generator = std::make_shared<Dots>();
  return options;
}

// Success if it is told as it was; else the error, or a failure of the test if it is told wrong.
Status look(const WorldHistory& history, std::uint64_t tick) {
  const auto past = history.at_tick(tick);
  if (!past) return past.error();
  for (const ChunkPos& pos : {kPos, kMade}) {
    const auto chunk = (*past)->chunk(pos);
    if (!chunk) return chunk.error();
    // Nobody had saved or changed it.
    const std::string shown = *chunk ? std::string((**chunk).text()) : std::string(kSide, '.');
    EXPECT_EQ(shown, chunk_at(tick)) << "tick " << tick;
  }
  const auto entities = (*past)->entities_in({.min = ChunkPos(0, 0), .max = ChunkPos(1, 0)});
  if (!entities) return entities.error();
  std::vector<Entity> expected;
  if (tick != 0 && tick % 3 != 2) expected.push_back(entity_at(tick));
  EXPECT_EQ(*entities, expected) << "tick " << tick;
  return {};
}

class WorldPastTest : public testing::Test {
 protected:
  void play(std::uint64_t tick_count) {
    auto world = World::open_or_create(path, options());
    ASSERT_TRUE(world) << world.error().message();
    for (std::uint64_t i = 0; i < tick_count; ++i) {
      const Status played = play_tick(**world);
      ASSERT_TRUE(played) << played.error().message();
      if (i % 17 == 0) (void)(*world)->save();
    }
    ASSERT_TRUE((*world)->close());
  }

  const ScratchDir dir;
  const std::string path = dir.file("arena");
};

// Data that belongs to no entity is no reason to tell nothing of all others.
TEST_F(WorldPastTest, IsToldBesideStrayRecords) {
  play(20);
  {
    const auto backend = open_file_backend(path + "/log", {}).value();
    const SaveKey key = entity_key_of(std::nullopt, 70);
    WriteBatch batch;
    batch.put(key, plain_frame(key, as_byte_view("stray")));
    ASSERT_TRUE(backend->write(batch));
    ASSERT_TRUE(backend->close());
  }
  const auto history = WorldHistory::open(path, history_options());
  ASSERT_TRUE(history) << history.error().message();
  for (std::uint64_t tick = 1; tick <= 20; ++tick) {
    const Status looked = look(**history, tick);
    EXPECT_TRUE(looked) << looked.error().message();
    std::vector<Entity> seen;
    const Status listed =
        (*history)->at_tick(tick).value()->for_each_entity([&](const Entity& entity) {
          seen.push_back(entity);
          return true;
        });
    EXPECT_TRUE(listed) << listed.error().message();
    EXPECT_EQ(seen, std::vector{entity_at(tick)});
  }
}

TEST_F(WorldPastTest, IsToldBesideTheGame) {
  auto opened = World::create(path, options());
  ASSERT_TRUE(opened) << opened.error().message();
  World& world = **opened;
  auto history = world.history();
  ASSERT_TRUE(history) << history.error().message();
  std::atomic<std::uint64_t> played = 0;
  std::atomic<bool> is_over = false;
  std::atomic<std::uint64_t> look_count = 0;
  std::vector<std::thread> readers;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    readers.emplace_back([&, seed] {
      std::mt19937_64 random(seed);
      while (!is_over) {
        const std::uint64_t latest = (*history)->latest_tick();
        // Mostly what is happening just now.
        const std::uint64_t back = random() % (random() % 2 == 0 ? 4 : latest + 1);
        const Status looked = look(**history, latest - std::min(back, latest));
        EXPECT_TRUE(looked) << looked.error().message();
        ++look_count;
      }
    });
  }
  std::mt19937_64 random(3);
  // So long that the readers have had their turns.
  while (played < 300 || (look_count < 200 && played < 5'000)) {
    const Status done = play_tick(world);
    ASSERT_TRUE(done) << done.error().message();
    ++played;
    (void)world.update(0.05);
    if (random() % 8 == 0) (void)world.save();
  }
  is_over = true;
  EXPECT_TRUE(world.make_durable());
  for (std::thread& reader : readers) reader.join();
  for (std::uint64_t tick = 0; tick <= played; tick += 7) {
    const Status looked = look(**history, tick);
    ASSERT_TRUE(looked) << looked.error().message();
  }
  history->reset();
  EXPECT_TRUE(world.close());
}

TEST_F(WorldPastTest, OfASaveNobodyHasOpen) {
  play(40);
  play(25);
  const auto history = WorldHistory::open(path, history_options());
  ASSERT_TRUE(history) << history.error().message();
  EXPECT_EQ((*history)->chunk_type_name(), "raw");
  EXPECT_EQ((*history)->oldest_tick(), 0U);
  ASSERT_EQ((*history)->latest_tick(), 65U);
  for (std::uint64_t tick = 0; tick <= 65; ++tick) {
    const Status looked = look(**history, tick);
    ASSERT_TRUE(looked) << tick << ": " << looked.error().message();
  }
  // Of a chunk nobody had saved, the cell was the generator's.
  const auto cell = (*history)->block_history(kMade, RawChunk::cell_of(7, 1), {});
  ASSERT_TRUE(cell) << cell.error().message();
  ASSERT_FALSE(cell->empty());
  for (const CellEvent& event : *cell) {
    EXPECT_EQ(event.tick * 7 % kSide, 7U) << "nobody else wrote there";
    EXPECT_EQ(event.author, author_at(event.tick));
    EXPECT_EQ(event.value, Bytes::copy_of(std::string(1, letter(event.tick))));
  }
  const auto entity = (*history)->entity_history(9, {.from = 11, .to = 13});
  ASSERT_TRUE(entity);
  ASSERT_EQ(entity->size(), 2U);
  EXPECT_EQ(entity->back().value, (EntityValue{entity_at(12).owner, entity_at(12).data}));
}

TEST_F(WorldPastTest, SaysWhichChunkTypeItNeeds) {
  class OtherType final : public ChunkType {
   public:
    std::string_view name() const override { return "mine"; }
    Result<std::unique_ptr<Chunk>> decode(const ChunkPos& pos, const Bytes& data) const override {
      return raw_chunks()->decode(pos, data);
    }
  };
  play(12);
  HistoryOptions of_other = history_options();
  of_other.chunk_type = std::make_shared<OtherType>();
  const auto other = WorldHistory::open(path, of_other);
  ASSERT_TRUE(other) << other.error().message();
  const auto past = (*other)->at_tick(5);
  const auto chunk = (*past)->chunk(kPos);
  ASSERT_FALSE(chunk);
  EXPECT_EQ(chunk.error().code(), ErrorCode::unsupported);
  EXPECT_NE(chunk.error().message().find("needs chunk type raw"), std::string::npos);
  const auto entity = (*past)->entity(9);
  ASSERT_TRUE(entity) << "that needs no chunk type";
  EXPECT_EQ(**entity, entity_at(5));
  const auto plan = (*other)->plan_rollback({.tick = 5});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->problems.size(), 2U) << "both chunks stay";
  EXPECT_EQ(plan->entities.size(), 1U);
}

TEST_F(WorldPastTest, CellsOfATypeWithoutThemGoBackByChunk) {
  // Raw bytes that do not say where their cells are.
  class Opaque final : public ChunkType {
   public:
    std::string_view name() const override { return "opaque"; }
    Result<std::unique_ptr<Chunk>> decode(const ChunkPos& pos, const Bytes& data) const override {
      return raw_chunks()->decode(pos, data);
    }
  };
  WorldOptions opaque = options();
  opaque.chunk_type = std::make_shared<Opaque>();
  auto opened = World::create(path, opaque);
  ASSERT_TRUE(opened) << opened.error().message();
  World& world = **opened;
  const auto write = [&](const ChunkPos& pos, const char* author, std::uint32_t offset,
                         std::string_view text) {
    ASSERT_TRUE(world.set_author(author));
    ASSERT_TRUE(world.load_now(pos));
    ASSERT_TRUE(world.edit(pos, RawChunk::edit_of(offset, as_byte_view(text))));
    world.tick();
  };
  write(kPos, "bo", 0, "b");
  write(kPos, "ann", 1, "a");
  write(kPos, "ann", 2, "a");
  write(kMade, "ann", 0, "a");
  write(kMade, "bo", 1, "b");
  const auto plan = (*world.history())->plan_rollback({.tick = 0, .author = "ann"});
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_TRUE(plan->edits.empty());
  ASSERT_EQ(plan->chunks.size(), 1U) << "the other one was changed by bo since";
  EXPECT_EQ(plan->chunks[0].pos, kPos);
  EXPECT_EQ(plan->chunks[0].payload->text(), "b...............");
  EXPECT_TRUE(world.close());
}

// Whatever byte of the log is wrong: what is told is right.
TEST_F(WorldPastTest, IsNeverMadeUp) {
  play(60);
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(path + ".journal")) {
    if (entry.is_regular_file() && entry.file_size() > 0) files.push_back(entry.path().string());
  }
  ASSERT_FALSE(files.empty());
  std::cout << "seed 1\n";
  std::mt19937_64 random(1);
  int told_count = 0, refused_count = 0;
  for (int i = 0; i < 150; ++i) {
    const std::string& file = files[random() % files.size()];
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    const auto offset = static_cast<std::streamoff>(random() % fs::file_size(file));
    stream.seekg(offset);
    const char was = static_cast<char>(stream.get());
    const auto put = [&](char c) {
      stream.seekp(offset);
      stream.put(c);
      stream.flush();
    };
    put(static_cast<char>(was ^ (1 << random() % 8)));
    if (const auto history = WorldHistory::open(path, history_options())) {
      for (std::uint64_t tick = 0; tick <= (*history)->latest_tick(); tick += 5) {
        (look(**history, tick) ? told_count : refused_count)++;
      }
    } else {
      ++refused_count;
    }
    put(was);
  }
  EXPECT_GT(told_count, 0);
  EXPECT_GT(refused_count, 0);
}

}  // namespace
}  // namespace varve::test
