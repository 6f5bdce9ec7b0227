// What a store must not take: each refusal names the record, and nothing changes.
#include "contract/store_contract.h"

namespace varve::test {
namespace {

TEST_P(StoreContract, AKeyTwiceIsRefused) {
  const auto code = ErrorCode::invalid_argument;
  must({.chunks = {chunk(at(1, 2), "before")}});
  expect_refused({.chunks = {chunk(at(1, 2), "a"), chunk(at(3), "b"), {at(1, 2)}}}, code,
                 {to_string(at(1, 2))});
  if (can().entities) {
    const auto home = owner(1);
    expect_refused({.entities = {entity(7, home, "a"), entity(7, home, "b")}}, code, {"entity:7"});
  }
  if (can().players) {
    expect_refused({.players = {player("ann", "a"), player("ann", "a")}}, code, {"player:ann"});
  }
  if (can().globals) {
    expect_refused({.globals = {global("sky", "a"), {"sky"}}}, code, {"global:sky"});
  }
}

TEST_P(StoreContract, ABadNameIsRefused) {
  const auto code = ErrorCode::invalid_argument;
  for (const std::string& bad : {std::string(), std::string("a\nb"), std::string("a\0b", 3),
                                 std::string("\xff"), std::string(kNameSizeMax + 1, 'x')}) {
    expect_refused({.chunks = {chunk(at(1), "x")}, .players = {player(bad, "x")}}, code,
                   {"player"});
    expect_refused({.chunks = {chunk(at(1), "x")}, .globals = {global(bad, "x")}}, code,
                   {"global"});
  }
}

TEST_P(StoreContract, ATickThatRunsBackwardsIsRefused) {
  must({.tick = 100, .chunks = {chunk(at(1), "x")}});
  expect_refused({.tick = 99, .chunks = {chunk(at(1), "y")}}, ErrorCode::invalid_argument,
                 {"99", "100"});
  must({.tick = 100, .chunks = {chunk(at(1), "y")}});
}

TEST_P(StoreContract, OtherNumbersOfCoordinatesAreRefused) {
  for (std::uint8_t count = 1; count <= kCoordinateCountMax; ++count) {
    ChunkPos pos(1);
    pos.coordinate_count = count;
    const Commit commit{.chunks = {chunk(at(1, 1), "good"), chunk(pos, "x")}};
    if (count >= can().coordinate_count_min && count <= can().coordinate_count_max) {
      must(commit);
    } else {
      expect_refused(commit, ErrorCode::unsupported, {to_string(pos), can().format});
    }
  }
  ChunkPos none(1);
  none.coordinate_count = 0;
  expect_refused({.chunks = {chunk(none, "x")}}, ErrorCode::invalid_argument, {"chunk:"});
}

TEST_P(StoreContract, ACoordinateOutsideItsRangeIsRefused) {
  for (std::size_t i = 0; i < can().coordinate_count_max; ++i) {
    const CoordinateRange& range = can().coordinate_ranges[i];
    ASSERT_LE(range.min, range.max);
    if (range == CoordinateRange()) continue;
    ChunkPos pos = at(1);
    for (const std::int32_t inside : {range.min, range.max}) {
      pos.coordinates[i] = inside;
      must({.chunks = {chunk(pos, "x")}});
    }
    for (const std::int32_t outside : {range.min - 1, range.max + 1}) {
      pos.coordinates[i] = outside;
      expect_refused({.chunks = {chunk(at(1, 1), "good"), chunk(pos, "x")}}, ErrorCode::unsupported,
                     {to_string(pos), can().format});
      // It cannot be there, so that it is gone already.
      must({.chunks = {{pos}}});
      EXPECT_EQ(store().read_chunk(pos).value(), std::nullopt);
      if (!can().entities) continue;
      expect_refused({.entities = {entity(7, pos, "x")}}, ErrorCode::unsupported, {"entity:7"});
    }
  }
}

TEST_P(StoreContract, ABadRecordAmongGoodOnesStopsThemAll) {
  Commit commit;
  for (int i = 0; i < 100; ++i) commit.chunks.push_back(chunk(at(i), "x"));
  commit.globals = {global("", "bad")};
  expect_refused(commit, ErrorCode::invalid_argument, {"global"});
  EXPECT_EQ(store().read_chunk(at(5)).value(), std::nullopt);
}

// Of every kind, among good ones. Limits too large to reach are a matter for check_commit's
// own tests.
TEST_P(StoreContract, APayloadLargerThanTheLimitIsRefused) {
  ASSERT_GT(can().payload_size_max, 0u);
  if (can().payload_size_max > 1 << 24) return;
  const auto limit = static_cast<std::size_t>(can().payload_size_max);
  const std::string large(limit + 1, 'x');
  must({.chunks = {chunk(at(1), "before")}});
  const auto expect_too_large = [&](Commit commit, const std::string& key) {
    commit.chunks.push_back(chunk(at(1), "after"));
    const Contents before = contents_of(store());
    Progress progress;
    const auto result = store().commit(commit, progress);
    ASSERT_FALSE(result) << key;
    EXPECT_EQ(result.error().code(), ErrorCode::unsupported);
    for (const std::string& word : {key, can().format, std::to_string(limit)}) {
      EXPECT_NE(result.error().message().find(word), std::string::npos)
          << "'" << word << "' is not in: " << result.error().message();
    }
    EXPECT_LT(progress.fraction(), 1);
    EXPECT_EQ(contents_of(store()), before);
  };
  expect_too_large({.chunks = {chunk(at(2), large)}}, to_string(at(2)));
  if (can().entities) expect_too_large({.entities = {entity(7, owner(1), large)}}, "entity:7");
  if (can().players) expect_too_large({.players = {player("ann", large)}}, "player:ann");
  if (can().globals) expect_too_large({.globals = {global("sky", large)}}, "global:sky");
  // The limit itself is not beyond it.
  const std::string largest = large.substr(payload(RecordKind::chunk, large).size() - limit);
  ASSERT_EQ(payload(RecordKind::chunk, largest).size(), limit);
  must({.chunks = {chunk(at(2), largest)}});
  reopen();
  EXPECT_EQ(store().read_chunk(at(2)).value(), payload(RecordKind::chunk, largest));
  EXPECT_EQ(store().read_chunk(at(1)).value(), payload(RecordKind::chunk, "before"));
}

// A format that cannot carry a record cannot hold it, and erasing what is not there is no
// error.
TEST_P(StoreContract, ErasingWhatIsNotThereChangesNothing) {
  must({.chunks = {chunk(at(1), "x")}});
  const Contents before = contents_of(store());
  const CommitStats stats = must(
      {.chunks = {{at(2)}, {ChunkPos(1, 2, 3, 4)}, {at(1).in(Space::named("nowhere").value())}},
       .entities = {{7}},
       .players = {{"ann"}},
       .globals = {{"sky"}}});
  EXPECT_EQ(stats.chunks.erased_count + stats.entities.erased_count + stats.players.erased_count +
                stats.globals.erased_count,
            0u);
  EXPECT_EQ(contents_of(store()), before);
}

}  // namespace
}  // namespace varve::test
