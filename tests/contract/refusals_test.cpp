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

TEST_P(StoreContract, ABadRecordAmongGoodOnesStopsThemAll) {
  Commit commit;
  for (int i = 0; i < 100; ++i) commit.chunks.push_back(chunk(at(i), "x"));
  commit.globals = {global("", "bad")};
  expect_refused(commit, ErrorCode::invalid_argument, {"global"});
  EXPECT_EQ(store().read_chunk(at(5)).value(), std::nullopt);
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
