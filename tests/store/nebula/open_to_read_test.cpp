// Looking at a save while somebody writes it.
#include <gtest/gtest.h>

#include "store/nebula/sample_save.h"
#include "support/counting_vfs.h"

namespace varve::nebula {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)
using varve::test::CountingVfs;

constexpr ChunkPos kPos(0, 1, 2, 0);
constexpr ChunkPos kOther(0, 3, 4, 0);

Commit chunk_commit(const ChunkPos& pos, std::string_view text) {
  return {.chunks = {{pos, Bytes::copy_of(text)}}};
}

// A writer at work on a disk, and somebody who looks through one that counts.
struct WatchedSave {
  WatchedSave() {
    disk.set_recording(false);
    writer = NebulaStore::create(disk, kSavePath).value();
    must_commit(*writer, {.tick = 1,
                          .chunks = {{kPos, Bytes::copy_of("one")}, {kOther, Bytes::copy_of("o")}},
                          .entities = {{5, EntityValue{kPos, entity_payload("cow")}}},
                          .players = {{"ann", Bytes::copy_of("here")}}});
  }
  std::unique_ptr<Store> look() { return must_open_to_read(looking); }

  sim::SimDisk disk;
  CountingVfs looking{disk};
  std::unique_ptr<Store> writer;
};

TEST(NebulaOpenToRead, ShowsTheNewestGenerationBesideTheWriter) {
  WatchedSave save;
  for (int i = 2; i < 6; ++i) {
    must_commit(*save.writer, {.tick = static_cast<std::uint64_t>(i),
                               .chunks = {{kPos, Bytes::copy_of(std::to_string(i))}}});
    const auto seen = save.look();
    EXPECT_EQ(seen->generation(), save.writer->generation());
    EXPECT_EQ(seen->tick(), static_cast<std::uint64_t>(i));
    EXPECT_EQ(crash::read_records(*seen).value(), crash::read_records(*save.writer).value());
    EXPECT_TRUE(verify(*seen).clean());
    EXPECT_TRUE(seen->close());
  }
  EXPECT_EQ(save.looking.counts().change_count(), 0u);
}

TEST(NebulaOpenToRead, RefusesWhatWouldChangeTheSave) {
  WatchedSave save;
  const auto seen = save.look();
  Progress progress;
  EXPECT_EQ(seen->commit(chunk_commit(kPos, "x"), progress).error().code(), ErrorCode::unsupported);
  EXPECT_EQ(seen->quarantine(kPos).error().code(), ErrorCode::unsupported);
  EXPECT_EQ(seen->compact(progress).error().code(), ErrorCode::unsupported);
  EXPECT_EQ(save.looking.counts().change_count(), 0u);
}

TEST(NebulaOpenToRead, ARecordThatWasReplacedIsBusyAndOpeningAgainHelps) {
  WatchedSave save;
  const auto seen = save.look();
  const auto pinned = seen->pin().value();
  must_commit(*save.writer, chunk_commit(kPos, "two"));
  for (const StoreView* view : std::initializer_list<const StoreView*>{seen.get(), pinned.get()}) {
    const auto read = view->read_chunk(kPos);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code(), ErrorCode::busy) << read.error().message();
    // What was not replaced is still of the generation that was opened.
    EXPECT_EQ(view->read_chunk(kOther).value()->text(), "o");
    EXPECT_EQ(view->read_entity(5).value()->data, entity_payload("cow"));
  }
  must_commit(*save.writer, {.chunks = {{kOther, {}}}});
  EXPECT_EQ(seen->read_chunk(kOther).error().code(), ErrorCode::busy) << "erased meanwhile";
  EXPECT_EQ(save.look()->read_chunk(kPos).value()->text(), "two");
  EXPECT_EQ(save.look()->read_chunk(kOther).value(), std::nullopt);
}

TEST(NebulaOpenToRead, DamageIsNotTakenForAWriter) {
  WatchedSave save;
  write_file(save.disk, "world/chunks/0_1_2_0.chunk", as_byte_view("noise"));
  const auto seen = save.look();
  EXPECT_EQ(seen->read_chunk(kPos).error().code(), ErrorCode::corruption);
  EXPECT_EQ(verify(*seen).problems.size(), 1u);
}

TEST(NebulaOpenToRead, ACheckThatWasOvertakenIsBusy) {
  WatchedSave save;
  const auto seen = save.look();
  must_commit(*save.writer, chunk_commit(kPos, "two"));
  Progress progress;
  EXPECT_EQ(seen->verify(progress).error().code(), ErrorCode::busy);
  const auto later = save.look();
  must_commit(*save.writer, chunk_commit({0, 9, 9, 0}, "a new file is no stray"));
  EXPECT_EQ(later->verify(progress).error().code(), ErrorCode::busy);
}

// The catalog was read, then the entities were replaced.
TEST(NebulaOpenToRead, OpeningThatWasOvertakenStartsAgain) {
  WatchedSave save;
  bool once = false;
  save.looking.before_each([&](std::string_view path) {
    if (!path.ends_with("entities.bin") || std::exchange(once, true)) return;
    must_commit(*save.writer,
                {.tick = 7, .entities = {{5, EntityValue{kPos, entity_payload("moved")}}}});
  });
  const auto seen = save.look();
  ASSERT_NE(seen, nullptr);
  ASSERT_TRUE(once);
  EXPECT_EQ(seen->tick(), 7u);
  const auto entity = seen->read_entity(5);
  ASSERT_TRUE(entity) << entity.error().message();
  EXPECT_EQ((*entity)->data, entity_payload("moved"));
}

// A commit whose files are staged and not yet in place, as a crash or a full disk leaves it.
TEST(NebulaOpenToRead, ACommitThatIsNotInPlaceYetIsSeenAndNotFinished) {
  WatchedSave save;
  sim::DiskImage pending;
  {
    // The disk as it is when the first file is about to be put in place.
    CountingVfs hooked(save.disk);
    save.writer.reset();
    const auto writer = must_open(hooked);
    bool once = false;
    hooked.before_each([&](std::string_view path) {
      if (!path.ends_with(".chunk") || once) return;
      if (save.disk.list("world/varve/staged")->size() < 3) return;
      once = true;
      pending = save.disk.image();
    });
    must_commit(*writer, {.tick = 9,
                          .chunks = {{kPos, Bytes::copy_of("two")},
                                     {kOther, {}},
                                     {{1, 1, 1, 1}, Bytes::copy_of("new")}},
                          .entities = {{5, EntityValue{kOther, entity_payload("ox")}}}});
    ASSERT_TRUE(once);
  }
  sim::SimDisk disk(pending);
  CountingVfs looking(disk);
  const auto seen = must_open_to_read(looking);
  EXPECT_EQ(seen->tick(), 9u);
  EXPECT_EQ(seen->read_chunk(kPos).value()->text(), "two");
  EXPECT_EQ(seen->read_chunk(kOther).value(), std::nullopt);
  EXPECT_EQ(seen->read_chunk({1, 1, 1, 1}).value()->text(), "new");
  EXPECT_EQ(seen->read_entity(5).value()->data, entity_payload("ox"));
  EXPECT_EQ(looking.counts().change_count(), 0u);
  EXPECT_EQ(disk.list("world/varve/staged")->size(), 3u);
  const auto expected = crash::read_records(*seen).value();
  EXPECT_TRUE(seen->close());

  const auto writer = must_open(disk);
  EXPECT_TRUE(writer->open_report().finished_commit);
  EXPECT_EQ(crash::read_records(*writer).value(), expected);
  EXPECT_TRUE(disk.list("world/varve/staged")->empty());
  EXPECT_TRUE(verify(*writer).clean());
}

TEST(NebulaOpenToRead, NothingIsNotFoundAndLeavesNothing) {
  sim::SimDisk disk;
  const auto seen = NebulaStore::open_to_read(disk, "nothing");
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().code(), ErrorCode::not_found);
  EXPECT_TRUE(disk.list("")->empty());
}

// --- Views that are held -----------------------------------------------------------------

TEST(NebulaPins, AViewOutlivesManyCommitsAndItsFilesGoWithIt) {
  WatchedSave save;
  Store& store = *save.writer;
  auto first = store.pin().value();
  const auto before = crash::read_records(*first).value();
  std::unique_ptr<StoreView> second;
  crash::Records between;
  for (int i = 0; i < 50; ++i) {
    must_commit(store, {.chunks = {{kPos, Bytes::copy_of("round " + std::to_string(i))},
                                   {{2, i, 0, 0}, Bytes::copy_of("new")}},
                        .entities = {{5, EntityValue{kPos, entity_payload(std::to_string(i))}}},
                        .players = {{"ann", i % 2 ? std::optional(Bytes::copy_of(std::to_string(i)))
                                                  : std::nullopt}}});
    if (i == 20) {
      second = store.pin().value();
      between = crash::read_records(*second).value();
    }
    ASSERT_EQ(crash::read_records(*first).value(), before);
    if (second) {
      ASSERT_EQ(crash::read_records(*second).value(), between);
    }
  }
  // Versions nobody looks at are not kept: at most one of each file per view.
  EXPECT_LE(save.disk.list("world/varve/held")->size(), 2u * 4);
  EXPECT_GE(save.disk.list("world/varve/held")->size(), 2u);
  first.reset();
  second.reset();
  must_commit(store, {.tick = 500});
  EXPECT_TRUE(save.disk.list("world/varve/held")->empty());
  EXPECT_TRUE(verify(store).clean());
}

TEST(NebulaPins, FilesThatWereHeldAreGoneAfterClosingAndAfterACrash) {
  for (const bool closes : {true, false}) {
    WatchedSave save;
    auto view = save.writer->pin().value();
    must_commit(*save.writer, chunk_commit(kPos, "two"));
    ASSERT_EQ(save.disk.list("world/varve/held")->size(), 1u);
    view.reset();
    EXPECT_TRUE(!closes || save.writer->close());
    save.writer.reset();
    if (!closes) save.writer = must_open(save.disk);
    EXPECT_TRUE(save.disk.list("world/varve/held")->empty());
  }
}

// verify() may run while a commit does.
TEST(NebulaPins, ACheckBesideACommitFindsNoDamage) {
  sim::SimDisk disk;
  CountingVfs hooked(disk);
  const auto store = NebulaStore::create(hooked, kSavePath).value();
  must_commit(*store, {.chunks = {{kPos, Bytes::copy_of("one")}, {kOther, Bytes::copy_of("o")}},
                       .entities = {{5, EntityValue{kPos, entity_payload("cow")}}}});
  int round = 0;
  hooked.before_each([&](std::string_view path) {
    if (path.find("varve/") != std::string_view::npos) return;
    must_commit(*store,
                {.chunks = {{kPos, Bytes::copy_of(std::to_string(++round))},
                            {kOther, Bytes::copy_of(std::to_string(round))},
                            {{3, round, 0, 0}, Bytes::copy_of("new")}},
                 .entities = {{5, EntityValue{kPos, entity_payload(std::to_string(round))}}}});
  });
  const VerifyReport report = verify(*store);
  EXPECT_GT(round, 3);
  for (const RecordProblem& problem : report.problems) {
    ADD_FAILURE() << problem.key << ": " << problem.error.message();
  }
}

}  // namespace
}  // namespace varve::nebula
