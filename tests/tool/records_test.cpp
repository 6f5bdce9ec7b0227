// get, put and rm: one record after another.
#include <algorithm>

#include "tool/tool_fixture.h"

namespace varve::test {
namespace {

class ToolRecords : public ToolTest {
 protected:
  void expect_fails(std::vector<std::string> args, int code, const std::string& part) {
    const Said said = varve(args, "input");
    EXPECT_EQ(said.code, code) << part;
    EXPECT_EQ(said.out, "");
    EXPECT_TRUE(said.err.starts_with("varve: ")) << said.err;
    EXPECT_EQ(std::count(said.err.begin(), said.err.end(), '\n'), 1) << said.err;
    EXPECT_NE(said.err.find(part), std::string::npos) << said.err;
  }
  void expect_gives(const std::string& save, const std::string& key, const std::string& payload) {
    const Said said = varve({"get", save, key});
    EXPECT_EQ(said.code, 0) << said.err;
    EXPECT_EQ(said.out, payload);
    EXPECT_EQ(said.err, "");
  }
};

TEST_F(ToolRecords, GetWritesThePayloadAndNothingElse) {
  const std::string save = sample_save();
  expect_gives(save, "chunk:3,-2", "stone");
  expect_gives(save, "chunk:10,4", "");
  expect_gives(save, "chunk:the_nether/-1,5", "lava!");
  expect_gives(save, "entity:17", "cow");
  expect_gives(save, "player:Ann Lee 100%", "hungry");
  expect_gives(save, "global:weather", "rain");
}

TEST_F(ToolRecords, GetWritesToAFile) {
  const std::string save = sample_save();
  const Said said = varve({"get", save, "chunk:3,-2", "-o", path("stone.bin")});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.out, "");
  EXPECT_EQ(read_file(path("stone.bin")), "stone");
}

TEST_F(ToolRecords, AFailedGetLeavesTheFileAsItWas) {
  const std::string save = sample_save();
  write_file(path("kept"), "precious");
  expect_fails({"get", save, "chunk:9,9", "-o", path("kept")}, 3, "has no chunk:9,9");
  EXPECT_EQ(read_file(path("kept")), "precious");
}

TEST_F(ToolRecords, GetSaysWhatItCouldNot) {
  const std::string save = sample_save();
  expect_fails({"get", save, "entity:5"}, 3, save + " has no entity:5; `varve ls` lists");
  expect_fails({"get", save, "entity:5x"}, 2, "expected a whole number");
  expect_fails({"get", save, "chunk:3,-2", "-o", path("no/such/dir")}, 3, "No such file");
  expect_fails({"get", save, "chunk:3,-2", "-o", "/dev/full"}, 3, "No space left");
  Damage::of_process().reads.emplace("chunk:3,-2", corruption("its checksum is wrong"));
  expect_fails({"get", save, "chunk:3,-2"}, 3, save + ": chunk:3,-2: its checksum is wrong");
}

TEST_F(ToolRecords, PutMakesAndReplacesRecords) {
  const std::string save = sample_save();
  write_file(path("sand"), std::string("sa\0nd", 5));
  EXPECT_EQ(varve({"put", save, "chunk:0,0", path("sand")}).code, 0);
  expect_gives(save, "chunk:0,0", std::string("sa\0nd", 5));
  const Said said = varve({"put", save, "global:weather", "-"}, std::string(200'000, 's'));
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.out + said.err, "");
  expect_gives(save, "global:weather", std::string(200'000, 's'));
  EXPECT_EQ(varve({"put", save, "player:Bo", "-"}).code, 0);
  expect_gives(save, "player:Bo", "");
  // At the tick the save is at, with what it knows of its generator.
  const auto store = open_store_to_read(save);
  EXPECT_EQ((*store)->tick(), 7u);
  EXPECT_EQ((*store)->generator()->name, "flat");
}

TEST_F(ToolRecords, PutMakesASaveIfAFormatIsNamed) {
  const std::string save = path("new.full");
  expect_fails({"put", save, "global:a", "-"}, 3, "--format F makes one, where F is one of: bare,");
  EXPECT_EQ(varve({"put", save, "global:a", "-", "--format", "full"}, "1").code, 0);
  expect_gives(save, "global:a", "1");
  EXPECT_EQ(varve({"put", save, "global:a", "-", "--format", "full"}, "2").code, 0);
  expect_gives(save, "global:a", "2");
  expect_fails({"put", save, "global:a", "-", "--format", "bare"}, 3,
               "is in the format full, not bare");
  expect_fails({"put", save, "global:a", "-", "--format", "dust"}, 2, "there is no format dust");
  expect_gives(save, "global:a", "2");
}

TEST_F(ToolRecords, ASaveIsNotMadeForARecordItDoesNotTake) {
  expect_fails({"put", path("new.bare"), "chunk:1,2,3", "-", "--format", "bare"}, 3, "coordinates");
  EXPECT_FALSE(exists(path("new.bare")));
  expect_fails({"put", "memory:new", "chunk:1,2", "-", "--format", "memory"}, 3,
               "ends with the program");
  // One that was there before stays.
  make_save(path("old.bare"), "bare", {});
  expect_fails({"put", path("old.bare"), "player:a", "-", "--format", "bare"}, 3, "players");
  EXPECT_TRUE(exists(path("old.bare")));
}

TEST_F(ToolRecords, AnEntityKeepsItsOwnerUntilToldOtherwise) {
  const std::string save = sample_save();
  const auto owner = [&](EntityId id) {
    return (*open_store(save))->read_entity(id).value()->owner;
  };
  EXPECT_EQ(varve({"put", save, "entity:17", "-"}, "bull").code, 0);
  EXPECT_EQ(owner(17), ChunkPos(3, -2));
  EXPECT_EQ(varve({"put", save, "entity:17", "-", "--owner", "the_nether/-1,5"}, "x").code, 0);
  EXPECT_EQ(owner(17), ChunkPos(-1, 5).in(Space::named("the_nether").value()));
  EXPECT_EQ(varve({"put", save, "entity:17", "-", "--owner", "chunk:10,4"}, "x").code, 0);
  EXPECT_EQ(owner(17), ChunkPos(10, 4));
  EXPECT_EQ(varve({"put", save, "entity:17", "-", "--owner", "none"}, "x").code, 0);
  EXPECT_EQ(owner(17), std::nullopt);
  EXPECT_EQ(varve({"put", save, "entity:18", "-"}, "x").code, 0);
  EXPECT_EQ(owner(18), std::nullopt);
  expect_fails({"put", save, "chunk:1,1", "-", "--owner", "1,1"}, 2, "is no entity");
  expect_fails({"put", save, "entity:1", "-", "--owner", "here"}, 2, "--owner: ");
  Damage::of_process().reads.emplace("entity:17", corruption("torn"));
  expect_fails({"put", save, "entity:17", "-"}, 3, "so say it with --owner");
  EXPECT_EQ(varve({"put", save, "entity:17", "-", "--owner", "1,1"}, "x").code, 0);
}

TEST_F(ToolRecords, PutSaysWhatItCouldNot) {
  const std::string save = sample_save();
  expect_fails({"put", save, "chunk:1,1", path("absent")}, 3, "could not read " + path("absent"));
  expect_fails({"put", save, "chunk:1,1", path("")}, 3, "Is a directory");
  expect_fails({"put", save, "chunk", "-"}, 2, "chunk");
  expect_fails({"put", save, "global:", "-"}, 2, "the name is empty");
}

TEST_F(ToolRecords, RmErasesTogether) {
  const std::string save = sample_save();
  const Said said = varve({"rm", save, "chunk:3,-2", "entity:17", "player:Ann Lee 100%",
                           "global:weather", "chunk:3,-2"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.out + said.err, "");
  EXPECT_EQ(varve({"ls", save}).out, "chunk:10,4\t0\nchunk:the_nether/-1,5\t5\nentity:4\t4\n");
  EXPECT_EQ((*open_store(save))->generation(), 2u);
}

TEST_F(ToolRecords, RmNamesWhatIsNotThereAndErasesTheRest) {
  const std::string save = sample_save();
  const Said said = varve({"rm", save, "entity:99", "chunk:3,-2", "player:Nobody"});
  EXPECT_EQ(said.code, 1);
  EXPECT_EQ(said.out, "");
  EXPECT_EQ(said.err,
            "varve: " + save + " has no entity:99\nvarve: " + save + " has no player:Nobody\n");
  expect_fails({"get", save, "chunk:3,-2"}, 3, "has no chunk:3,-2");
  // Nothing is erased if a key is none.
  expect_fails({"rm", save, "chunk:10,4", "chunk:x"}, 2, "whole numbers");
  expect_gives(save, "chunk:10,4", "");
}

TEST_F(ToolRecords, WhatIsDamagedCanBeErasedAndReplaced) {
  const std::string save = sample_save();
  for (const std::string key : {"chunk:3,-2", "global:weather"}) {
    Damage::of_process().reads.emplace(key, corruption("torn"));
  }
  EXPECT_EQ(varve({"put", save, "chunk:3,-2", "-"}, "new").code, 0);
  EXPECT_EQ(varve({"rm", save, "global:weather"}).code, 0);
  Damage::of_process() = {};
  expect_gives(save, "chunk:3,-2", "new");
  expect_fails({"get", save, "global:weather"}, 3, "has no global:weather");
  Damage::of_process().reads.emplace("chunk:10,4", io_error("the disk is gone"));
  expect_fails({"rm", save, "chunk:10,4"}, 3, "chunk:10,4: the disk is gone");
}

}  // namespace
}  // namespace varve::test
