// A World on the nebula format, on a real disk.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "store/nebula/save_layout.h"
#include "support/scratch_dir.h"
#include "varve/format.h"
#include "varve/nebula.h"
#include "world/stream_watch.h"

namespace varve::test {
namespace {

using nebula::Cell;
using nebula::chunk_pos;
using nebula::Face;
using nebula::VoxelChunk;
using nebula::VoxelType;

constexpr ChunkPos kBad = chunk_pos(Face::pos_x, 1, 2);
constexpr ChunkPos kGood = chunk_pos(Face::neg_z, -3, 4);
constexpr VoxelType kGround = 7;

// Chunks full of ground.
class Ground final : public Generator {
 public:
  GeneratorId id() const override { return {.name = "ground", .version = 1}; }
  Result<Bytes> generate(const ChunkPos&) const override {
    BufferPool pool;
    return VoxelChunk(kGround).encode(pool);
  }
};

WorldOptions voxel_options() {
  return {.format = "nebula",
          .chunk_type = nebula::voxel_chunks(),
          .generator = std::make_shared<Ground>(),
          .autosave = AutosaveConfig{.enabled = false, .max_backups = 2},
          .timed_saves = {.players_s = 0}};
}

Bytes cow() { return nebula::encode_entity({.name = "cow"}).value(); }

struct VoxelWorld {
  VoxelWorld() { world = World::create(path, voxel_options()).value(); }

  void set(const ChunkPos& pos, VoxelType type) {
    ASSERT_TRUE(world->load_now(pos));
    ASSERT_TRUE(world->edit(pos, VoxelChunk::edit_of({1, 2, 3}, type)));
  }
  int get(const ChunkPos& pos) {
    const auto chunk = world->load_now(pos);
    return chunk ? chunk->as<VoxelChunk>().get(Cell{1, 2, 3}) : -1;
  }
  void save() {
    const auto saved = world->save().wait();
    ASSERT_TRUE(saved) << saved.error().message();
    EXPECT_TRUE(saved->problems.empty());
  }
  void reopen() {
    if (world) {
      ASSERT_TRUE(world->close());
    }
    world.reset();
    auto opened = World::open(path, voxel_options());
    ASSERT_TRUE(opened) << opened.error().message();
    world = *std::move(opened);
  }
  // Writes noise over a file of the save while nobody has it open.
  void damage(const std::string& file) {
    ASSERT_TRUE(world->close());
    world.reset();
    const std::string name = path + "/" + file;
    EXPECT_TRUE(std::filesystem::exists(name)) << name;
    std::ofstream(name, std::ios::binary | std::ios::trunc) << "noise";
    reopen();
  }
  std::string file_of(const ChunkPos& pos) const {
    return nebula::SaveLayout("").file({.kind = RecordKind::chunk, .pos = pos});
  }

  ScratchDir dir;
  std::string path = dir.file("my.world");
  std::unique_ptr<World> world;
};

TEST(WorldNebula, IsSavedAndOpenedAgain) {
  VoxelWorld voxels;
  voxels.set(kGood, 3);
  ASSERT_TRUE(voxels.world->put_entity({.id = 5, .owner = kGood, .data = cow()}));
  ASSERT_TRUE(voxels.world->put_player("ann", text("here")));
  ASSERT_TRUE(voxels.world->put_global("sky", text("blue")));
  for (int i = 0; i < 10; ++i) voxels.world->tick();
  voxels.save();
  voxels.reopen();
  EXPECT_EQ(voxels.world->current_tick(), 10u);
  EXPECT_EQ(voxels.get(kGood), 3);
  EXPECT_EQ(voxels.get(kBad), kGround) << "never saved";
  EXPECT_EQ(voxels.world->entities_in(kGood).size(), 1u);
  EXPECT_EQ(voxels.world->load_player("ann").value(), text("here"));
  EXPECT_EQ(voxels.world->load_global("sky").value(), text("blue"));
  EXPECT_TRUE(std::filesystem::exists(voxels.path + "/" + voxels.file_of(kGood)));
  EXPECT_FALSE(std::filesystem::exists(voxels.path + "/" + voxels.file_of(kBad)));
}

TEST(WorldNebula, ADamagedChunkIsReportedKeptAndMadeAnewAndTheRestIsIntact) {
  VoxelWorld voxels;
  voxels.set(kBad, 3);
  voxels.set(kGood, 4);
  ASSERT_TRUE(voxels.world->put_entity({.id = 5, .owner = kBad, .data = cow()}));
  voxels.save();
  voxels.damage(voxels.file_of(kBad));
  const auto loaded = voxels.world->load_now(kBad);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code(), ErrorCode::corruption);
  EXPECT_EQ(voxels.get(kGood), 4);
  ASSERT_TRUE(voxels.world->regenerate(kBad));
  EXPECT_EQ(voxels.get(kBad), kGround);
  EXPECT_EQ(voxels.world->entities_in(kBad).size(), 1u);
  voxels.save();
  const std::string kept = voxels.path + "/quarantine/" +
                           std::filesystem::path(voxels.file_of(kBad)).filename().string();
  ASSERT_TRUE(std::filesystem::exists(kept + ".1"));
  std::ifstream in(kept + ".1");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "noise");
  voxels.reopen();
  EXPECT_EQ(voxels.get(kBad), kGround);
  EXPECT_EQ(voxels.get(kGood), 4);
  Progress progress;
  EXPECT_TRUE(voxels.world->store().verify(progress)->clean());
}

// All entities are in one file. Without it the chunks are still a world.
TEST(WorldNebula, DamagedEntitiesCostNeitherTheWorldNorItsChunks) {
  VoxelWorld voxels;
  voxels.set(kGood, 4);
  ASSERT_TRUE(voxels.world->put_entity({.id = 5, .owner = kGood, .data = cow()}));
  ASSERT_TRUE(voxels.world->put_player("ann", text("here")));
  voxels.save();
  voxels.damage("entities.bin");
  EXPECT_EQ(voxels.get(kGood), 4);
  EXPECT_EQ(voxels.get(kBad), kGround);
  EXPECT_EQ(voxels.world->load_entity(5).error().code(), ErrorCode::corruption);
  EXPECT_EQ(voxels.world->load_entities_in(kGood).error().code(), ErrorCode::corruption);
  EXPECT_EQ(voxels.world->load_player("ann").value(), text("here"));
  // Said once a request, beside the chunk that came.
  ASSERT_TRUE(voxels.world->request(chunk_pos(Face::pos_y, 1, 1)));
  std::size_t failure_count = 0;
  std::size_t loaded_count = 0;
  while (loaded_count == 0) {
    const UpdateReport& report = voxels.world->update(0);
    failure_count += report.failed.size();
    loaded_count += report.loaded.size();
    std::this_thread::yield();
  }
  EXPECT_EQ(failure_count, 1u);
  // It goes on, and what could not be read is kept once new entities take its place.
  voxels.set(kGood, 5);
  voxels.save();
  EXPECT_FALSE(std::filesystem::exists(voxels.path + "/quarantine/entities.bin.1"));
  ASSERT_TRUE(voxels.world->put_entity({.id = 6, .owner = kGood, .data = cow()}));
  voxels.save();
  EXPECT_TRUE(std::filesystem::exists(voxels.path + "/quarantine/entities.bin.1"));
  voxels.reopen();
  EXPECT_EQ(voxels.get(kGood), 5);
  EXPECT_TRUE(voxels.world->load_entity(6).value());
}

TEST(WorldNebula, ACopyOfAWorldWithDamagedEntitiesHasEverythingElse) {
  VoxelWorld voxels;
  voxels.set(kGood, 4);
  ASSERT_TRUE(voxels.world->put_entity({.id = 5, .owner = kGood, .data = cow()}));
  voxels.save();
  voxels.damage("entities.bin");
  const std::string to = fresh_memory_path();
  const auto copied = voxels.world->save_to(to, "memory").wait();
  ASSERT_TRUE(copied) << copied.error().message();
  ASSERT_EQ(copied->problems.size(), 1u);
  EXPECT_EQ(copied->problems[0].error.code(), ErrorCode::corruption);
  const auto store = open_store(to).value();
  EXPECT_EQ(store->read_chunk(kGood).value(), voxels.world->store().read_chunk(kGood).value());
}

TEST(WorldNebula, KeepsBackupsThatOpenByThemselves) {
  VoxelWorld voxels;
  for (VoxelType round = 1; round <= 4; ++round) {
    voxels.set(kGood, round);
    voxels.world->tick();
    voxels.save();
  }
  ASSERT_TRUE(voxels.world->close());
  voxels.world.reset();
  const std::string first = voxels.path;
  for (const VoxelType number : {1, 2}) {
    voxels.path = nebula::backup_path(first, number);
    voxels.reopen();
    EXPECT_EQ(voxels.get(kGood), 4 - number);
    EXPECT_EQ(voxels.world->current_tick(), 4u - number);
    ASSERT_TRUE(voxels.world->close());
    voxels.world.reset();
  }
  EXPECT_FALSE(std::filesystem::exists(nebula::backup_path(first, 3)));
}

TEST(WorldNebula, IsCopiedToAndFromAnotherFormat) {
  VoxelWorld voxels;
  voxels.set(kGood, 4);
  ASSERT_TRUE(voxels.world->put_entity({.id = 5, .owner = kGood, .data = cow()}));
  ASSERT_TRUE(voxels.world->put_player("Ann/../", text("here")));
  const std::string in_memory = fresh_memory_path();
  const auto there = voxels.world->save_to(in_memory, "memory").wait();
  ASSERT_TRUE(there) << there.error().message();
  auto options = voxel_options();
  options.format.clear();
  const auto other = World::open(in_memory, options).value();
  const std::string back = voxels.dir.file("back");
  const auto again = other->save_to(back, "nebula").wait();
  ASSERT_TRUE(again) << again.error().message();
  ASSERT_TRUE(other->close());
  ASSERT_TRUE(voxels.world->close());
  voxels.path = back;
  voxels.world.reset();
  voxels.reopen();
  EXPECT_EQ(voxels.get(kGood), 4);
  EXPECT_EQ(voxels.world->load_entity(5).value()->data, cow());
  EXPECT_EQ(voxels.world->load_player("Ann/../").value(), text("here"));
  Progress progress;
  EXPECT_TRUE(voxels.world->store().verify(progress)->clean());
}

TEST(WorldNebula, EditsDuringASaveAreNotLost) {
  VoxelWorld voxels;
  for (VoxelType round = 1; round <= 20; ++round) {
    voxels.set(kGood, round);
    SaveHandle save = voxels.world->save();
    voxels.set(kGood, 100 + round);
    ASSERT_TRUE(save.wait());
    voxels.world->update(0);
    EXPECT_EQ(voxels.world->state(kGood), ChunkState::dirty);
  }
  voxels.reopen();
  EXPECT_EQ(voxels.get(kGood), 120);
}

}  // namespace
}  // namespace varve::test
