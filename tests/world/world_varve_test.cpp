// What a world gets from the varve format alone: chunks stored as what differs from its generator.
#include <gtest/gtest.h>

#include "io/sim/sim_disk.h"
#include "store/varve/save_tables.h"
#include "store/varve/varve_format.h"
#include "support/scratch_dir.h"
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

TEST(WorldVarve, ACopyHasEverythingButWhatNobodyCouldAskFor) {
  const ScratchDir dir;
  const auto format = make_varve_format("varve", {});
  {
    const auto world = World::on(format->create(dir.file("world")).value(), options(1)).value();
    ASSERT_TRUE(world->load_now(ChunkPos(1, 0)));
    const std::byte byte{'x'};
    ASSERT_TRUE(world->edit(ChunkPos(1, 0), RawChunk::edit_of(100, {&byte, 1})));
    ASSERT_TRUE(world->put_entity({.id = 7, .owner = {}, .data = Bytes::copy_of("moon")}));
    ASSERT_TRUE(world->put_player("ann", Bytes::copy_of("here")));
    ASSERT_TRUE(world->save().wait());
    ASSERT_TRUE(world->close());
  }
  {
    const auto backend = open_file_backend(dir.file("world/log"), {}).value();
    WriteBatch batch;
    for (const SaveKey& key : {chunk_key(99, ChunkPos(3, -2)), entity_key_of(std::nullopt, 70),
                               named_key(RecordKind::player, "a\nb")}) {
      batch.put(key, plain_frame(key, as_byte_view("stray")));
    }
    ASSERT_TRUE(backend->write(batch));
    ASSERT_TRUE(backend->close());
  }
  const auto world = World::on(format->open(dir.file("world")).value(), options(1)).value();
  const auto report = world->save_to(dir.file("copy")).wait();
  ASSERT_TRUE(report) << report.error().message();
  std::vector<std::string> problems;
  for (const RecordProblem& problem : report->problems) problems.push_back(problem.key);
  EXPECT_EQ(problems, (std::vector<std::string>{"chunks", "entities", "players"}));
  const auto copy = format->open(dir.file("copy")).value();
  EXPECT_TRUE(copy->read_chunk(ChunkPos(1, 0)).value());
  EXPECT_EQ(copy->read_entity(7).value()->data.text(), "moon");
  EXPECT_EQ(copy->read_player("ann").value()->text(), "here");
  Progress progress;
  EXPECT_TRUE(copy->verify(progress)->clean());
}

}  // namespace
}  // namespace varve::test
