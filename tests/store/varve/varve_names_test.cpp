// Players and globals whose names do not fit into a key.
#include <gtest/gtest.h>

#include "sample_store.h"

namespace varve {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// All begin like each other, as far as a key has them.
std::vector<std::string> long_names() {
  std::vector<std::string> names;
  for (const char last : {'a', 'b', 'c'}) names.push_back(std::string(254, 'n') + last);
  std::string late(255, 'n');
  late[240] = 'z';
  names.push_back(late);
  names.push_back(std::string(254, 'n'));
  names.push_back(std::string(253, 'n'));
  names.push_back(std::string(253, 'n') + "a");
  std::string umlauts;
  while (umlauts.size() < 254) umlauts += "ü";
  names.push_back(umlauts + "x");
  return names;
}

TEST(VarveNames, LongOnesAreKeptApartListedInOrderAndSurvive) {
  const auto disk = new_disk();
  std::vector<std::string> names = long_names();
  names.push_back("ann");
  names.push_back("zoe");
  {
    const auto store = open_sample(disk);
    Commit all;
    for (const std::string& name : names) {
      all.players.push_back({name, Bytes::copy_of("player " + name)});
      all.globals.push_back({name, Bytes()});
    }
    commit(*store, all);
  }
  const auto store = open_sample(disk);
  for (const std::string& name : names) {
    EXPECT_EQ(store->read_player(name).value()->text(), "player " + name);
    EXPECT_EQ(store->read_global(name).value()->size(), 0u);
  }
  std::vector<std::string> listed;
  EXPECT_TRUE(store->list_players([&](const NamedInfo& info) {
    EXPECT_EQ(info.data_size, info.name.size() + 7);
    listed.push_back(info.name);
    return true;
  }));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(listed, names);
  EXPECT_EQ(verify(*store).record_count, 2 * names.size());
  EXPECT_TRUE(verify(*store).clean()) << problems_of(verify(*store));
  // Unchanged, changed, erased.
  EXPECT_EQ(
      commit(*store, {.players = {{long_names()[0], Bytes::copy_of("player " + long_names()[0])}}})
          .players.unchanged_count,
      1u);
  commit(*store, {.players = {{long_names()[0], Bytes()}, {long_names()[1], std::nullopt}}});
  EXPECT_EQ(store->read_player(long_names()[0]).value()->size(), 0u);
  EXPECT_FALSE(store->read_player(long_names()[1]).value());
  EXPECT_TRUE(store->read_player(long_names()[2]).value());
}

TEST(VarveNames, ARecordUnderTheKeyOfAnotherNameIsCorruption) {
  const auto disk = new_disk();
  const std::string mine = long_names()[0];
  const SaveKey key = named_key(RecordKind::player, mine);
  disk->put_framed(key, long_names()[1] + "data");
  const auto store = open_sample(disk);
  EXPECT_EQ(store->read_player(mine).error().code(), ErrorCode::corruption);
  EXPECT_EQ(verify(*store).problems.size(), 1u);
  disk->put_framed(key, "short");
  EXPECT_EQ(store->read_player(mine).error().code(), ErrorCode::corruption);
  EXPECT_EQ(verify(*store).problems.size(), 1u);
  // It can be replaced.
  commit(*store, {.players = {{mine, Bytes::copy_of("again")}}});
  EXPECT_EQ(store->read_player(mine).value()->text(), "again");
  EXPECT_TRUE(verify(*store).clean());
}

}  // namespace
}  // namespace varve
