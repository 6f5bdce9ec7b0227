// What the commands do with a varve save in which records are damaged, or lie where none should be:
// everything else is shown and copied, and what is not has a word said of it.
#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "store/varve/save_tables.h"
#include "tool/tool_fixture.h"
#include "varve/backend.h"

namespace varve::test {
namespace {

const std::string kLongName(255, 'n');

class ToolDamagedSave : public ToolTest {
 protected:
  // The sample and a player whose name does not fit into its key; `harm` fills a batch.
  std::string harmed_save(const std::function<void(WriteBatch&)>& harm) {
    Commit commit = sample();
    commit.players.push_back({.name = kLongName, .data = Bytes::copy_of("long")});
    const std::string save = path("world");
    make_save(save, "varve", commit);
    const auto backend = open_file_backend(save + "/log", {});
    EXPECT_TRUE(backend) << backend.error().message();
    WriteBatch batch;
    harm(batch);
    EXPECT_TRUE((*backend)->write(batch));
    EXPECT_TRUE((*backend)->close());
    return save;
  }

  static void put(WriteBatch& batch, const SaveKey& key, std::string_view payload) {
    batch.put(key, plain_frame(key, as_byte_view(payload)));
  }
  // No frame. One with a bit flipped would pass: the log has made a checksum of its own for it.
  static void damage(WriteBatch& batch, const SaveKey& key) {
    batch.put(key, Bytes::copy_of("torn"));
  }

  // Of the eight records of the save, all but those whose lines begin so are printed and copied,
  // and each command says the rest.
  void expect_told(const std::string& save, std::string_view missing, std::string_view key,
                   std::string_view message) {
    const std::ptrdiff_t count = missing.empty() ? 8 : 7;
    const std::string problem = std::string(key) + ": ";
    const auto expect_said = [&](const Said& said) {
      EXPECT_EQ(said.code, 1) << said.err;
      EXPECT_NE(said.err.find(problem), std::string::npos) << said.err;
      EXPECT_NE(said.err.find(message), std::string::npos) << said.err;
    };
    const Said digest = varve({"digest", save});
    expect_said(digest);
    EXPECT_EQ(std::count(digest.out.begin(), digest.out.end(), '\n'), count) << digest.out;
    if (!missing.empty()) {
      EXPECT_EQ(digest.out.find(missing), std::string::npos);
    }
    EXPECT_EQ(varve({"digest", save}).out, digest.out);

    const Said refused = varve({"convert", save, path("copy"), "--to", "onefile"});
    EXPECT_EQ(refused.code, 3);
    const Said lossy = varve({"convert", save, path("copy"), "--to", "onefile", "--lossy"});
    EXPECT_EQ(lossy.code, 1) << lossy.err;
    EXPECT_TRUE(lossy.out.starts_with(problem)) << lossy.out;
    EXPECT_NE(lossy.out.find(message), std::string::npos) << lossy.out;
    EXPECT_EQ(varve({"digest", path("copy")}).out, digest.out);

    const Said verify = varve({"verify", save});
    EXPECT_EQ(verify.code, 1);
    EXPECT_EQ(std::count(verify.out.begin(), verify.out.end(), '\n'), 1) << verify.out;
    EXPECT_TRUE(nlohmann::json::accept(varve({"verify", save, "--json"}).out));

    // A listing does not read payloads: it tells of what it cannot show alone.
    if (!key.ends_with("*")) return;
    expect_said(varve({"ls", save}));
    const std::string listed = varve({"ls", save}).out;
    EXPECT_EQ(std::count(listed.begin(), listed.end(), '\n'), count) << listed;
    const Said info = varve({"info", save});
    EXPECT_EQ(info.code, 1);
    EXPECT_NE((info.out + info.err).find(message), std::string::npos) << info.out << info.err;
  }
};

TEST_F(ToolDamagedSave, ALongNameThatIsDamagedIsCounted) {
  const std::string save = harmed_save(
      [](WriteBatch& batch) { damage(batch, named_key(RecordKind::player, kLongName)); });
  expect_told(save, "player:nnn", "player:*", "1 record cannot be listed: ");
}

TEST_F(ToolDamagedSave, ANameWithAControlCharacterIsCountedAndShownOnOneLine) {
  const std::string save = harmed_save([](WriteBatch& batch) {
    put(batch, named_key(RecordKind::player, "ann\n\x1b[31m\xff"), "x");
  });
  expect_told(save, "", "player:*", "\"ann\\x0a\\x1b[31m\\xff\"");
  const std::string verified = varve({"verify", save}).out;
  EXPECT_TRUE(verified.starts_with("player:\"ann\\x0a\\x1b[31m\\xff\": ")) << verified;
}

TEST_F(ToolDamagedSave, AStrayEntityIsCounted) {
  const std::string save = harmed_save([](WriteBatch& batch) {
    put(batch, entity_key_of(PlacedChunk{0, ChunkPos(9, 9)}, 70), "stray");
  });
  expect_told(save, "", "entity:*", "entity:70: it is there, and the save says it is elsewhere");
}

TEST_F(ToolDamagedSave, AnEntityInTwoPlacesIsShownOnce) {
  const std::string save =
      harmed_save([](WriteBatch& batch) { put(batch, entity_key_of(std::nullopt, 17), "cow"); });
  expect_told(save, "", "entity:*", "entity:17: it is there, and the save says it is elsewhere");
}

TEST_F(ToolDamagedSave, APlaceWithoutDataIsNamed) {
  const std::string save =
      harmed_save([](WriteBatch& batch) { batch.erase(entity_key_of(std::nullopt, 4)); });
  expect_told(save, "entity:4 ", "entity:4", "the save says where it is, and it is not there");
}

TEST_F(ToolDamagedSave, AChunkInASpaceThereIsNotIsCounted) {
  const std::string save =
      harmed_save([](WriteBatch& batch) { put(batch, chunk_key(99, ChunkPos(3, -2)), "x"); });
  expect_told(save, "", "chunk:*", "chunk:3,-2: the save has no space of number 99");
}

TEST_F(ToolDamagedSave, AKeyThatIsNoPositionIsCounted) {
  const std::string save = harmed_save(
      [](WriteBatch& batch) { put(batch, SaveKey(KeyTag::chunk).u16(0).u8(2).u8(1), "x"); });
  expect_told(save, "", "chunk:*", "0x1000000201: ");
}

TEST_F(ToolDamagedSave, CompactSharesWhatIsThereBesideAStrayChunk) {
  const std::string save =
      harmed_save([](WriteBatch& batch) { put(batch, chunk_key(99, ChunkPos(3, -2)), "x"); });
  const std::string before = varve({"digest", save}).out;
  const Said said = varve({"compact", save, "--share"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(varve({"digest", save}).out, before);
}

// Strays are no reason to refuse it: the entities of such a save are not in one place.
TEST_F(ToolDamagedSave, ADamagedEntityIsReplacedBesideAStray) {
  const std::string save = harmed_save([](WriteBatch& batch) {
    put(batch, entity_key_of(std::nullopt, 1), "stray");
    damage(batch, entity_key_of(std::nullopt, 4));
  });
  const Said said = varve({"put", save, "entity:4", "-", "--owner", "none"}, "calm");
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(varve({"get", save, "entity:4"}).out, "calm");
}

}  // namespace
}  // namespace varve::test
