// A game loop: opens or makes a world, changes it frame by frame while it saves itself, closes it,
// and opens it again to see what was kept.
//
//   game_loop [PATH]    "memory:demo" unless said otherwise, which lives as long as the process
#include <varve/world.h>

#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

namespace {

constexpr varve::ChunkPos kHome(0, 0);
constexpr varve::ChunkPos kNext(1, 0);
constexpr std::uint32_t kChunkSize = 64;  // cells, a letter each
constexpr double kFrame_s = 1.0 / 60;

// Fills the chunks nobody has changed: with grass.
class Meadow final : public varve::Generator {
 public:
  varve::GeneratorId id() const override { return {.name = "meadow", .version = 1}; }
  varve::Result<varve::Bytes> generate(const varve::ChunkPos&) const override {
    return varve::Bytes::copy_of(std::string(kChunkSize, '.'));
  }
};

// What update() has to tell: loads and saves that ended.
varve::Status show(const varve::UpdateReport& news) {
  for (const varve::ChunkPos& pos : news.loaded) std::cout << "loaded " << to_string(pos) << "\n";
  if (!news.saved) return {};
  if (!*news.saved) return news.saved->error();
  const varve::SaveReport& report = **news.saved;
  if (!report.problems.empty()) return report.problems.front().error;
  std::cout << "autosave: generation " << report.generation << " at tick " << report.tick << ", "
            << report.chunk_count << " chunk, " << report.written_size << " bytes\n";
  return {};
}

// A game draws its frame, and meanwhile the background gets on. This one waits for it instead, so
// that every run prints the same.
varve::Status wait_for_background(varve::World& world) {
  while (world.is_saving() || world.state(kNext) == varve::ChunkState::loading) {
    const varve::UpdateReport& news = world.update(0);
    if (!news.failed.empty()) return news.failed.front().error;
    if (auto shown = show(news); !shown) return shown;
  }
  return {};
}

varve::Status play(const std::string& path, const varve::WorldOptions& options) {
  auto opened = varve::World::open_or_create(path, options);
  if (!opened) return opened.error();
  varve::World& world = **opened;
  if (!world.store().capabilities().durable)
    std::cout << path << " lives as long as this process\n";

  // Where the player stands has to be there; what is further off comes in the background.
  if (auto chunk = world.load_now(kHome); !chunk) return chunk.error();
  if (auto asked = world.request(kNext); !asked) return asked;
  const auto animals = world.entities_in(kHome);
  const varve::EntityId sheep = animals.empty() ? world.new_entity_id() : animals.front().id;

  for (std::uint32_t frame = 0; frame < 600; ++frame) {
    const varve::UpdateReport& news = world.update(kFrame_s);  // takes in loads, autosaves
    if (!news.failed.empty()) return news.failed.front().error;
    if (auto shown = show(news); !shown) return shown;

    const std::uint32_t cell = frame / 20;  // a wall, three stones a second
    const auto built = world.edit(kHome, varve::RawChunk::edit_of(cell, varve::as_byte_view("#")));
    if (!built) return built.error();
    const auto place = varve::Bytes::copy_of("at cell " + std::to_string(cell));
    if (auto put = world.put_entity({.id = sheep, .owner = kHome, .data = place}); !put) return put;
    if (auto put = world.put_player("ann", place); !put) return put;
    world.tick();

    if (auto waited = wait_for_background(world); !waited) return waited;
  }

  std::cout << world.telemetry().edit_count << " edits changed a cell\n";
  return world.close();  // saves what is left
}

varve::Status look(const std::string& path, const varve::WorldOptions& options) {
  auto opened = varve::World::open(path, options);
  if (!opened) return opened.error();
  varve::World& world = **opened;
  const auto chunk = world.load_now(kHome);
  if (!chunk) return chunk.error();
  const auto player = world.load_player("ann");
  if (!player) return player.error();
  if (!*player) return varve::not_found("the player is gone");

  std::cout << "opened again: generation " << world.store().generation() << " at tick "
            << world.current_tick() << "\n";
  const varve::ByteView cells = chunk->as<varve::RawChunk>().view();
  std::cout << to_string(kHome) << " " << varve::as_text(cells) << "\n";
  for (const varve::Entity& entity : world.entities_in(kHome))
    std::cout << "a sheep " << entity.data.text() << "\n";
  std::cout << "ann " << (*player)->text() << "\n";
  return world.close();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "memory:demo";
  varve::WorldOptions options;
  options.chunk_type = varve::raw_chunks(kChunkSize);
  options.generator = std::make_shared<Meadow>();
  options.autosave = varve::AutosaveConfig{.interval_s = 3};

  varve::Status done = play(path, options);
  if (done) done = look(path, options);
  if (done) return 0;
  std::cerr << "game_loop: " << done.error().message() << "\n";
  return 1;
}
