// A world with a journal: every tick is durable without a save, and what somebody did can be looked
// up and taken back.
//
// Ann builds a wall, a vandal breaks it, the game dies. Opened again, the world is as it was at the
// last tick; the history says who did what, and a rollback undoes the vandal alone.
#include <varve/world.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

namespace {

using varve::Bytes, varve::ChunkPos, varve::RawChunk, varve::Status, varve::World;

constexpr ChunkPos kHome(0, 0);

varve::WorldOptions options() {
  varve::WorldOptions options;
  options.journal = varve::JournalConfig{};  // loses 50 ms at the most, keeps an hour
  return options;
}

Status place(World& world, std::string_view who, std::uint32_t cell, std::string_view what) {
  if (Status known = world.set_author(who); !known) return known;
  const auto edited = world.edit(kHome, RawChunk::edit_of(cell, varve::as_byte_view(what)));
  if (!edited) return edited.error();
  world.tick();
  return {};
}

std::string look(World& world) {
  const auto chunk = world.load_now(kHome);
  return chunk ? std::string(varve::as_text(chunk->as<RawChunk>().view())) : "nothing";
}

Status play(const std::string& path) {
  auto opened = World::create(path, options());
  if (!opened) return opened.error();
  World& world = **opened;
  if (Status put = world.put(kHome, std::make_unique<RawChunk>(Bytes::copy_of("........"))); !put)
    return put;
  world.tick();
  for (std::uint32_t cell = 0; cell < 6; ++cell) {
    if (Status built = place(world, "ann", cell, "#"); !built) return built;
  }
  if (Status broken = place(world, "vandal", 2, "  "); !broken) return broken;
  if (Status built = place(world, "ann", 6, "#"); !built) return built;
  std::cout << "played to tick " << world.current_tick() << ": " << look(world) << "\n";
  return world.make_durable();  // and gone, without a save
}

Status look_back(World& world) {
  const auto history = world.history();
  if (!history) return history.error();
  const auto events = (*history)->block_history(kHome, RawChunk::cell_of(2, 1), {});
  if (!events) return events.error();
  for (const varve::CellEvent& event : *events) {
    std::cout << "  tick " << event.tick << ": cell 2 is '" << event.value->text() << "'"
              << (event.author.empty() ? "" : ", by " + event.author) << "\n";
  }
  const auto plan = (*history)->plan_rollback({.tick = 1, .author = "vandal"});
  if (!plan) return plan.error();
  const auto done = world.roll_back(*plan);
  if (!done) return done.error();
  std::cout << "rolled back with tick " << *done << ": " << look(world) << "\n";
  return {};
}

Status run(const std::string& path) {
  if (Status played = play(path); !played) return played;
  auto opened = World::open(path, options());
  if (!opened) return opened.error();
  World& world = **opened;
  std::cout << "opened at tick " << world.current_tick() << ": " << look(world) << "\n";
  if (Status looked = look_back(world); !looked) return looked;
  return world.close();
}

}  // namespace

int main() {
  std::string folder = std::filesystem::temp_directory_path() / "varve_rewind_XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) {
    std::cerr << "rewind: no folder for a world\n";
    return 1;
  }
  const Status done = run(folder + "/world");
  std::filesystem::remove_all(folder);
  if (done) return 0;
  std::cerr << "rewind: " << done.error().message() << "\n";
  return 1;
}
