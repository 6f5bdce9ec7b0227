// Listings of saves with records that are damaged or where none should be: what is shown is what
// reading by key finds, and what nobody could ask for is counted.
#include <gtest/gtest.h>

#include "sample_store.h"

namespace varve {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

const ChunkPos kHere(3, -2);
const PlacedChunk kPlace{0, kHere};
const PlacedChunk kElsewhere{0, ChunkPos(9, 9)};

std::string long_name(char last) { return std::string(254, 'n') + last; }

std::shared_ptr<SampleDisk> sample() {
  const auto disk = new_disk();
  const ChunkPos nether = ChunkPos(1).in(Space::named("nether").value());
  commit(*open_sample(disk), {.tick = 1,
                              .chunks = {chunk(kHere, "stone"), chunk(nether, "x")},
                              .entities = {entity(7, kHere, "sheep"), entity(8, {}, "moon")},
                              .players = {{"ann", Bytes::copy_of("here")},
                                          {long_name('a'), Bytes::copy_of("x")},
                                          {long_name('b'), Bytes::copy_of("y")}},
                              .globals = {{"rain", Bytes::copy_of("x")}}});
  return disk;
}

struct Listed {
  std::vector<std::string> keys = {};
  std::string error = {};  // of the listing that failed
};

// Everything that is listed, each of it read: what cannot be read has "!" behind its key.
Listed list_all(const StoreView& view) {
  Listed listed;
  const auto see = [&](std::string key, const auto& read) {
    if (read) {
      EXPECT_TRUE(read->has_value()) << key << " is listed, and not there";
    } else {
      EXPECT_EQ(read.error().code(), ErrorCode::corruption) << key;
    }
    listed.keys.push_back(std::move(key) + (read ? "" : "!"));
    return true;
  };
  const auto end = [&](const Status& status) {
    if (status) return;
    EXPECT_EQ(status.error().code(), ErrorCode::corruption);
    listed.error += status.error().message();
  };
  end(view.list_chunks({}, [&](const ChunkInfo& info) {
    return see(to_string(info.pos), view.read_chunk(info.pos));
  }));
  end(view.list_entities({}, [&](const EntityInfo& info) {
    const auto read = view.read_entity(info.id);
    if (read && *read) {
      EXPECT_EQ((*read)->owner, info.owner);
    }
    return see(entity_key(info.id), read);
  }));
  end(view.list_players([&](const NamedInfo& info) {
    const std::string name = info.name.size() > 9 ? info.name.substr(info.name.size() - 1) : "";
    return see(player_key(name.empty() ? info.name : "..." + name), view.read_player(info.name));
  }));
  end(view.list_globals([&](const NamedInfo& info) {
    return see(global_key(info.name), view.read_global(info.name));
  }));
  return listed;
}

const std::vector<std::string> kAll = {"chunk:3,-2",  "chunk:nether/1", "entity:7",
                                       "entity:8",    "player:ann",     "player:...a",
                                       "player:...b", "global:rain"};

std::vector<std::string> all_but(std::string_view key, std::vector<std::string> instead = {}) {
  std::vector<std::string> keys;
  for (const std::string& each : kAll) {
    if (each != key) {
      keys.push_back(each);
    } else {
      keys.insert(keys.end(), instead.begin(), instead.end());
    }
  }
  return keys;
}

// What is listed after `harm`, and that verify() has something to say of it.
Listed list_after(const std::function<void(SampleDisk&)>& harm) {
  const auto disk = sample();
  EXPECT_EQ(list_all(*open_sample(disk)).keys, kAll);
  EXPECT_EQ(list_all(*open_sample(disk)).error, "");
  harm(*disk);
  const auto store = open_sample(disk);
  EXPECT_FALSE(verify(*store).clean());
  const auto pinned = store->pin().value();
  Listed listed = list_all(*pinned);
  EXPECT_EQ(list_all(*store).keys, listed.keys);
  return listed;
}

// Everything else is listed, and the end of the listing tells of one record.
void expect_counted(const char* what, const std::function<void(SampleDisk&)>& harm,
                    std::string_view message, std::string_view lost = "") {
  SCOPED_TRACE(what);
  const Listed listed = list_after(harm);
  EXPECT_EQ(listed.keys, all_but(lost));
  EXPECT_TRUE(listed.error.starts_with("1 record cannot be listed: ")) << listed.error;
  EXPECT_TRUE(listed.error.ends_with("; verify names it")) << listed.error;
  EXPECT_NE(listed.error.find(message), std::string::npos) << listed.error;
}

// The record is listed, and reading it tells that it is damaged.
void expect_shown(const char* what, const std::function<void(SampleDisk&)>& harm,
                  std::string_view key) {
  SCOPED_TRACE(what);
  const Listed listed = list_after(harm);
  EXPECT_EQ(listed.keys, all_but(key, {std::string(key) + "!"}));
  EXPECT_EQ(listed.error, "");
}

TEST(VarveListing, ALongNameThatIsLostIsCounted) {
  const SaveKey key = named_key(RecordKind::player, long_name('a'));
  expect_counted("a damaged value", [&](auto& disk) { disk.flip(key); }, "checksum", "player:...a");
  expect_counted(
      "too short for a name", [&](auto& disk) { disk.put_framed(key, "short"); }, "name is missing",
      "player:...a");
  expect_counted(
      "under the key of another name",
      [&](auto& disk) { disk.put_framed(key, long_name('z') + "x"); }, "another name",
      "player:...a");
  std::string bad = long_name('a');
  bad[3] = '\n';
  expect_counted(
      "no name",
      [&](auto& disk) { disk.put_framed(named_key(RecordKind::player, bad), bad + "x"); },
      "control character");
}

TEST(VarveListing, ANameThatIsNoneIsCounted) {
  expect_counted(
      "a control character",
      [](auto& disk) { disk.put_framed(named_key(RecordKind::player, "a\nb"), "x"); },
      "player: the name \"a\\x0ab\" has the control character U+000A");
  expect_counted(
      "not UTF-8", [](auto& disk) { disk.put_framed(named_key(RecordKind::global, "\xff"), "x"); },
      "global: the name \"\\xff\" is not UTF-8");
  expect_counted(
      "no name at all", [](auto& disk) { disk.put_framed(SaveKey(KeyTag::player), "x"); },
      "player: the name is empty");
}

TEST(VarveListing, AChunkNobodyCouldAskForIsCounted) {
  const auto at = [](auto... bytes) {
    SaveKey key(KeyTag::chunk);
    (key.u8(static_cast<std::uint8_t>(bytes)), ...);
    return key;
  };
  const std::vector<std::pair<SaveKey, std::string>> bad = {
      {chunk_key(99, kHere), "chunk:3,-2: the save has no space of number 99"},
      {at(), "0x10: "},
      {at(9), "0x1009: "},
      {at(0, 0, 2), "0x10000002: "},
      {chunk_key(0, kHere).u8(1), "0x1000000280000000"},
      {at(0, 0, 0, 1, 2, 3, 4, 5), "0x100000000102030405: "},
      {at(0, 1, 5, 1, 2, 3, 4, 5), "0x100001050102030405: "},
      {at(0xff, 0xff, 0xff, 0xff), "0x10ffffffff: "},
      // Its last chunk would be outside of 32 bits.
      {at(0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0), "a region too far out"}};
  for (const auto& each : bad) {
    const auto harm = [&](SampleDisk& disk) { disk.put_framed(each.first, "x"); };
    expect_counted(each.second.c_str(), harm, each.second);
  }
  const Listed listed = list_after([&](auto& disk) {
    for (const auto& [key, message] : bad) disk.put_framed(key, "x");
    for (int x = 0; x < 3000; ++x) disk.put_framed(chunk_key(2, ChunkPos(x)), "x");
  });
  EXPECT_EQ(listed.keys, kAll);
  EXPECT_TRUE(listed.error.starts_with("3009 records cannot be listed, of which the first is 0x"))
      << listed.error;
  EXPECT_TRUE(listed.error.ends_with("; verify names each")) << listed.error;
}

TEST(VarveListing, AnEntityIsWhereItsPlaceSaysAndNowhereElse) {
  expect_counted(
      "data without a place",
      [](auto& disk) { disk.put_framed(entity_key_of(kPlace, 70), "stray"); }, "entity:70");
  expect_counted(
      "free data without a place",
      [](auto& disk) { disk.put_framed(entity_key_of(std::nullopt, 1), "stray"); }, "entity:1:");
  expect_counted(
      "data in two places",
      [](auto& disk) { disk.put_framed(entity_key_of(kElsewhere, 7), "stray"); }, "entity:7: ");
  expect_counted(
      "data in a space there is not",
      [](auto& disk) { disk.put_framed(entity_key_of(PlacedChunk{99, kHere}, 7), "stray"); },
      "entity:7: ");
  expect_counted(
      "a key that is none",
      [](auto& disk) { disk.put_framed(SaveKey(KeyTag::owned_entity).u16(0).u8(7), "stray"); },
      "0x21000007");
  expect_counted(
      "the key of a place that is none",
      [](auto& disk) { disk.put_framed(SaveKey(KeyTag::entity_place).u32(7), ""); },
      "0x2000000007");
}

TEST(VarveListing, AnEntityThatIsDamagedIsShown) {
  expect_shown("damaged data", [](auto& disk) { disk.flip(entity_key_of(kPlace, 7)); }, "entity:7");
  expect_shown("a damaged place", [](auto& disk) { disk.flip(entity_place_key(7)); }, "entity:7");
  expect_shown(
      "a damaged place, and data in two places",
      [](auto& disk) {
        disk.flip(entity_place_key(7));
        disk.put_framed(entity_key_of(kElsewhere, 7), "stray");
      },
      "entity:7");
  expect_shown(
      "a damaged place without data",
      [](auto& disk) {
        disk.flip(entity_place_key(8));
        disk.erase(entity_key_of(std::nullopt, 8));
      },
      "entity:8");
  expect_shown(
      "a place without data", [](auto& disk) { disk.erase(entity_key_of(kPlace, 7)); }, "entity:7");
  expect_shown(
      "in a space there is not",
      [](auto& disk) {
        const PlacedChunk far{99, kHere};
        disk.erase(entity_key_of(kPlace, 7));
        disk.put_framed(entity_place_key(7), encode_place(far).text());
        disk.put_framed(entity_key_of(far, 7), "sheep");
      },
      "entity:7");
}

TEST(VarveListing, DataThatIsElsewhereIsAStrayBesideAPlaceWithoutData) {
  const Listed listed = list_after([](auto& disk) {
    disk.erase(entity_key_of(kPlace, 7));
    disk.put_framed(entity_key_of(kElsewhere, 7), "stray");
  });
  EXPECT_EQ(listed.keys, all_but("entity:7", {"entity:7!"}));
  EXPECT_NE(listed.error.find("entity:7: it is there, and the save says it is elsewhere"),
            std::string::npos)
      << listed.error;
}

// Where they would belong, nobody knows; a part of the world is listed as if they were not there.
TEST(VarveListing, AFilterLeavesStraysOut) {
  const auto disk = sample();
  disk->put_framed(entity_key_of(kPlace, 70), "stray");
  disk->put_framed(entity_key_of(kElsewhere, 7), "stray");
  disk->put_framed(chunk_key(99, kHere), "x");
  disk->put_framed(SaveKey(KeyTag::chunk).u16(0).u8(2), "x");
  disk->put_framed(SaveKey(KeyTag::owned_entity).u16(0).u8(2), "x");
  const auto store = open_sample(disk);
  std::vector<std::string> keys;
  const auto list_in = [&](const ChunkFilter& filter) {
    keys.clear();
    EXPECT_TRUE(store->list_chunks(
        filter, [&](const ChunkInfo& info) { return keys.push_back(to_string(info.pos)), true; }));
    EXPECT_TRUE(store->list_entities(
        filter, [&](const EntityInfo& info) { return keys.push_back(entity_key(info.id)), true; }));
    return keys;
  };
  const std::vector<std::string> here = {"chunk:3,-2", "entity:7"};
  EXPECT_EQ(list_in({.space = Space(), .box = {}}), here);
  EXPECT_EQ(list_in({.space = {}, .box = ChunkBox{ChunkPos(0, -5), ChunkPos(5, 5)}}), here);
  EXPECT_EQ(list_in({.space = {}, .box = ChunkBox{ChunkPos(9, 9), ChunkPos(9, 9)}}),
            std::vector<std::string>());
  disk->flip(entity_place_key(7));
  EXPECT_EQ(list_in({.space = Space(), .box = {}}), here);
}

TEST(VarveListing, OneThatIsStoppedEarlySucceeds) {
  const auto disk = sample();
  disk->put_framed(entity_key_of(std::nullopt, 1), "stray");
  disk->put_framed(SaveKey(KeyTag::chunk), "x");
  disk->put_framed(SaveKey(KeyTag::player), "x");
  disk->flip(named_key(RecordKind::player, long_name('a')));
  const auto store = open_sample(disk);
  EXPECT_TRUE(store->list_chunks({}, [](const ChunkInfo&) { return false; }));
  EXPECT_TRUE(store->list_entities({}, [](const EntityInfo&) { return false; }));
  EXPECT_TRUE(store->list_players([](const NamedInfo&) { return false; }));
}

}  // namespace
}  // namespace varve
