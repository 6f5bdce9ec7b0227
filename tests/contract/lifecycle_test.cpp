// Creating, opening, closing, moving and looking after a save.
#include <cmath>

#include "contract/store_contract.h"

namespace varve::test {
namespace {

TEST_P(StoreContract, CapabilitiesNameTheFormat) {
  EXPECT_EQ(can().format, format().name());
  EXPECT_GE(can().coordinate_count_min, 1);
  EXPECT_LE(can().coordinate_count_min, can().coordinate_count_max);
  EXPECT_LE(can().coordinate_count_max, kCoordinateCountMax);
}

TEST_P(StoreContract, WhatTheFormatRecommendsIsSane) {
  const StoreDefaults& defaults = store().defaults();
  EXPECT_TRUE(std::isfinite(defaults.autosave_interval_s));
  EXPECT_GT(defaults.autosave_interval_s, 0);
  EXPECT_LE(defaults.max_backups, 100u) << "each is a whole save";
  // Backups it recommends are backups it keeps: World asks for none where it cannot.
  if (can().backups && defaults.max_backups > 0) {
    must({.tick = 1, .backup_count = defaults.max_backups});
    must({.tick = 2, .backup_count = defaults.max_backups});
    EXPECT_EQ(open(subject().backup_path(path(), 1))->tick(), 1u);
  }
}

TEST_P(StoreContract, ASaveIsDetectedAndNothingIsNot) {
  EXPECT_TRUE(format().detect(path()).value());
  EXPECT_FALSE(format().detect(subject().fresh_path()).value());
}

TEST_P(StoreContract, CreatingOverASaveIsRefused) {
  must({.chunks = {chunk(at(1), "x")}});
  close();
  EXPECT_FALSE(format().create(path()));
  EXPECT_EQ(open(path())->read_chunk(at(1)).value(), payload(RecordKind::chunk, "x"));
}

TEST_P(StoreContract, OpeningNothingIsNotFoundAndLeavesNothing) {
  const std::string nothing = subject().fresh_path();
  const auto opened = format().open(nothing);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::not_found);
  EXPECT_NE(opened.error().message().find(nothing), std::string::npos);
  EXPECT_TRUE(format().create(nothing));
}

TEST_P(StoreContract, ASecondWriterIsBusy) {
  must({.chunks = {chunk(at(1), "x")}});
  const auto second = format().open(path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::busy);
  EXPECT_NE(second.error().message().find(path()), std::string::npos) << second.error().message();
  must({.chunks = {chunk(at(1), "y")}});
  reopen();
}

TEST_P(StoreContract, ADestructorLetsGoOfTheSave) {
  {
    const auto other = create(subject().fresh_path());
    ASSERT_NE(other, nullptr);
  }
  const std::string where = subject().fresh_path();
  create(where).reset();
  EXPECT_TRUE(format().open(where));
}

TEST_P(StoreContract, AClosedStoreRefusesEverything) {
  must({.tick = 3, .chunks = {chunk(at(1), "x")}});
  ASSERT_TRUE(store().close());
  Progress progress;
  const auto expect_closed = [](const auto& result) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), ErrorCode::invalid_argument) << result.error().message();
    EXPECT_NE(result.error().message().find("closed"), std::string::npos);
  };
  const auto visit = [](const auto&) { return true; };
  expect_closed(store().commit({.tick = 9}, progress));
  expect_closed(store().read_chunk(at(1)));
  expect_closed(store().read_entity(1));
  expect_closed(store().read_entities_of(at(1)));
  expect_closed(store().read_player("ann"));
  expect_closed(store().read_global("sky"));
  expect_closed(store().list_chunks({}, visit));
  expect_closed(store().list_entities({}, visit));
  expect_closed(store().list_players(visit));
  expect_closed(store().list_globals(visit));
  expect_closed(store().pin());
  expect_closed(store().quarantine(at(1)));
  expect_closed(store().verify(progress));
  expect_closed(store().compact(progress));
  expect_closed(store().close());
  EXPECT_EQ(store().generation(), 0u);
  EXPECT_EQ(store().tick(), 0u);
  EXPECT_EQ(store().generator(), std::nullopt);
  // Somebody else may have it now.
  EXPECT_EQ(open(path())->tick(), 3u);
}

TEST_P(StoreContract, VerifyReadsEveryRecord) {
  Commit commit{.chunks = {chunk(at(1), "one"), chunk(at(2), "two")}};
  if (can().entities) commit.entities = {entity(7, owner(1), "x")};
  if (can().players) commit.players = {player("ann", "x")};
  if (can().globals) commit.globals = {global("sky", "x")};
  must(commit);
  Progress progress;
  const auto report = store().verify(progress);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->clean());
  EXPECT_EQ(report->record_count, contents_of(store()).records.size());
  EXPECT_EQ(progress.fraction(), 1);
}

TEST_P(StoreContract, CompactingChangesNothingThatIsRead) {
  for (int i = 0; i < 20; ++i) {
    must({.chunks = {chunk(at(i % 4), std::string(1000, 'x') + std::to_string(i)), {at(9 - i)}}});
  }
  const Contents before = contents_of(store());
  Progress progress;
  const auto report = store().compact(progress);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_LE(report->size_after, report->size_before);
  EXPECT_EQ(progress.fraction(), 1);
  EXPECT_EQ(contents_of(store()), before);
  must({.chunks = {chunk(at(77), "after")}});
  reopen();
  EXPECT_EQ(store().read_chunk(at(77)).value(), payload(RecordKind::chunk, "after"));
}

TEST_P(StoreContract, QuarantineOfWhatIsNotThereSucceeds) {
  must({.chunks = {chunk(at(1), "x")}});
  const Contents before = contents_of(store());
  EXPECT_TRUE(store().quarantine(at(5)));
  EXPECT_EQ(contents_of(store()), before);
}

TEST_P(StoreContract, ASaveIsRenamedAndRemoved) {
  must({.tick = 5, .chunks = {chunk(at(1), "x")}});
  const Contents before = contents_of(store());
  const std::string to = subject().fresh_path();
  EXPECT_EQ(format().rename(path(), to).error().code(), ErrorCode::busy);
  EXPECT_EQ(format().remove(path()).error().code(), ErrorCode::busy);
  close();
  ASSERT_TRUE(format().rename(path(), to));
  EXPECT_FALSE(format().detect(path()).value());
  EXPECT_EQ(format().rename(path(), to).error().code(), ErrorCode::not_found);
  EXPECT_EQ(contents_of(*open(to)), before);

  ASSERT_TRUE(create(path())->close());
  const Status taken = format().rename(path(), to);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(contents_of(*open(to)), before);

  ASSERT_TRUE(format().remove(to));
  EXPECT_FALSE(format().detect(to).value());
  EXPECT_TRUE(format().remove(to)) << "there is none any more, and that is what was wanted";
  EXPECT_EQ(format().open(to).error().code(), ErrorCode::not_found);
  ASSERT_TRUE(format().create(to));
}

TEST_P(StoreContract, RemovingASaveRemovesItsBackups) {
  if (!applies(can().backups, {.tick = 1, .backup_count = 1})) return;
  for (std::uint64_t i = 1; i <= 3; ++i) must({.tick = i, .backup_count = 2});
  close();
  ASSERT_TRUE(format().remove(path()));
  for (const std::uint32_t number : {1u, 2u}) {
    EXPECT_FALSE(format().detect(subject().backup_path(path(), number)).value());
  }
}

}  // namespace
}  // namespace varve::test
