// A save whose files are not as they were written. Whatever was done to them: nothing wrong is
// read, nothing is silently gone, nothing crashes, and what was not touched is intact.
#include <gtest/gtest.h>

#include "codec/damage.h"
#include "store/nebula/sample_save.h"
#include "support/bytes_text.h"

namespace varve::nebula {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// Which records a file may cost. The catalog costs none: the files are taken as they are.
std::set<std::string> records_of(const std::string& file) {
  const auto named = [&](std::initializer_list<std::string> keys) {
    return std::set<std::string>(keys);
  };
  if (file == "world/entities.bin") return named({"entity:5", "entity:6"});
  if (file == "world/world.ron") return named({"global:file:world.ron"});
  if (file == "world/notes.txt") return named({"global:file:notes.txt"});
  if (file == "world/globals/sky") return named({"global:sky"});
  if (file == "world/players/ann") return named({"player:ann"});
  if (file == "world/players/%42ob%2f..") return named({"player:Bob/.."});
  if (file == "world/chunks/0_0_0_0.chunk") return named({"chunk:0,0,0,0"});
  if (file == "world/chunks/1_-1_2_0.chunk") return named({"chunk:1,-1,2,0"});
  if (file == "world/chunks/3_7_-7_255.chunk") return named({"chunk:3,7,-7,255"});
  EXPECT_EQ(file, "world/varve/catalog");
  return {};
}

std::vector<std::string> sample_files() {
  sim::SimDisk disk(sample_save().image);
  return files_of(disk);
}

Bytes contents_of(const std::string& file) {
  sim::SimDisk disk(sample_save().image);
  return read_file(disk, file);
}

DamageCheck check_with(const std::string& file, const Bytes& contents) {
  return check_damaged(
      changed(sample_save().image, [&](Vfs& vfs) { write_file(vfs, file, contents); }),
      sample_save().records);
}

// Damage to one file costs the records in it and nothing else; damage to the catalog
// costs no record, and is said.
void expect_contained(const std::string& file, const DamageCheck& check) {
  const std::set<std::string> allowed = records_of(file);
  for (const std::string& key : check.damaged) {
    EXPECT_TRUE(allowed.contains(key)) << key << " was not touched";
  }
  EXPECT_TRUE(check.unknown.empty());
  EXPECT_TRUE(check.tick == sample_save().tick || !check.report.problems.empty());
}

TEST(NebulaDamage, TheSampleHasEveryKindOfFile) {
  EXPECT_EQ(sample_files().size(), 10u);
  EXPECT_EQ(sample_save().records.size(), 10u);
  std::set<std::string> covered;
  for (const std::string& file : sample_files()) covered.merge(records_of(file));
  EXPECT_EQ(covered.size(), sample_save().records.size());
  const DamageCheck check = check_damaged(sample_save().image, sample_save().records);
  EXPECT_TRUE(check.damaged.empty());
  EXPECT_TRUE(check.verified.clean());
  EXPECT_TRUE(check.report.problems.empty());
  EXPECT_FALSE(check.report.dropped_tail || check.report.finished_commit);
}

TEST(NebulaDamage, EveryFlippedBit) {
  for (const std::string& file : sample_files()) {
    if (file.ends_with("catalog")) continue;
    SCOPED_TRACE(file);
    std::size_t damage_count = 0;
    const Bytes good = contents_of(file);
    varve::test::for_every_bit_flip(good, [&](const Bytes& flipped) {
      const DamageCheck check = check_with(file, flipped);
      expect_contained(file, check);
      EXPECT_TRUE(check.report.problems.empty());
      damage_count += check.damaged.empty() ? 0 : 1;
    });
    // What compresses may be said in two ways; all else is checked to the bit.
    EXPECT_GE(damage_count, good.size() * (file.ends_with(".chunk") ? 7 : 8));
  }
}

// Its fill is flipped once a byte; the test of the catalog itself flips every bit.
TEST(NebulaDamage, EveryFlippedBitOfTheCatalog) {
  const std::string file = "world/varve/catalog";
  const Bytes good = contents_of(file);
  ASSERT_EQ(good.size() % 4096, 0u);
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    const bool is_fill = bit / 8 % 4096 > 400;
    if (is_fill && bit % 512 != 7) continue;
    SCOPED_TRACE("bit " + std::to_string(bit));
    Buffer flipped = good.clone();
    flipped.span()[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    const DamageCheck check = check_with(file, std::move(flipped).freeze());
    expect_contained(file, check);
    // The last record is the one that says "closed": without it nothing is lost.
    EXPECT_EQ(check.tick, sample_save().tick);
    if (HasFailure()) return;
  }
}

TEST(NebulaDamage, EveryTruncation) {
  for (const std::string& file : sample_files()) {
    SCOPED_TRACE(file);
    const bool is_catalog = file.ends_with("catalog");
    const Bytes good = contents_of(file);
    for (std::size_t size = 0; size < good.size(); ++size) {
      if (is_catalog && size % 4096 > 400 && size % 64 != 0) continue;
      SCOPED_TRACE("cut to " + std::to_string(size));
      const DamageCheck check = check_with(file, good.slice(0, size));
      if (is_catalog) continue;  // below
      expect_contained(file, check);
      EXPECT_EQ(check.damaged, records_of(file));
      if (HasFailure()) return;
    }
  }
}

// A log that ends too early is what a crash leaves, so a catalog that was cut is one of an
// earlier generation. The files of the commits it lost are in place: those it knows are not
// what it says, and those it does not know are strays. verify() names all of them.
TEST(NebulaDamage, ACatalogCutToAnEarlierCommitReturnsNothingOfTheLater) {
  const Bytes good = contents_of("world/varve/catalog");
  // Without the last commit and "closed".
  const DamageCheck check =
      check_with("world/varve/catalog", good.slice(0, good.size() - 2 * 4096));
  EXPECT_EQ(check.tick, 10u);
  EXPECT_EQ(check.damaged, (std::set<std::string>{"chunk:1,-1,2,0", "player:ann"}));
  EXPECT_TRUE(check.unknown.empty());
  const DamageCheck first = check_with("world/varve/catalog", good.slice(0, 4096));
  EXPECT_EQ(first.tick, 0u);
  EXPECT_EQ(first.damaged, (std::set<std::string>{"entity:5", "entity:6"}));
  EXPECT_EQ(first.unknown.size(), 8u);
}

// So a world that generates what it takes for never saved loses nothing.
TEST(NebulaDamage, AFileTheCatalogForgotIsKeptBeforeAnotherTakesItsPlace) {
  sim::SimDisk disk(changed(sample_save().image, [](Vfs& vfs) {
    const Bytes catalog = read_file(vfs, "world/varve/catalog");
    write_file(vfs, "world/varve/catalog", catalog.view().first(4096));
  }));
  const std::string file = "world/chunks/1_-1_2_0.chunk";
  const Bytes forgotten = read_file(disk, file);
  const auto store = must_open(disk);
  must_commit(*store, {.chunks = {{{1, -1, 2, 0}, Bytes::copy_of("generated")}}});
  EXPECT_EQ(store->read_chunk({1, -1, 2, 0}).value()->text(), "generated");
  EXPECT_EQ(read_file(disk, "world/quarantine/1_-1_2_0.chunk.1"), forgotten);
}

TEST(NebulaDamage, EverySectorZeroed) {
  for (const std::string& file : sample_files()) {
    SCOPED_TRACE(file);
    const Bytes good = contents_of(file);
    for (std::size_t offset = 0; offset < good.size(); offset += 512) {
      Buffer zeroed = good.clone();
      for (std::size_t i = offset; i < std::min(offset + 512, good.size()); ++i) {
        zeroed.span()[i] = std::byte{0};
      }
      expect_contained(file, check_with(file, std::move(zeroed).freeze()));
    }
  }
}

TEST(NebulaDamage, EveryTwoFilesSwapped) {
  const auto files = sample_files();
  for (std::size_t a = 0; a < files.size(); ++a) {
    for (std::size_t b = a + 1; b < files.size(); ++b) {
      SCOPED_TRACE(files[a] + " and " + files[b]);
      const auto image = changed(sample_save().image, [&](Vfs& vfs) {
        const Bytes contents = read_file(vfs, files[a]);
        write_file(vfs, files[a], read_file(vfs, files[b]));
        write_file(vfs, files[b], contents);
      });
      // Without its catalog nothing tells what a file should hold; that it is lost is said.
      if (files[a].ends_with("catalog") || files[b].ends_with("catalog")) {
        sim::SimDisk disk(image);
        const auto store = must_open(disk);
        ASSERT_NE(store, nullptr);
        EXPECT_EQ(store->open_report().problems.size(), 1u);
        EXPECT_FALSE(verify(*store).clean());
        must_commit(*store, {.tick = 1000});
        EXPECT_TRUE(store->close());
        continue;
      }
      const DamageCheck check = check_damaged(image, sample_save().records);
      std::set<std::string> both = records_of(files[a]);
      both.merge(records_of(files[b]));
      EXPECT_EQ(check.damaged, both);
    }
  }
}

TEST(NebulaDamage, EveryFileMissing) {
  for (const std::string& file : sample_files()) {
    SCOPED_TRACE(file);
    const auto image =
        changed(sample_save().image, [&](Vfs& vfs) { ASSERT_TRUE(vfs.remove(file)); });
    const DamageCheck check = check_damaged(image, sample_save().records);
    EXPECT_EQ(check.damaged, records_of(file));
  }
}

TEST(NebulaDamage, AFolderMissing) {
  for (const std::string folder : {"chunks", "players", "globals"}) {
    SCOPED_TRACE(folder);
    std::set<std::string> lost;
    const auto image = changed(sample_save().image, [&](Vfs& vfs) {
      for (const std::string& file : files_of(vfs, "world/" + folder)) {
        lost.merge(records_of(file));
        ASSERT_TRUE(vfs.remove(file));
      }
      ASSERT_TRUE(vfs.remove_dir("world/" + folder));
    });
    EXPECT_EQ(check_damaged(image, sample_save().records).damaged, lost);
  }
}

TEST(NebulaDamage, ACatalogOfNoiseCostsTheTickAndNoRecord) {
  const DamageCheck check =
      check_with("world/varve/catalog", Bytes::copy_of(std::string(9000, 'x')));
  EXPECT_TRUE(check.damaged.empty());
  EXPECT_EQ(check.tick, 0u);
  ASSERT_EQ(check.report.problems.size(), 1u);
  EXPECT_EQ(check.report.problems[0].key, "world/varve/catalog");
  EXPECT_EQ(check.report.problems[0].error.code(), ErrorCode::corruption);
  EXPECT_FALSE(check.verified.clean());
}

TEST(NebulaDamage, DamagedEntitiesAreKeptBeforeNewOnesAreSaved) {
  sim::SimDisk disk(changed(sample_save().image, [](Vfs& vfs) {
    write_file(vfs, "world/entities.bin", as_byte_view("noise"));
  }));
  const auto store = must_open(disk);
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(store->read_entity(5).error().code(), ErrorCode::corruption);
  // Other records do not touch them.
  must_commit(*store, {.chunks = {{{4, 0, 0, 0}, Bytes::copy_of("new")}}});
  EXPECT_EQ(store->read_entity(5).error().code(), ErrorCode::corruption);
  must_commit(*store, {.entities = {{9, EntityValue{std::nullopt, entity_payload("new")}}}});
  EXPECT_EQ(store->read_entity(9).value()->data, entity_payload("new"));
  EXPECT_EQ(store->read_entity(5).value(), std::nullopt);
  EXPECT_EQ(read_file(disk, "world/quarantine/entities.bin.1").text(), "noise");
  EXPECT_TRUE(verify(*store).clean());
}

TEST(NebulaDamage, AQuarantinedChunkKeepsItsBytesAndIsReplaced) {
  const std::string file = "world/chunks/1_-1_2_0.chunk";
  sim::SimDisk disk(changed(sample_save().image,
                            [&](Vfs& vfs) { write_file(vfs, file, as_byte_view("noise")); }));
  const auto store = must_open(disk);
  const ChunkPos pos(1, -1, 2, 0);
  ASSERT_EQ(store->read_chunk(pos).error().code(), ErrorCode::corruption);
  ASSERT_TRUE(store->quarantine(pos));
  // A game that fails to save tries again and again, and must not fill the disk.
  ASSERT_TRUE(store->quarantine(pos));
  EXPECT_FALSE(disk.exists("world/quarantine/1_-1_2_0.chunk.2").value());
  write_file(disk, file, as_byte_view("other noise"));
  ASSERT_TRUE(store->quarantine(pos));
  must_commit(*store, {.chunks = {{pos, Bytes::copy_of("made anew")}}});
  EXPECT_EQ(read_file(disk, "world/quarantine/1_-1_2_0.chunk.1").text(), "noise");
  EXPECT_EQ(read_file(disk, "world/quarantine/1_-1_2_0.chunk.2").text(), "other noise");
  EXPECT_EQ(store->read_chunk(pos).value()->text(), "made anew");
  EXPECT_TRUE(verify(*store).clean());
}

// After a crash contents may be in varve/staged alone. Where the catalog that knew them is
// damaged, they are all there is.
TEST(NebulaDamage, StagedContentsNobodyKnowsAreKept) {
  sim::SimDisk disk(changed(sample_save().image, [&](Vfs& vfs) {
    write_file(vfs, "world/varve/staged/7-0", as_byte_view("acknowledged"));
    write_file(vfs, "world/varve/catalog", as_byte_view("noise"));
  }));
  const auto store = must_open(disk);
  EXPECT_EQ(read_file(disk, "world/quarantine/7-0.1").text(), "acknowledged");
  EXPECT_FALSE(disk.exists("world/varve/staged/7-0").value());
  EXPECT_EQ(store->open_report().problems.size(), 2u);
}

// A folder where a file should be: somebody's mistake, or somebody's malice.
TEST(NebulaDamage, AFolderInThePlaceOfAChunkCostsThatChunk) {
  for (const ChunkPos& pos : {ChunkPos(1, -1, 2, 0), ChunkPos(4, 4, 4, 4)}) {
    const RecordKey key{.kind = RecordKind::chunk, .pos = pos};
    const std::string file = SaveLayout(kSavePath).file(key);
    SCOPED_TRACE(file);
    const bool is_known = sample_save().records.contains(to_string(key));
    sim::SimDisk disk(changed(sample_save().image, [&](Vfs& vfs) {
      if (is_known) {
        ASSERT_TRUE(vfs.remove(file));
      }
      ASSERT_TRUE(vfs.create_dir(file));
    }));
    auto store = must_open(disk);
    ASSERT_NE(store, nullptr);
    if (is_known) {
      EXPECT_EQ(store->read_chunk(pos).error().code(), ErrorCode::corruption);
    }
    EXPECT_FALSE(verify(*store).clean());
    must_commit(*store, {.chunks = {{{0, 0, 0, 0}, Bytes::copy_of("another")}}});
    must_commit(*store, {.chunks = {{pos, Bytes::copy_of("made anew")}}});
    EXPECT_EQ(store->read_chunk(pos).value()->text(), "made anew");
    EXPECT_TRUE(store->close());
    store = must_open(disk);
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(store->read_chunk(pos).value()->text(), "made anew");
    EXPECT_TRUE(verify(*store).clean());
  }
}

TEST(NebulaDamage, AFolderInThePlaceOfTheEntitiesOrOfWhatIsErasedKeepsNobodyOut) {
  sim::SimDisk disk(changed(sample_save().image, [&](Vfs& vfs) {
    for (const std::string file : {"world/entities.bin", "world/players/ann"}) {
      ASSERT_TRUE(vfs.remove(file));
      ASSERT_TRUE(vfs.create_dir(file));
    }
  }));
  auto store = must_open(disk);
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(store->read_entity(5).error().code(), ErrorCode::corruption);
  EXPECT_EQ(store->read_player("ann").error().code(), ErrorCode::corruption);
  must_commit(*store, {.entities = {{9, EntityValue{{}, entity_payload("new")}}},
                       .players = {{"ann", std::nullopt}}});
  EXPECT_TRUE(store->close());
  store = must_open(disk);
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(store->read_entity(9).value()->data, entity_payload("new"));
  EXPECT_EQ(store->read_player("ann").value(), std::nullopt);
  EXPECT_TRUE(verify(*store).clean());
}

// --- Strays ------------------------------------------------------------------------------

TEST(NebulaDamage, FilesTheCatalogDoesNotKnowAreReportedAndNotRead) {
  const std::vector<std::string> strays = {"world/chunks/4_4_4_4.chunk",
                                           "world/chunks/readme",
                                           "world/players/carl",
                                           "world/players/Ann",
                                           "world/globals/%",
                                           "world/globals/file%3aworld.ron",
                                           "world/players/long~0123456789abcdef"};
  const auto image = changed(sample_save().image, [&](Vfs& vfs) {
    for (const std::string& file : strays) write_file(vfs, file, as_byte_view("stray"));
  });
  const DamageCheck check = check_damaged(image, sample_save().records);
  EXPECT_TRUE(check.damaged.empty());
  std::set<std::string> reported;
  for (const RecordProblem& problem : check.verified.problems) reported.insert(problem.key);
  EXPECT_EQ(reported, std::set<std::string>(strays.begin(), strays.end()));
}

TEST(NebulaDamage, LongNamesAreNoStrays) {
  sim::SimDisk disk(sample_save().image);
  const auto store = must_open(disk);
  const std::string name(250, 'x');
  must_commit(*store, {.players = {{name, Bytes::copy_of("p")}}, .globals = {{name, Bytes()}}});
  EXPECT_TRUE(verify(*store).clean());
  EXPECT_EQ(store->read_player(name).value()->text(), "p");
}

// Their names are gone with it. A person can at least be told which files they are.
TEST(NebulaDamage, ALostCatalogNamesTheFilesWhoseRecordsItTook) {
  sim::SimDisk disk(sample_save().image);
  const std::string name(250, 'x');
  {
    const auto store = must_open(disk);
    must_commit(*store, {.players = {{name, Bytes::copy_of("p")}}});
    ASSERT_TRUE(store->close());
  }
  write_file(disk, "world/varve/catalog", as_byte_view("noise"));
  const auto store = must_open(disk);
  const VerifyReport report = verify(*store);
  ASSERT_EQ(report.problems.size(), 2u);
  EXPECT_TRUE(report.problems[1].key.starts_with("world/players/xxx"));
}

}  // namespace
}  // namespace varve::nebula
