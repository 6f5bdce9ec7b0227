// Records that are damaged, missing, or where none should be: what is read, what verify() says, and
// how they are set aside and replaced.
#include <gtest/gtest.h>

#include "base/byte_reader.h"
#include "crash/store_subject.h"
#include "io/sim/sim_disk.h"
#include "sample_store.h"
#include "store/varve/varve_format.h"
#include "support/scratch_dir.h"

namespace varve {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

const ChunkPos kHere(3, -2);

std::shared_ptr<SampleDisk> sample() {
  const auto disk = new_disk();
  commit(*open_sample(disk),
         {.tick = 1,
          .chunks = {chunk(kHere, "stone"),
                     chunk(ChunkPos(1).in(Space::named("nether").value()), "x")},
          .entities = {entity(7, kHere, "sheep"), entity(8, std::nullopt, "moon")},
          .players = {{"ann", Bytes::copy_of("here")}},
          .globals = {{std::string(255, 'g'), Bytes::copy_of("x")}}});
  return disk;
}

TEST(VarveDamage, ADamagedChunkIsKeptAsideAndReplaced) {
  const auto disk = sample();
  const SaveKey key = chunk_key(0, kHere);
  const Bytes good = disk->get(key);
  disk->flip(key);
  const Bytes damaged = disk->get(key);
  const auto store = open_sample(disk);
  EXPECT_EQ(store->read_chunk(kHere).error().code(), ErrorCode::corruption);
  // However often somebody tries, it is kept once.
  EXPECT_TRUE(store->quarantine(kHere));
  EXPECT_TRUE(store->quarantine(kHere));
  ASSERT_EQ(disk->count_of(KeyTag::quarantine), 1u);
  const auto kept =
      disk->kept->range({.prefix = SaveKey(KeyTag::quarantine).copy()}).value().entries;
  ByteReader in(read_plain_frame(kept[0].key, *kept[0].value).value());
  EXPECT_EQ(as_text(in.bytes(in.u8())), as_text(key));
  EXPECT_EQ(as_text(in.rest()), damaged.text());
  // Even the same bytes it had: what lies there is no good.
  EXPECT_EQ(commit(*store, {.chunks = {chunk(kHere, "stone")}}).chunks.put_count, 1u);
  EXPECT_EQ(disk->get(key), good);
  EXPECT_EQ(store->read_chunk(kHere).value()->text(), "stone");
  EXPECT_TRUE(verify(*store).clean()) << problems_of(verify(*store));
  EXPECT_EQ(open_sample(disk)->read_chunk(kHere).value()->text(), "stone");
}

TEST(VarveDamage, EveryKindIsKeptAsideAndNothingIsNoError) {
  const auto disk = sample();
  const auto store = open_sample(disk);
  for (const char* key : {"chunk:nether/1", "entity:7", "entity:8", "player:ann"}) {
    EXPECT_TRUE(store->quarantine(parse_record_key(key).value())) << key;
  }
  EXPECT_TRUE(
      store->quarantine(RecordKey{.kind = RecordKind::global, .name = std::string(255, 'g')}));
  EXPECT_EQ(disk->count_of(KeyTag::quarantine), 5u);
  const int writes = disk->write_count;
  for (const char* key : {"chunk:9,9", "chunk:no such/9", "entity:99", "player:bob", "global:x"}) {
    EXPECT_TRUE(store->quarantine(parse_record_key(key).value())) << key;
  }
  EXPECT_EQ(disk->write_count, writes);
  EXPECT_TRUE(verify(*store).clean());
}

// Flips a bit of `text` in whichever file of the folder it is.
void flip_on_disk(Vfs& disk, const std::string& folder, std::string_view text) {
  const std::vector<DirEntry> entries = disk.list(folder).value();
  for (const DirEntry& entry : entries) {
    const auto file = disk.open(folder + "/" + entry.name, OpenMode::create).value();
    const Bytes all = file->read_all(1 << 24).value();
    const std::size_t at = all.text().find(text);
    if (at == std::string_view::npos) continue;
    const std::byte flipped = all.data()[at + 5] ^ std::byte{0x20};
    ASSERT_TRUE(file->write_at(at + 5, {&flipped, 1}));
    return;
  }
  FAIL() << "it is nowhere";
}

// What is read, set aside and replaced where a backend that checks its values has one of which
// `flip` has flipped a bit.
void expect_one_chunk_lost(const Format& format, const std::string& path,
                           const std::function<void(std::string_view text)>& flip) {
  const std::string text = "qwertyuiopasdfghjklzxcvbnm1234567890";
  {
    const auto store = format.create(path).value();
    commit(*store, {.chunks = {chunk(kHere, text), chunk(ChunkPos(4, -2), "beside it")}});
    ASSERT_TRUE(store->close());
  }
  flip(text);
  {
    const auto store = format.open(path).value();
    ASSERT_TRUE(dynamic_cast<VarveStore&>(*store).backend().traits().checks_values);
    const auto pinned = store->pin().value();
    for (const StoreView* view : {static_cast<const StoreView*>(store.get()),
                                  static_cast<const StoreView*>(pinned.get())}) {
      EXPECT_EQ(view->read_chunk(kHere).error().code(), ErrorCode::corruption);
      EXPECT_EQ(view->read_chunk(ChunkPos(4, -2)).value()->text(), "beside it");
    }
    EXPECT_EQ(verify(*store).problems.size(), 1u) << problems_of(verify(*store));
    ASSERT_TRUE(store->quarantine(kHere));
    commit(*store, {.chunks = {chunk(kHere, "new")}});
    ASSERT_TRUE(store->close());
  }
  const auto store = format.open(path).value();
  EXPECT_EQ(store->read_chunk(kHere).value()->text(), "new");
  EXPECT_TRUE(verify(*store).clean()) << problems_of(verify(*store));
  const auto kept = dynamic_cast<VarveStore&>(*store)
                        .backend()
                        .range({.prefix = SaveKey(KeyTag::quarantine).copy()})
                        .value()
                        .entries;
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_NE(kept[0].value->text().find("qwertYuiop"), std::string_view::npos);
}

TEST(VarveDamage, ADamagedSegmentOfTheLogCostsOneChunkWhoseBytesAreKept) {
  sim::SimDisk disk;
  disk.set_recording(false);
  expect_one_chunk_lost(*make_varve_format(disk, "varve", SaveBackend::file, {}), "world",
                        [&](std::string_view text) { flip_on_disk(disk, "world/log", text); });
}

TEST(VarveDamage, ADamagedPageOfLmdbCostsOneChunkWhoseBytesAreKept) {
  if (!has_lmdb_backend()) GTEST_SKIP() << "this build is without LMDB";
  const ScratchDir dir;
  const std::string path = dir.file("world");
  expect_one_chunk_lost(
      *make_varve_format(posix_vfs(), "varve", SaveBackend::lmdb, {}), path,
      [&](std::string_view text) { flip_on_disk(posix_vfs(), path + "/lmdb", text); });
}

// A new one would have nothing in it, and be in the way of whoever brings the old one back.
TEST(VarveDamage, ASaveWithoutItsLmdbFileIsRefusedAndNoneIsMade) {
  if (!has_lmdb_backend()) GTEST_SKIP() << "this build is without LMDB";
  const ScratchDir dir;
  const std::string path = dir.file("world");
  const auto format = make_varve_format(posix_vfs(), "varve", SaveBackend::lmdb, {});
  ASSERT_TRUE(format->create(path).value()->close());
  ASSERT_TRUE(posix_vfs().remove(path + "/lmdb/data.mdb"));
  const auto opened = format->open(path);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::corruption) << opened.error().message();
  EXPECT_NE(opened.error().message().find("data.mdb"), std::string::npos);
  EXPECT_FALSE(format->open_to_read(path));
  EXPECT_FALSE(posix_vfs().exists(path + "/lmdb/data.mdb").value());
}

// What would find the records again if the checkpoint were lost.
TEST(VarveDamage, VerifyFindsWhatStandsAroundTheRecordsInTheLog) {
  sim::SimDisk disk;
  disk.set_recording(false);
  const auto store =
      make_varve_format(disk, "varve", SaveBackend::file, {})->create("world").value();
  commit(*store, {.chunks = {chunk(kHere, "a chunk with a name")}});
  EXPECT_TRUE(verify(*store).clean()) << problems_of(verify(*store));
  flip_on_disk(disk, "world/log", "VBAT");
  VerifyReport report = verify(*store);
  ASSERT_EQ(report.problems.size(), 1u) << problems_of(report);
  EXPECT_EQ(report.problems[0].key, "the save");
  EXPECT_NE(report.problems[0].error.message().find(
                "world/log/0000000000000001.log: the head of the batch at offset 4096"),
            std::string::npos)
      << problems_of(report);
  flip_on_disk(disk, "world/log", "VARVELOG");
  report = verify(*store);
  ASSERT_EQ(report.problems.size(), 2u) << problems_of(report);
  EXPECT_EQ(report.problems[0].key, "the save");
  EXPECT_EQ(report.problems[1].key, "the save");
  flip_on_disk(disk, "world/log", "a chunk with a name");
  report = verify(*store);
  ASSERT_EQ(report.problems.size(), 3u) << "a value is told once: " << problems_of(report);
  EXPECT_EQ(report.problems[2].key, to_string(kHere));
}

// What verify() finds after `harm`, which leaves all other records as they were.
void expect_found(const char* what, const std::function<void(SampleDisk&)>& harm,
                  std::string_view key, std::string_view message) {
  SCOPED_TRACE(what);
  const auto disk = sample();
  EXPECT_TRUE(verify(*open_sample(disk)).clean());
  harm(*disk);
  const auto store = open_sample(disk);
  ASSERT_NE(store, nullptr);
  const VerifyReport report = verify(*store);
  bool is_found = false;
  for (const RecordProblem& problem : report.problems) {
    is_found = is_found || (problem.key.find(key) != std::string::npos &&
                            problem.error.message().find(message) != std::string::npos);
  }
  EXPECT_TRUE(is_found) << problems_of(report);
}

TEST(VarveDamage, VerifyFindsIt) {
  const SaveKey here = chunk_key(0, kHere);
  const PlacedChunk owner{0, kHere};
  expect_found("a damaged chunk", [&](SampleDisk& disk) { disk.flip(here); }, "chunk:3,-2", "");
  expect_found(
      "a chunk cut short", [&](SampleDisk& disk) { disk.put(here, disk.get(here).slice(0, 5)); },
      "chunk:3,-2", "");
  expect_found(
      "a chunk under another's key",
      [&](SampleDisk& disk) { disk.put(chunk_key(0, ChunkPos(9, 9)), disk.get(here)); },
      "chunk:9,9", "another key");
  expect_found(
      "an entity without data", [&](SampleDisk& disk) { disk.erase(entity_key_of(owner, 7)); },
      "entity:7", "it is not there");
  expect_found(
      "an entity without a place", [&](SampleDisk& disk) { disk.erase(entity_place_key(7)); },
      "entity:7", "elsewhere");
  expect_found(
      "an entity in two places",
      [&](SampleDisk& disk) {
        disk.put_framed(entity_key_of(PlacedChunk{0, ChunkPos(0, 0)}, 7), "sheep");
      },
      "entity:7", "elsewhere");
  expect_found(
      "an entity that is free and owned",
      [&](SampleDisk& disk) { disk.put_framed(entity_key_of(std::nullopt, 7), "sheep"); },
      "entity:7", "elsewhere");
  expect_found(
      "a damaged place", [&](SampleDisk& disk) { disk.flip(entity_place_key(7)); }, "entity:7", "");
  expect_found(
      "a place that is none",
      [&](SampleDisk& disk) { disk.put_framed(entity_place_key(7), "nowhere"); }, "", "position");
  expect_found(
      "a place in a space there is not",
      [&](SampleDisk& disk) {
        const PlacedChunk far{99, ChunkPos(0, 0)};
        disk.put_framed(entity_place_key(7), encode_place(far).text());
        disk.put_framed(entity_key_of(far, 7), "sheep");
        disk.erase(entity_key_of(owner, 7));
      },
      "entity:7", "no space of number 99");
  expect_found(
      "a damaged player",
      [&](SampleDisk& disk) { disk.flip(named_key(RecordKind::player, "ann")); }, "player:ann", "");
  expect_found(
      "a chunk of a space there is not",
      [&](SampleDisk& disk) { disk.put_framed(chunk_key(99, kHere), "x"); }, "a chunk",
      "no space of number 99");
  expect_found(
      "a damaged space", [&](SampleDisk& disk) { disk.flip(space_key(1)); }, "table of spaces", "");
  expect_found(
      "a key that is none",
      [&](SampleDisk& disk) { disk.put_framed(SaveKey(KeyTag::chunk).u8(9), "x"); }, "a chunk",
      "key");
  expect_found(
      "a player without a name",
      [&](SampleDisk& disk) { disk.put_framed(SaveKey(KeyTag::player), "x"); }, "player:", "");
  expect_found(
      "another program's key",
      [&](SampleDisk& disk) { disk.put(as_byte_view("hello"), Bytes::copy_of("x")); }, "the save",
      "does not know");
  expect_found(
      "a tag of the future",
      [&](SampleDisk& disk) { disk.put_framed(SaveKey(static_cast<KeyTag>(0x41)), "x"); },
      "the save", "does not know");
  expect_found(
      "a header that is longer than one",
      [&](SampleDisk& disk) { disk.put_framed(SaveKey(KeyTag::header).u8(1), "x"); }, "the save",
      "");
  expect_found(
      "a copy of the header that is longer than one",
      [&](SampleDisk& disk) { disk.put_framed(SaveKey(KeyTag::header_copy).u8(1), "x"); },
      "the save", "a header too many");
  expect_found(
      "a damaged header", [&](SampleDisk& disk) { disk.flip(header_key()); }, "the save",
      "the header: payload");
  expect_found(
      "a damaged copy of the header", [&](SampleDisk& disk) { disk.flip(header_copy_key()); },
      "the save", "the copy of the header: payload");
  expect_found(
      "a damaged quarantine",
      [&](SampleDisk& disk) {
        disk.put(SaveKey(KeyTag::quarantine).u64(1).u64(2), Bytes::copy_of("x"));
      },
      "the save", "");
}

// One record is flipped at a time; every other one is read as it was. The header has a copy, so
// that nothing is lost with either.
TEST(VarveDamage, DamageToOneRecordCostsThatOne) {
  const auto whole = crash::read_records(*open_sample(sample())).value();
  const auto entries = sample()->kept->range({}).value().entries;
  ASSERT_EQ(entries.size(), 11u);
  for (const RangeEntry& entry : entries) {
    const auto tag = static_cast<KeyTag>(entry.key.data()[0]);
    const bool is_header = tag == KeyTag::header || tag == KeyTag::header_copy;
    const auto disk = sample();
    Buffer changed = entry.value->clone();
    changed.data()[changed.size() / 2] ^= std::byte{0x10};
    disk->put(entry.key, std::move(changed).freeze());
    const auto store = open_sample(disk);
    std::size_t lost = 0;
    for (const auto& [text, value] : whole) {
      const RecordKey key = parse_record_key(text).value();
      const auto got = [&]() -> Result<std::optional<Bytes>> {
        if (key.kind == RecordKind::chunk) return store->read_chunk(key.pos);
        if (key.kind == RecordKind::player) return store->read_player(key.name);
        if (key.kind == RecordKind::global) return store->read_global(key.name);
        auto read = store->read_entity(key.id);
        if (!read) return read.error();
        if (!*read) return std::nullopt;
        return crash::entity_record((*read)->owner, (*read)->data);
      }();
      if (got) {
        EXPECT_TRUE(*got) << text << " is silently gone";
        EXPECT_EQ(**got, value) << text;
      } else {
        EXPECT_EQ(got.error().code(), ErrorCode::corruption) << text;
        ++lost;
      }
    }
    EXPECT_EQ(lost, is_header ? 0u : 1u) << static_cast<int>(tag);
    EXPECT_FALSE(verify(*store).clean());
  }
}

}  // namespace
}  // namespace varve
