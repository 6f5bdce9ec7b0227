// A game that is killed while it plays, on the real disk: it opens at a tick no earlier than the
// last it was told is durable, and is exactly what it was at that tick.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>

#include "backend/log/child.h"
#include "support/scratch_dir.h"
#include "varve/nebula.h"
#include "varve/world.h"

namespace varve::test {
namespace {

constexpr std::size_t kCellCount = 16;
constexpr int kPlaceCount = 12;

// What a tick does depends on its number alone, so that any tick can be told from nothing.
struct Model {
  std::map<int, std::array<std::uint8_t, kCellCount>> chunks;
  std::map<std::string, std::string> players;
  std::string weather;

  friend bool operator==(const Model&, const Model&) = default;
};

enum class Kind : std::uint8_t { put, edit, erase, player, leave, weather };
struct Act {
  Kind kind = Kind::edit;
  int place = 0;
  std::size_t cell = 0;
  std::uint8_t value = 0;
};

std::vector<Act> acts_of(std::uint64_t tick) {
  std::mt19937_64 random(tick);
  std::vector<Act> acts(1 + random() % 4);
  for (Act& act : acts) {
    const std::uint64_t dice = random() % 20;
    act.kind = dice < 4    ? Kind::put
               : dice < 15 ? Kind::edit
               : dice < 16 ? Kind::erase
               : dice < 18 ? Kind::player
               : dice < 19 ? Kind::leave
                           : Kind::weather;
    act.place = static_cast<int>(random() % kPlaceCount);
    act.cell = random() % kCellCount;
    act.value = static_cast<std::uint8_t>(random() % 250 + 1);
  }
  return acts;
}

std::string player_of(const Act& act) { return "p" + std::to_string(act.place); }

void play(Model& model, std::uint64_t tick) {
  for (const Act& act : acts_of(tick)) {
    switch (act.kind) {
      case Kind::put:
        model.chunks[act.place].fill(act.value);
        break;
      case Kind::edit:
        if (model.chunks.contains(act.place)) model.chunks[act.place][act.cell] = act.value;
        break;
      case Kind::erase:
        model.chunks.erase(act.place);
        break;
      case Kind::player:
        model.players[player_of(act)] = std::to_string(act.value);
        break;
      case Kind::leave:
        model.players.erase(player_of(act));
        break;
      case Kind::weather:
        model.weather = std::to_string(act.value);
        break;
    }
  }
}

// The chunks of a format.
struct Flavour {
  const char* format;
  bool is_voxel;

  ChunkPos at(int place) const {
    return is_voxel ? ChunkPos(place % 6, place, -place, 0) : ChunkPos(place, -place);
  }
  std::unique_ptr<Chunk> full_of(std::uint8_t value) const {
    if (is_voxel) return std::make_unique<nebula::VoxelChunk>(value);
    return std::make_unique<RawChunk>(
        Bytes::copy_of(std::string(kCellCount, static_cast<char>(value))));
  }
  Bytes edit_of(std::size_t cell, std::uint8_t value) const {
    if (is_voxel) {
      return nebula::VoxelChunk::edit_of({.x = static_cast<std::uint8_t>(cell)}, value);
    }
    const auto byte = static_cast<std::byte>(value);
    return RawChunk::edit_of(static_cast<std::uint32_t>(cell), ByteView(&byte, 1));
  }
  int cell_of(const ChunkRef& chunk, std::size_t cell) const {
    if (is_voxel) {
      return chunk.as<nebula::VoxelChunk>().get({.x = static_cast<std::uint8_t>(cell)});
    }
    return static_cast<int>(chunk.as<RawChunk>().view()[cell]);
  }
  WorldOptions options() const {
    WorldOptions options;
    options.format = format;
    options.autosave = AutosaveConfig{.enabled = false, .max_backups = 0};
    options.timed_saves = {.players_s = 0};
    options.journal =
        JournalConfig{.sync_mode = {.kind = Durability::Kind::every_ms, .interval_ms = 2},
                      .segment_size = 32 << 10,
                      .history_ticks = 60,
                      .stretch_ticks = 20};
    if (is_voxel) options.chunk_type = nebula::voxel_chunks();
    return options;
  }
};

// What went wrong, or nothing.
std::string play(World& world, const Flavour& flavour, std::uint64_t tick) {
  for (const Act& act : acts_of(tick)) {
    const ChunkPos pos = flavour.at(act.place);
    Status done;
    switch (act.kind) {
      case Kind::put:
        done = world.put(pos, flavour.full_of(act.value));
        break;
      case Kind::edit:
        if (world.load_now(pos)) {
          const auto edited = world.edit(pos, flavour.edit_of(act.cell, act.value));
          if (!edited) done = edited.error();
        }
        break;
      case Kind::erase:
        done = world.erase(pos);
        break;
      case Kind::player:
        done = world.put_player(player_of(act), Bytes::copy_of(std::to_string(act.value)));
        break;
      case Kind::leave:
        done = world.erase_player(player_of(act));
        break;
      case Kind::weather:
        done = world.put_global("weather", Bytes::copy_of(std::to_string(act.value)));
        break;
    }
    if (!done) return done.error().message();
  }
  return world.tick() == tick ? "" : "another tick than was played";
}

void expect_equal(World& world, const Flavour& flavour, const Model& model) {
  for (int place = 0; place < kPlaceCount; ++place) {
    const auto chunk = world.load_now(flavour.at(place));
    const auto expected = model.chunks.find(place);
    ASSERT_EQ(chunk.ok(), expected != model.chunks.end()) << place;
    if (!chunk) continue;
    for (std::size_t cell = 0; cell < kCellCount; ++cell) {
      ASSERT_EQ(flavour.cell_of(*chunk, cell), expected->second[cell]) << place << ' ' << cell;
    }
    const std::string player = "p" + std::to_string(place);
    const auto found = world.load_player(player).value();
    ASSERT_EQ(found.has_value(), model.players.contains(player)) << player;
    if (found) {
      ASSERT_EQ(found->text(), model.players.at(player));
    }
  }
  const auto weather = world.load_global("weather").value();
  ASSERT_EQ(weather ? std::string(weather->text()) : "", model.weather);
}

void kill_again_and_again(const Flavour& flavour) {
  const ScratchDir dir;
  const std::string path = dir.file("arena");
  Model model;
  std::uint64_t model_tick = 0;
  for (int life = 0; life < 12; ++life) {
    Child child([&](int out) -> std::string {
      auto opened = World::open_or_create(path, flavour.options());
      if (!opened) return opened.error().message();
      World& world = **opened;
      for (std::uint64_t tick = world.current_tick() + 1;; ++tick) {
        world.update(0.001);
        if (const std::string wrong = play(world, flavour, tick); !wrong.empty()) return wrong;
        if (tick % 23 == 0) world.save();
        if (tick % 50 == 0 && !world.make_durable()) return "it could not be made durable";
        const std::uint64_t durable = world.durable_tick();
        if (write(out, &durable, sizeof durable) != sizeof durable) return "no one listens";
      }
    });
    std::uint64_t durable = 0;
    for (int i = 0; i < 90 + life * 37; ++i) {
      ASSERT_EQ(read(child.in(), &durable, sizeof durable), static_cast<ssize_t>(sizeof durable))
          << child.end();
    }
    child.stop();
    std::uint64_t more = 0;
    while (read(child.in(), &more, sizeof more) == static_cast<ssize_t>(sizeof more)) {
      durable = more;
    }
    (void)child.end();

    auto opened = World::open(path, flavour.options());
    ASSERT_TRUE(opened) << opened.error().message();
    const std::uint64_t tick = (*opened)->current_tick();
    while (model_tick < tick) play(model, ++model_tick);
    ASSERT_EQ(model_tick, tick) << "it went back behind what a life before had";
    // Ticks that changed nothing are in no log.
    Model durable_model = model;
    for (std::uint64_t later = tick; later < durable;) play(durable_model, ++later);
    ASSERT_EQ(durable_model, model) << "a tick that was durable is lost: " << durable;
    ASSERT_NO_FATAL_FAILURE(expect_equal(**opened, flavour, model)) << "at tick " << tick;
    if (life % 3 == 0) {
      ASSERT_TRUE((*opened)->close());
    }
  }
}

TEST(WorldJournalKilled, AVarveWorldIsWhatItWasAtItsLastTick) {
  kill_again_and_again({.format = "varve", .is_voxel = false});
}
TEST(WorldJournalKilled, ANebulaWorldIsWhatItWasAtItsLastTick) {
  kill_again_and_again({.format = "nebula", .is_voxel = true});
}

}  // namespace
}  // namespace varve::test
