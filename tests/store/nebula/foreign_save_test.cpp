// Saves that another program wrote, or that lost what we add to them: a folder with
// world.ron, entities.bin and chunk files, and no catalog.
#include <gtest/gtest.h>

#include "store/nebula/nvck.h"
#include "store/nebula/sample_save.h"
#include "store/nebula/sample_scene.h"
#include "store/nebula/save_files.h"
#include "support/bytes_text.h"
#include "support/counting_vfs.h"
#include "support/golden.h"
#include "varve/nebula.h"

namespace varve::nebula {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)
using varve::test::CountingVfs;
using varve::test::hex;
using varve::test::read_shared;

constexpr ChunkPos kAir(0, 0, 0, 0);
constexpr ChunkPos kOne(1, -4, 7, 0);
constexpr ChunkPos kMany(5, 2, -9, 3);

// A save as the original program leaves it, of files it wrote; empty if they are absent.
struct ForeignSave {
  ForeignSave() {
    disk.set_recording(false);
    const auto take = [&](const std::string& golden, const std::string& file) {
      const auto contents = read_shared("golden/nebula/" + golden);
      if (contents) write_file(disk, "world/" + file, *contents);
      is_there = is_there && contents;
    };
    EXPECT_TRUE(disk.create_dir("world"));
    EXPECT_TRUE(disk.create_dir("world/chunks"));
    take("world.ron", "world.ron");
    take("nscd_sample.bin", "entities.bin");
    take("nvck_air.chunk", "chunks/0_0_0_0.chunk");
    take("nvck_one_rle.chunk", "chunks/1_-4_7_0.chunk");
    take("nvck_300types.chunk", "chunks/5_2_-9_3.chunk");
  }

  bool is_there = true;
  sim::SimDisk disk;
};

#define NEBULA_FOREIGN_OR_SKIP(save) \
  ForeignSave save;                  \
  if (!save.is_there) GTEST_SKIP() << varve::test::shared_path("golden/nebula") << " is absent"

std::vector<VoxelType> cells_of(const Bytes& payload) {
  std::vector<VoxelType> cells(kCellCount);
  EXPECT_TRUE(decode_nvck(payload, Cells(cells.data(), kCellCount)));
  return cells;
}

TEST(NebulaForeign, ASaveOfAnotherProgramOpensAndReads) {
  NEBULA_FOREIGN_OR_SKIP(save);
  const auto format = make_nebula_format(save.disk);
  EXPECT_TRUE(format->detect("world").value());
  const auto store = must_open(save.disk);
  EXPECT_TRUE(store->open_report().problems.empty());
  std::vector<ChunkPos> listed;
  ASSERT_TRUE(store->list_chunks({}, [&](const ChunkInfo& each) {
    EXPECT_EQ(each.payload_size, store->read_chunk(each.pos).value()->size());
    listed.push_back(each.pos);
    return true;
  }));
  EXPECT_EQ(listed, (std::vector<ChunkPos>{kAir, kOne, kMany}));
  const Bytes air = store->read_chunk(kAir).value().value();
  EXPECT_EQ(air, *read_shared("golden/nebula/nvck_air.bin"));
  EXPECT_EQ(store->read_chunk(kOne).value(), *read_shared("golden/nebula/nvck_one_rle.bin"));
  cells_of(store->read_chunk(kMany).value().value());
  EXPECT_EQ(store->read_global(kMetaGlobal).value(), *read_shared("golden/nebula/world.ron"));
  EXPECT_TRUE(decode_meta(store->read_global(kMetaGlobal).value()->text()));
  const Scene scene = to_scene(*store).value();
  const Scene theirs = decode_scene(*read_shared("golden/nebula/nscd_sample.bin")).value();
  EXPECT_EQ(scene.entities.size(), theirs.entities.size());
  EXPECT_TRUE(verify(*store).clean());
}

TEST(NebulaForeign, LookingAtItLeavesItAsItIs) {
  NEBULA_FOREIGN_OR_SKIP(save);
  CountingVfs counting(save.disk);
  EXPECT_TRUE(verify(*must_open_to_read(counting)).clean());
  EXPECT_EQ(counting.counts().change_count(), 0u);
  const auto before = files_of(save.disk);
  {
    const auto store = must_open(save.disk);
    crash::read_records(*store).value();
    EXPECT_TRUE(store->close());
  }
  EXPECT_EQ(files_of(save.disk), before) << "nobody changed anything";
}

TEST(NebulaForeign, TheFirstCommitKeepsEverything) {
  NEBULA_FOREIGN_OR_SKIP(save);
  crash::Records before;
  {
    const auto store = must_open(save.disk);
    before = crash::read_records(*store).value();
    const VoxelType stone = 9;
    std::vector<VoxelType> cells(kCellCount, stone);
    const Bytes chunk = encode_nvck(Cells(cells.data(), kCellCount));
    must_commit(*store, {.tick = 5, .chunks = {{{2, 2, 2, 2}, chunk}}, .backup_count = 1});
    before["chunk:2,2,2,2"] = chunk;
    EXPECT_EQ(crash::read_records(*store).value(), before);
    EXPECT_TRUE(store->close());
  }
  const auto store = must_open(save.disk);
  EXPECT_EQ(crash::read_records(*store).value(), before);
  EXPECT_EQ(store->tick(), 5u);
  EXPECT_TRUE(verify(*store).clean());
  before.erase("chunk:2,2,2,2");
  EXPECT_EQ(crash::read_records(*must_open(save.disk, "world.backup")).value(), before);
}

// What we write, they read: the scene with its loose ends, chunks in their own compression.
TEST(NebulaForeign, OurFilesDecodeToTheSame) {
  NEBULA_FOREIGN_OR_SKIP(save);
  const Scene theirs = decode_scene(*read_shared("golden/nebula/nscd_sample.bin")).value();
  const auto store = must_open(save.disk);
  const Bytes many = store->read_chunk(kMany).value().value();
  must_commit(*store, {.chunks = {{kAir, many}},
                       .entities = {{987654321, EntityValue{{}, entity_payload("new")}}}});
  must_commit(*store, {.entities = {{987654321, {}}}});
  ASSERT_TRUE(store->close());
  const Scene ours = decode_scene(read_file(save.disk, "world/entities.bin")).value();
  EXPECT_EQ(to_records(ours).value(), to_records(theirs).value());
  EXPECT_EQ(ours.version, theirs.version);
  const Bytes file = read_file(save.disk, "world/chunks/0_0_0_0.chunk");
  const Bytes golden = *read_shared("golden/nebula/nvck_300types.chunk");
  EXPECT_EQ(file.view().first(4).size(), 4u);
  EXPECT_TRUE(equal(file.view().first(4), golden.view().first(4))) << "the size comes first";
  EXPECT_EQ(read_file(save.disk, "world/world.ron"), *read_shared("golden/nebula/world.ron"));
}

TEST(NebulaForeign, WithoutOurFolderItIsStillASave) {
  const auto image = changed(sample_save().image, [](Vfs& vfs) {
    for (const std::string& file : files_of(vfs, "world/varve")) ASSERT_TRUE(vfs.remove(file));
    for (const char* folder : {"world/varve/staged", "world/varve/held", "world/varve"}) {
      ASSERT_TRUE(vfs.remove_dir(folder));
    }
  });
  const DamageCheck check = check_damaged(image, sample_save().records);
  EXPECT_TRUE(check.damaged.empty() && check.unknown.empty());
  EXPECT_TRUE(check.verified.clean());
  EXPECT_EQ(check.tick, 0u) << "the format has no place for it";
}

// An unchecked file is at least checked for being what its kind is.
TEST(NebulaForeign, NoiseInAFileNobodyChecksumedIsCorruption) {
  sim::SimDisk disk;
  ASSERT_TRUE(disk.create_dir("world"));
  ASSERT_TRUE(disk.create_dir("world/chunks"));
  write_file(disk, "world/world.ron", as_byte_view("(save_version: 1)"));
  write_file(disk, "world/chunks/0_0_0_0.chunk", as_byte_view("noise"));
  write_file(disk, "world/chunks/0_0_1_0.chunk", hex("ffffffff 00"));
  write_file(disk, "world/chunks/0_0_2_0.chunk", {});
  const auto store = must_open(disk);
  for (const int y : {0, 1, 2}) {
    EXPECT_EQ(store->read_chunk({0, 0, y, 0}).error().code(), ErrorCode::corruption);
  }
  EXPECT_EQ(verify(*store).problems.size(), 3u);
  EXPECT_EQ(store->read_entity(1).value(), std::nullopt) << "it has no entities.bin";
  must_commit(*store, {.entities = {{1, EntityValue{{}, entity_payload("first")}}}});
  EXPECT_TRUE(decode_scene(read_file(disk, "world/entities.bin")));
}

// --- Scenes that are not as we would write them ------------------------------------------

struct SceneSave {
  explicit SceneSave(const Scene& scene) {
    EXPECT_TRUE(disk.create_dir("world"));
    EXPECT_TRUE(disk.create_dir("world/chunks"));
    write_file(disk, "world/world.ron", as_byte_view("(save_version: 1)"));
    write_file(disk, "world/entities.bin", encode_scene(scene).value());
    store = must_open(disk);
  }
  sim::SimDisk disk;
  std::unique_ptr<Store> store;
};

SceneEntity entity(EntityId id) { return {.stable_id = id}; }

TEST(NebulaForeign, ReferencesThatLeadNowhereStayInTheFile) {
  const Scene scene{.entities = {entity(10), entity(20)},
                    .relationships = {{0, 1}, {0, 77}, {88, 1}},
                    .prefab_refs = {{"a.ron", 1}, {"b.ron", 99}}};
  SceneSave save(scene);
  EXPECT_EQ(decode_entity(save.store->read_entity(20).value()->data)->parents,
            (std::vector<EntityId>{10}));
  must_commit(*save.store, {.entities = {{30, EntityValue{{}, entity_payload("new")}}}});
  const Scene ours = decode_scene(read_file(save.disk, "world/entities.bin")).value();
  ASSERT_EQ(ours.entities.size(), 3u);
  EXPECT_EQ(ours.relationships.size(), 3u);
  EXPECT_EQ(ours.prefab_refs.size(), 2u);
  const SceneRecords records = to_records(ours).value();
  EXPECT_EQ(records.loose_relationships.size(), 2u);
  EXPECT_EQ(records.loose_prefab_refs.size(), 1u);
}

TEST(NebulaForeign, AnIdThatStandsTwiceCostsTheEntitiesAndNothingElse) {
  SceneSave save({.entities = {entity(10), entity(10)}});
  const auto read = save.store->read_entity(10);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code(), ErrorCode::corruption);
  EXPECT_NE(read.error().message().find("entities.bin"), std::string::npos);
  EXPECT_EQ(save.store->read_global(kMetaGlobal).value()->text(), "(save_version: 1)");
  EXPECT_EQ(verify(*save.store).problems.size(), 1u);
}

TEST(NebulaForeign, ASceneOfTheFutureIsRefusedAndKept) {
  Scene scene{.entities = {entity(10)}};
  SceneSave save(scene);
  save.store.reset();
  // The version is the first varint behind the magic.
  Buffer newer = read_file(save.disk, "world/entities.bin").clone();
  newer.span()[4] = std::byte{99};
  write_file(save.disk, "world/entities.bin", newer.view());
  save.store = must_open(save.disk);
  EXPECT_FALSE(save.store->read_entity(10));
  must_commit(*save.store, {.chunks = {{{0, 0, 0, 0}, Bytes::copy_of("x")}}});
  EXPECT_EQ(read_file(save.disk, "world/entities.bin"), std::move(newer).freeze());
  // Its entities are not for an older program to replace.
  Progress progress;
  const auto replaced = save.store->commit(
      {.entities = {{.id = 1, .value = EntityValue{.data = encode_entity({}).value()}}}}, progress);
  ASSERT_FALSE(replaced);
  EXPECT_EQ(replaced.error().code(), ErrorCode::unsupported);
}

// The original program leaves a backup of the same name as ours.
TEST(NebulaForeign, ABackupOfAnotherProgramMovesOn) {
  NEBULA_FOREIGN_OR_SKIP(save);
  ASSERT_TRUE(save.disk.create_dir("world.backup"));
  ASSERT_TRUE(save.disk.create_dir("world.backup/chunks"));
  write_file(save.disk, "world.backup/world.ron", as_byte_view("(save_version: 1, seed: 7)"));
  const auto store = must_open(save.disk);
  must_commit(*store, {.tick = 1, .chunks = {{kAir, Bytes::copy_of("x")}}, .backup_count = 2});
  const auto first = NebulaStore::open(save.disk, "world.backup");
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_TRUE((*first)->read_chunk(kMany).value().has_value());
  const auto second = NebulaStore::open(save.disk, "world.backup.2");
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_EQ((*second)->read_global(kMetaGlobal).value()->text(), "(save_version: 1, seed: 7)");
  EXPECT_TRUE(make_nebula_format(save.disk)->detect("world").value());
}

// Its files have no checksums, so nobody can tell that they are the same as those of a backup.
TEST(NebulaForeign, FilesThatWereRewrittenReachTheBackup) {
  NEBULA_FOREIGN_OR_SKIP(save);
  {
    const auto store = must_open(save.disk);
    must_commit(*store, {.tick = 1, .backup_count = 1});
    ASSERT_TRUE(store->close());
  }
  // As the original program would: our folder is gone, and a chunk is another.
  ASSERT_TRUE(remove_tree(save.disk, "world/varve"));
  write_file(save.disk, "world/chunks/0_0_0_0.chunk",
             *read_shared("golden/nebula/nvck_one_rle.chunk"));
  const auto store = must_open(save.disk);
  const Bytes rewritten = **store->read_chunk(kAir);
  for (std::uint64_t tick = 2; tick < 5; ++tick) must_commit(*store, {.tick = tick});
  must_commit(*store, {.tick = 5, .backup_count = 1});
  const auto backup = NebulaStore::open(save.disk, "world.backup");
  ASSERT_TRUE(backup);
  EXPECT_EQ((*backup)->tick(), 4u);
  EXPECT_EQ((*backup)->read_chunk(kAir).value(), rewritten);
}

}  // namespace
}  // namespace varve::nebula
