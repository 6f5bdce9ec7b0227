#include "tool/sample_arena.h"

#include "base/try.h"
#include "varve/world.h"

namespace varve::test {
namespace {

constexpr ChunkPos kPos(3, -2);

Bytes text(std::string_view bytes) { return Bytes::copy_of(bytes); }

Status play(World& world) {
  VARVE_TRY(world.put(kPos, std::make_unique<RawChunk>(text("............"))));
  VARVE_TRY(world.put_entity({.id = 17, .owner = kPos, .data = text("cow")}));
  VARVE_TRY(world.put_global("weather", text("rain")));
  world.tick();
  VARVE_TRY(world.set_author("ann"));
  VARVE_TRY(world.edit(kPos, RawChunk::edit_of(0, text("house"))));
  world.tick();
  VARVE_TRY(world.set_author("bo"));
  VARVE_TRY(world.edit(kPos, RawChunk::edit_of(1, text("XXX"))));
  world.tick();
  VARVE_TRY(world.set_author("ann"));
  VARVE_TRY(world.edit(kPos, RawChunk::edit_of(8, text("door"))));
  VARVE_TRY(world.put_player("ann", text("hungry")));
  world.tick();
  VARVE_TRY(world.set_author("bo"));
  VARVE_TRY(world.erase_entity(17));
  world.tick();
  return {};
}

}  // namespace

Status make_arena(const std::string& path) {
  WorldOptions options;
  options.journal = JournalConfig();
  VARVE_ASSIGN(const auto world, World::create(path, std::move(options)));
  VARVE_TRY(play(*world));
  return world->close();
}

}  // namespace varve::test
