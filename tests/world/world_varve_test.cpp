// What a world gets from the varve format alone: chunks stored as what differs from its generator.
#include <gtest/gtest.h>

#include "io/sim/sim_disk.h"
#include "store/varve/varve_format.h"
#include "varve/generator.h"
#include "varve/world.h"

namespace varve::test {
namespace {

// A chunk that does not compress, another one in each version.
class NoiseGenerator final : public Generator {
 public:
  explicit NoiseGenerator(std::uint32_t version) : version_(version) {}
  GeneratorId id() const override { return {"noise", version_}; }
  Result<Bytes> generate(const ChunkPos& pos) const override {
    std::string text;
    std::uint64_t state = version_ + static_cast<std::uint32_t>(pos[0]) * 7919u;
    while (text.size() < 4096) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      text += static_cast<char>(state >> 56);
    }
    return Bytes::copy_of(text);
  }

 private:
  const std::uint32_t version_;
};

WorldOptions options(std::uint32_t version) {
  return {.chunk_type = raw_chunks(4096), .generator = std::make_shared<NoiseGenerator>(version)};
}

TEST(WorldVarve, AnEditedChunkIsStoredAsWhatDiffersFromTheGenerators) {
  sim::SimDisk disk;
  disk.set_recording(false);
  const auto format =
      make_varve_format(disk, "varve", SaveBackend::file, VarveOptions{.deltas = true});
  {
    const auto world = World::on(format->create("world").value(), options(1)).value();
    for (int x = 0; x < 20; ++x) {
      ASSERT_TRUE(world->load_now(ChunkPos(x, 0)));
      const std::byte byte{'x'};
      ASSERT_TRUE(world->edit(ChunkPos(x, 0), RawChunk::edit_of(100, {&byte, 1})));
    }
    world->tick();
    world->update(1);
    const auto report = world->save().wait();
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(report->chunk_count, 20u);
    EXPECT_LT(report->written_size, 20u * 400);
    ASSERT_TRUE(world->close());
  }
  const auto world = World::on(format->open("world").value(), options(1)).value();
  const auto chunk = world->load_now(ChunkPos(3, 0));
  ASSERT_TRUE(chunk) << chunk.error().message();
  Buffer expected = NoiseGenerator(1).generate(ChunkPos(3, 0)).value().clone();
  expected.data()[100] = std::byte{'x'};
  EXPECT_TRUE(equal(chunk->as<RawChunk>().view(), expected.view()));
  ASSERT_TRUE(world->close());
}

}  // namespace
}  // namespace varve::test
