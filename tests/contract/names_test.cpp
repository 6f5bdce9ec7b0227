// Names that tempt a store which makes files of them.
#include "contract/store_contract.h"

namespace varve::test {
namespace {

std::vector<std::string> awkward_names() {
  return {".",
          "..",
          "../..",
          "../../escape",
          "/",
          "/absolute",
          "a/b",
          "a//b",
          "a/",
          " ",
          " leading and trailing ",
          "dots.in.a.name",
          "trailing.",
          "CON",
          "upper",
          "UPPER",
          "percent%2Fescape",
          "back\\slash",
          "quote\"'`$;&|<>*?",
          "colon:and,comma",
          "chunk:1,2",
          "\xc3\xa9\xe2\x98\x83\xf0\x9f\x8c\x8d",
          "e\xcc\x81",  // the same letter to a reader, not to us
          "file:region/r.0.0.mca",
          "world.lock",
          "x.tmp",
          "x.backup",
          std::string(kNameSizeMax, 'n'),
          std::string(kNameSizeMax - 1, '/') + "/",
          std::string(kNameSizeMax - 1, '.') + "."};
}

TEST_P(StoreContract, PlayersMayHaveAwkwardNames) {
  if (!applies(can().players, {.players = {player("ann", "")}})) return;
  Commit commit;
  // The two of 255 bytes share their text with no other.
  for (const std::string& name : awkward_names()) commit.players.push_back(player(name, name));
  must(commit);
  const Contents before = contents_of(store());
  EXPECT_EQ(before.records.size(), awkward_names().size());
  reopen();
  EXPECT_EQ(contents_of(store()), before);
  for (const std::string& name : awkward_names()) {
    EXPECT_EQ(store().read_player(name).value(), payload(RecordKind::player, name)) << name;
    must({.players = {{name}}});
    EXPECT_EQ(store().read_player(name).value(), std::nullopt) << name;
  }
  EXPECT_TRUE(contents_of(store()).records.empty());
}

TEST_P(StoreContract, GlobalsMayHaveAwkwardNames) {
  if (!applies(can().globals, {.globals = {global("sky", "")}})) return;
  Commit commit;
  for (const std::string& name : awkward_names()) commit.globals.push_back(global(name, name));
  must(commit);
  reopen();
  for (const std::string& name : awkward_names()) {
    EXPECT_EQ(store().read_global(name).value(), payload(RecordKind::global, name)) << name;
  }
  EXPECT_EQ(contents_of(store()).records.size(), awkward_names().size());
}

TEST_P(StoreContract, SpacesMayHaveAwkwardNames) {
  const ChunkPos elsewhere = at(1).in(Space::named("a/b").value());
  if (!applies(can().spaces, {.chunks = {chunk(elsewhere, "")}})) return;
  Commit commit;
  for (const std::string& name : awkward_names()) {
    commit.chunks.push_back(chunk(at(1).in(Space::named(name).value()), name));
  }
  must(commit);
  reopen();
  for (const ChunkChange& change : commit.chunks) {
    EXPECT_EQ(store().read_chunk(change.pos).value(), change.payload) << to_string(change.pos);
  }
  EXPECT_EQ(contents_of(store()).records.size(), awkward_names().size());
}

}  // namespace
}  // namespace varve::test
