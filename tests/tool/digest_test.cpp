#include "tool/record_digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tool/tool_fixture.h"
#include "varve/checksum.h"

namespace varve::test {
namespace {

class ToolDigest : public ToolTest {};

std::string sums(std::string_view hashed) {
  const ByteView bytes = as_byte_view(hashed);
  return fmt::format("{:08x} {:016x}", crc32(bytes), xxh3(bytes));
}

TEST_F(ToolDigest, HasALineForEveryRecordSorted) {
  const Said said = varve({"digest", sample_save()});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.err, "");
  EXPECT_EQ(said.out, "chunk chunk:10,4 0 " + sums("") + "\n" +                      //
                          "chunk chunk:3,-2 5 " + sums("stone") + "\n" +             //
                          "chunk chunk:the_nether/-1,5 5 " + sums("lava!") + "\n" +  //
                          "entity entity:17 3 " + sums("chunk:3,-2\ncow") + "\n" +   //
                          "entity entity:4 4 " + sums("wind") + "\n" +               //
                          "global global:weather 4 " + sums("rain") + "\n" +         //
                          "player player:Ann%20Lee%20100%25 6 " + sums("hungry") + "\n");
}

// Values from other programs: the check values of crc32 and of XXH3 (its empty input).
TEST_F(ToolDigest, ChecksumsAreTheCommonOnes) {
  Commit commit;
  commit.globals = {{.name = "check", .data = Bytes::copy_of("123456789")},
                    {.name = "empty", .data = Bytes()}};
  make_save(path("save"), "onefile", commit);
  const std::string out = varve({"digest", path("save")}).out;
  EXPECT_TRUE(out.starts_with("global global:check 9 cbf43926 ")) << out;
  EXPECT_TRUE(out.ends_with("global global:empty 0 00000000 2d06800538d394c2\n")) << out;
}

TEST_F(ToolDigest, TheFormatDoesNotShow) {
  const std::string full = varve({"digest", sample_save("full")}).out;
  EXPECT_EQ(varve({"digest", sample_save("onefile")}).out, full);
}

TEST_F(ToolDigest, AnotherOwnerIsAnotherWorld) {
  const auto line = [](std::optional<ChunkPos> owner) {
    const tool::Record record{.owner = owner, .data = Bytes::copy_of("cow")};
    return tool::digest_line({.kind = RecordKind::entity, .id = 1}, tool::digest_of(record));
  };
  EXPECT_NE(line(std::nullopt), line(ChunkPos(1, 2)));
  EXPECT_NE(line(ChunkPos(1, 2)), line(ChunkPos(1, 3)));
  EXPECT_EQ(line(ChunkPos(1, 2)), line(ChunkPos(1, 2)));
}

TEST_F(ToolDigest, EscapedKeysAreDistinctAndHaveNoBlanks) {
  EXPECT_EQ(tool::escaped_key("player:a b"), "player:a%20b");
  EXPECT_EQ(tool::escaped_key("player:a%20b"), "player:a%2520b");
  EXPECT_EQ(tool::escaped_key("chunk:3,-2"), "chunk:3,-2");
}

TEST_F(ToolDigest, DamagedRecordsAreNamedAndTheOthersPrinted) {
  const std::string save = sample_save();
  Damage::of_process().reads.emplace("chunk:3,-2", corruption("its checksum is wrong"));
  const Said said = varve({"digest", save});
  EXPECT_EQ(said.code, 1);
  EXPECT_EQ(said.err, "varve: " + save + ": chunk:3,-2: its checksum is wrong\n");
  EXPECT_EQ(said.out.find("chunk:3,-2 "), std::string::npos);
  EXPECT_EQ(std::count(said.out.begin(), said.out.end(), '\n'), 6);
}

TEST_F(ToolDigest, WhatCannotBeReadForAnotherReasonEndsIt) {
  const std::string save = sample_save();
  Damage::of_process().reads.emplace("chunk:10,4", busy("it was replaced; open the save again"));
  const Said said = varve({"digest", save});
  EXPECT_EQ(said.code, 3);
  EXPECT_EQ(said.out, "");
  EXPECT_NE(said.err.find("chunk:10,4: it was replaced"), std::string::npos);
}

TEST_F(ToolDigest, JsonIsOneObjectALineWithTheKeyAsItIs) {
  const Said said = varve({"digest", sample_save(), "--json"});
  EXPECT_EQ(said.code, 0);
  EXPECT_EQ(std::count(said.out.begin(), said.out.end(), '\n'), 7);
  const std::size_t last = said.out.rfind('\n', said.out.size() - 2);
  const auto json = nlohmann::json::parse(said.out.substr(last));
  EXPECT_EQ(json["key"], "player:Ann Lee 100%");
  EXPECT_EQ(json["kind"], "player");
  EXPECT_EQ(json["size"], 6);
  EXPECT_EQ(json["crc32"].get<std::string>() + " " + json["xxh3"].get<std::string>(),
            sums("hungry"));
}

}  // namespace
}  // namespace varve::test
