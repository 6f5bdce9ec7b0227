// The header of a save and its copy: where they lie, and what is read when one of them is damaged,
// missing, older than the other, or not there yet.
#include "store/varve/header_records.h"

#include <gtest/gtest.h>

#include "crash/store_subject.h"
#include "io/sim/sim_disk.h"
#include "sharing_sample.h"
#include "store/varve/varve_format.h"
#include "support/counting_vfs.h"
#include "support/scratch_dir.h"

namespace varve {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

constexpr std::string_view kMagic = "VARVSAVE";

const Commit kFirst{.tick = 30,
                    .chunks = {chunk(ChunkPos(0, 0), "stone"), chunk(ChunkPos(0, 1), "sand")},
                    .players = {{"ann", Bytes::copy_of("here")}},
                    .generator = GeneratorId{"hills", 3}};

std::shared_ptr<SampleDisk> sample() {
  const auto disk = new_disk();
  commit(*open_sample(disk), kFirst);
  return disk;
}

SaveHeader copy_of(const SampleDisk& disk) {
  const SaveKey key = header_copy_key();
  return decode_save_header(read_plain_frame(key, disk.get(key)).value()).value();
}

void put_header_at(SampleDisk& disk, const SaveKey& key, const SaveHeader& header) {
  disk.put_framed(key, encode_save_header(header).text());
}

// As programs left it that did not know of a copy.
void make_old(SampleDisk& disk) {
  SaveHeader header = header_of(disk);
  header.features &= ~kFeatureHeaderCopy;
  put_header_at(disk, header_key(), header);
  disk.erase(header_copy_key());
}

// The store shows what was committed, whatever its header looks like.
void expect_shown(VarveStore& store) {
  EXPECT_EQ(store.generation(), 1u);
  EXPECT_EQ(store.tick(), 30u);
  EXPECT_EQ(store.generator(), (GeneratorId{"hills", 3}));
  const auto view = store.pin_view();
  ASSERT_TRUE(view) << view.error().message();
  EXPECT_EQ((*view)->header().save_id, 0x1122u);
  EXPECT_EQ((*view)->generation(), 1u);
  EXPECT_EQ((*view)->tick(), 30u);
  EXPECT_EQ(store.read_chunk(ChunkPos(0, 1)).value()->text(), "sand");
}

std::string opening_of(const Store& store) {
  return problems_of({.problems = store.open_report().problems});
}

void expect_whole(const std::shared_ptr<SampleDisk>& disk) {
  const auto store = open_sample(disk);
  EXPECT_EQ(opening_of(*store), "");
  expect_clean(*store);
  EXPECT_EQ(header_of(*disk), copy_of(*disk));
  EXPECT_NE(header_of(*disk).features & kFeatureHeaderCopy, 0u);
}

// What opening and verify() say after `harm`, both once, and that what was written then mends it.
void expect_worked_around(const char* what, const std::function<void(SampleDisk&)>& harm,
                          std::string_view message) {
  SCOPED_TRACE(what);
  for (const bool compacts : {false, true}) {
    const auto disk = sample();
    harm(*disk);
    const auto store = open_sample(disk);
    ASSERT_NE(store, nullptr);
    ASSERT_EQ(store->open_report().problems.size(), 1u) << opening_of(*store);
    EXPECT_EQ(store->open_report().problems[0].key, "the save");
    EXPECT_NE(opening_of(*store).find(message), std::string::npos) << opening_of(*store);
    EXPECT_EQ(problems_of(verify(*store)), opening_of(*store));
    expect_shown(*store);
    if (compacts) {
      Progress progress;
      ASSERT_TRUE(store->compact(progress));
      EXPECT_EQ(store->generation(), 1u) << "which makes no generation";
    } else {
      EXPECT_EQ(commit(*store, {.tick = 31}).generation, 2u);
    }
    expect_clean(*store);
    expect_whole(disk);
  }
}

TEST(HeaderRecords, OneIsDamagedOrMissingAndTheOtherIsUsed) {
  expect_worked_around(
      "a damaged header", [](SampleDisk& disk) { disk.flip(header_key()); },
      "the header: payload: 64 bytes with checksum");
  expect_worked_around(
      "a header cut short",
      [](SampleDisk& disk) { disk.put(header_key(), disk.get(header_key()).slice(0, 5)); },
      "; its copy is used; the next commit writes both again");
  expect_worked_around(
      "a header that is none", [](SampleDisk& disk) { disk.put_framed(header_key(), "hello"); },
      "the header: header of a save");
  expect_worked_around(
      "no header", [](SampleDisk& disk) { disk.erase(header_key()); },
      "the header is missing; its copy is used");
  expect_worked_around(
      "a damaged copy", [](SampleDisk& disk) { disk.flip(header_copy_key()); },
      "the copy of the header: payload");
  expect_worked_around(
      "no copy", [](SampleDisk& disk) { disk.erase(header_copy_key()); },
      "the copy of the header is missing; the next commit writes both again");
}

TEST(HeaderRecords, OfTwoThatDifferTheLaterGenerationIsUsed) {
  const auto older = [](SampleDisk& disk, const SaveKey& key) {
    SaveHeader header = header_of(disk);
    header.generation = 0;
    header.tick = 7;
    put_header_at(disk, key, header);
  };
  expect_worked_around(
      "an older header", [&](SampleDisk& disk) { older(disk, header_key()); },
      "of generation 0, and its copy, of generation 1, differ; the copy is used");
  expect_worked_around(
      "an older copy", [&](SampleDisk& disk) { older(disk, header_copy_key()); },
      "of generation 1, and its copy, of generation 0, differ; the header is used");
  expect_worked_around(
      "another one of the same generation",
      [](SampleDisk& disk) {
        SaveHeader header = header_of(disk);
        header.tick = 99;
        put_header_at(disk, header_copy_key(), header);
      },
      "differ; the header is used");
}

TEST(HeaderRecords, EveryBitOfEitherMayFlip) {
  const auto disk = sample();
  for (const SaveKey& key : {header_key(), header_copy_key()}) {
    const Bytes good = disk->get(key);
    for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
      Buffer changed = good.clone();
      changed.data()[bit / 8] ^= std::byte{static_cast<unsigned char>(1u << bit % 8)};
      disk->put(key, std::move(changed).freeze());
      const auto store = open_sample(disk);
      ASSERT_NE(store, nullptr) << bit;
      EXPECT_EQ(store->open_report().problems.size(), 1u) << bit;
      expect_shown(*store);
    }
    disk->put(key, good);
  }
}

TEST(HeaderRecords, WithoutEitherTheErrorSaysWhatIsLostAndWhatToDo) {
  for (const bool is_missing : {false, true}) {
    const auto disk = sample();
    disk->flip(header_key());
    is_missing ? disk->erase(header_copy_key()) : disk->flip(header_copy_key());
    const auto opened = try_open(disk);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code(), ErrorCode::corruption);
    const std::string message = opened.error().message();
    for (const char* part : {"sample: ", "the header: payload: 64 bytes", "(key 01)",
                             is_missing ? "its copy is missing" : "its copy: payload: 64 bytes",
                             "(key f1)", "bring back a backup"}) {
      EXPECT_NE(message.find(part), std::string::npos) << message;
    }
  }
}

// A copy somebody damages while the store is open, too.
TEST(HeaderRecords, PinsAndVerificationsFindWhatIsLostMeanwhile) {
  const auto disk = sample();
  const auto store = open_sample(disk);
  disk->flip(header_key());
  expect_shown(*store);
  EXPECT_EQ(verify(*store).problems.size(), 1u);
  disk->flip(header_copy_key());
  const auto view = store->pin();
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code(), ErrorCode::corruption);
  EXPECT_NE(view.error().message().find("sample: "), std::string::npos);
  // What the store knows is all a commit needs.
  EXPECT_EQ(commit(*store, {.tick = 31}).generation, 2u);
  expect_whole(disk);
}

TEST(HeaderRecords, ASaveThatHasNoCopyYetIsGoodAndGetsOne) {
  for (const bool compacts : {false, true}) {
    const auto disk = sample();
    make_old(*disk);
    const auto store = open_sample(disk);
    EXPECT_EQ(opening_of(*store), "");
    expect_clean(*store);
    expect_shown(*store);
    EXPECT_FALSE(disk->has(header_copy_key())) << "looking at it writes nothing";
    Progress progress;
    if (compacts) {
      ASSERT_TRUE(store->compact(progress));
    } else {
      commit(*store, {.tick = 31});
    }
    expect_whole(disk);
  }
}

TEST(HeaderRecords, ASaveThatHasNoCopyYetIsLostWithItsHeader) {
  const auto disk = sample();
  make_old(*disk);
  disk->flip(header_key());
  const auto opened = try_open(disk);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message().find("its copy is missing"), std::string::npos);
}

TEST(HeaderRecords, EitherOfANewerProgramIsRefused) {
  for (const bool is_other_lost : {false, true}) {
    for (const bool is_copy : {false, true}) {
      const auto disk = sample();
      SaveHeader header = header_of(*disk);
      header.features |= 8;
      put_header_at(*disk, is_copy ? header_copy_key() : header_key(), header);
      if (is_other_lost) disk->flip(is_copy ? header_key() : header_copy_key());
      const auto opened = try_open(disk);
      ASSERT_FALSE(opened);
      EXPECT_EQ(opened.error().code(), ErrorCode::unsupported) << opened.error().message();
    }
  }
}

TEST(HeaderRecords, TheyAreNeitherListedNorCounted) {
  const auto disk = sample();
  const auto store = open_sample(disk);
  EXPECT_EQ(verify(*store).record_count, 3u);
  EXPECT_EQ(crash::read_records(*store).value().size(), 3u);
}

TEST(HeaderRecords, OneIsTheFirstOfABatchAndTheOtherTheLast) {
  WriteBatch batch;
  batch.put(as_byte_view("a"), Bytes::copy_of("1"));
  batch.erase(as_byte_view("b"));
  put_header(batch, {.save_id = 9});
  ASSERT_EQ(batch.count(), 4u);
  EXPECT_EQ(batch.changes()[0].key.text(), as_text(header_key().view()));
  EXPECT_EQ(batch.changes()[1].key.text(), "a");
  EXPECT_EQ(batch.changes()[2].key.text(), "b");
  EXPECT_FALSE(batch.changes()[2].value);
  EXPECT_EQ(batch.changes()[3].key.text(), as_text(header_copy_key().view()));
  EXPECT_EQ(batch.size(), 2u + 1u + 2u * (1u + 64u));
}

// --- On a disk -----------------------------------------------------------------------

// Where the headers lie in the segments of a log, by file.
std::vector<std::pair<std::string, std::size_t>> headers_in(sim::SimDisk& disk,
                                                            const std::string& folder) {
  std::vector<std::pair<std::string, std::size_t>> found;
  const std::vector<DirEntry> entries = disk.list(folder).value();
  for (const DirEntry& entry : entries) {
    const std::string path = folder + "/" + entry.name;
    const Bytes all = disk.open(path, OpenMode::read).value()->read_all(1 << 24).value();
    for (std::size_t at = all.text().find(kMagic); at != std::string_view::npos;
         at = all.text().find(kMagic, at + 1)) {
      found.emplace_back(path, at);
    }
  }
  return found;
}

void flip_at(sim::SimDisk& disk, const std::pair<std::string, std::size_t>& place) {
  const auto file = disk.open(place.first, OpenMode::create).value();
  std::byte byte{};
  ASSERT_TRUE(file->read_at(place.second, {&byte, 1}));
  byte ^= std::byte{0x20};
  ASSERT_TRUE(file->write_at(place.second, {&byte, 1}));
}

TEST(HeaderRecords, ADamagedLogSegmentLeavesTheOther) {
  for (const bool is_copy : {false, true}) {
    sim::SimDisk disk;
    disk.set_recording(false);
    const auto format = make_varve_format(disk, "varve", SaveBackend::file, {});
    {
      const auto store = format->create("world").value();
      commit(*store, {.tick = 30, .chunks = {{ChunkPos(0, 0), noise_of(1, 20'000)}}});
      ASSERT_TRUE(store->close());
    }
    const auto places = headers_in(disk, "world/log");
    ASSERT_GE(places.size(), 2u);
    const auto& first = places[places.size() - 2];
    const auto& last = places.back();
    EXPECT_EQ(first.first, last.first);
    EXPECT_GT(last.second, first.second + 20'000) << "everything else is between them";
    flip_at(disk, is_copy ? last : first);
    {
      const auto shown = format->open_to_read("world").value();
      EXPECT_EQ(shown->open_report().problems.size(), 1u);
      EXPECT_EQ(shown->tick(), 30u);
      EXPECT_EQ(shown->pin().value()->generation(), 1u);
      EXPECT_EQ(verify(*shown).problems.size(), 1u) << problems_of(verify(*shown));
      ASSERT_TRUE(shown->close());
    }
    {
      const auto store = format->open("world").value();
      EXPECT_EQ(store->open_report().problems.size(), 1u);
      EXPECT_EQ(store->read_chunk(ChunkPos(0, 0)).value(), noise_of(1, 20'000));
      EXPECT_EQ(commit(*store, {.tick = 31}).generation, 2u);
      ASSERT_TRUE(store->close());
    }
    const auto store = format->open("world").value();
    EXPECT_TRUE(store->open_report().problems.empty());
    EXPECT_EQ(store->generation(), 2u);
    expect_clean(*store);
    ASSERT_TRUE(store->close());
  }
}

TEST(HeaderRecords, ASaveOfFiveChunksIsStillOneBlockAndOneSync) {
  sim::SimDisk disk;
  disk.set_recording(false);
  CountingVfs counting(disk);
  const auto format = make_varve_format(
      counting, "varve", SaveBackend::file, {},
      log::LogOptions{.background = false, .seed = 7, .traits = log::file_backend_traits()});
  const auto store = format->create("world").value();
  commit(*store, same_chunks(0, 5, noise_of(1, 600)));
  counting.reset_counts();
  Commit again = same_chunks(0, 5, noise_of(2, 600));
  again.tick = 2;
  commit(*store, again);
  EXPECT_EQ(counting.counts().synced_file_count, 1u) << counting.counts();
  // The batch, and what tells readers of it.
  EXPECT_LT(counting.counts().written_size, 4096u + 256) << counting.counts();
  ASSERT_TRUE(store->close());
}

TEST(HeaderRecords, LmdbHasBothToo) {
  if (!has_lmdb_backend()) GTEST_SKIP() << "this build is without LMDB";
  const ScratchDir dir;
  const auto format = make_varve_format(posix_vfs(), "varve", SaveBackend::lmdb, {});
  for (const SaveKey& key : {header_key(), header_copy_key()}) {
    const std::string path = dir.file(key.view()[0] == header_key().view()[0] ? "one" : "two");
    {
      const auto store = format->create(path).value();
      commit(*store, kFirst);
      WriteBatch batch;
      batch.put(key, Bytes::copy_of("rot"));
      ASSERT_TRUE(dynamic_cast<VarveStore&>(*store).backend().write(batch));
      ASSERT_TRUE(store->close());
    }
    {
      const auto store = format->open(path).value();
      EXPECT_EQ(store->open_report().problems.size(), 1u);
      EXPECT_EQ(store->generation(), 1u);
      EXPECT_EQ(store->tick(), 30u);
      commit(*store, {.tick = 31});
      ASSERT_TRUE(store->close());
    }
    const auto store = format->open(path).value();
    EXPECT_TRUE(store->open_report().problems.empty());
    expect_clean(*store);
    ASSERT_TRUE(store->close());
  }
}

}  // namespace
}  // namespace varve
