#include "world_data.h"

#include <atomic>
#include <random>

#include "base/endian.h"
#include "base/try.h"
#include "contract/one_file_store.h"
#include "harness/workload.h"
#include "io/path.h"
#include "varve/format.h"

namespace varve::bench {
namespace {

// Bytes no compression makes smaller, the same in every run.
class NoiseGenerator final : public Generator {
 public:
  GeneratorId id() const override { return {.name = "noise", .version = 1}; }
  Result<Bytes> generate(const ChunkPos& pos) const override {
    std::mt19937_64 random(kSeed + static_cast<std::uint64_t>(pos[0]));
    Buffer payload(kWorldChunkSize);
    for (std::size_t i = 0; i < payload.size(); i += 8)
      store_le<std::uint64_t>(payload.data() + i, random());
    return std::move(payload).freeze();
  }
};

Result<std::unique_ptr<Store>> make_store(WorldStore kind, const std::string& dir) {
  if (kind == WorldStore::one_file)
    return test::OneFileStore::create(posix_vfs(), path_join(dir, "one_file"));
  static std::atomic<int> number = 0;
  VARVE_ASSIGN(const Format* memory, find_format("memory"));
  return memory->create("memory:bench-" + std::to_string(++number));
}

}  // namespace

Result<std::unique_ptr<World>> make_world(WorldStore kind, const std::string& dir,
                                          std::int32_t chunk_count) {
  VARVE_ASSIGN(std::unique_ptr<Store> store, make_store(kind, dir));
  VARVE_ASSIGN(std::unique_ptr<World> world,
               World::on(std::move(store),
                         {.chunk_type = raw_chunks(kWorldChunkSize),
                          .generator = std::make_shared<NoiseGenerator>(),
                          .autosave = AutosaveConfig{.enabled = false, .max_backups = 0}}));
  for (std::int32_t x = 0; x < chunk_count; ++x) VARVE_TRY(world->load_now({x, 0}));
  return world;
}

Status edit_chunk(World& world, std::int32_t chunk, std::uint32_t offset, std::uint32_t value) {
  std::byte bytes[4];
  store_le<std::uint32_t>(bytes, value);
  VARVE_TRY(world.edit<RawChunk>({chunk, 0}, [&](RawChunk& raw) { (void)raw.set(offset, bytes); }));
  return {};
}

}  // namespace varve::bench
