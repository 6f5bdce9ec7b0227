#include "journal/record_fold.h"

#include <gtest/gtest.h>

namespace varve::journal {
namespace {

class Dots final : public Generator {
 public:
  explicit Dots(std::uint32_t version) : version_(version) {}
  GeneratorId id() const override { return {.name = "dots", .version = version_}; }
  Result<Bytes> generate(const ChunkPos&) const override { return Bytes::copy_of("...."); }

 private:
  std::uint32_t version_;
};

const RecordKey kKey{.kind = RecordKind::chunk, .pos = ChunkPos(3, -2)};

ChunkMaking making_with(std::shared_ptr<const Generator> generator) {
  return {.type = raw_chunks(),
          .generator = std::move(generator),
          .type_name = "raw",
          .generator_id = GeneratorId{.name = "dots", .version = 2}};
}

RecordChange edit_of(std::string_view text) {
  return {.kind = RecordChange::Kind::edit, .data = RawChunk::edit_of(1, as_byte_view(text))};
}

TEST(RecordFold, AnEditOfAChunkNobodySavedIsMadeOnTheGenerators) {
  const ChunkMaking making = making_with(std::make_shared<Dots>(2));
  RecordFold fold(making, kKey, std::nullopt);
  EXPECT_EQ(fold.value().value(), RecordValue()) << "until then there is none";
  EXPECT_EQ(fold.cell(RawChunk::cell_of(1, 2)).value(), Bytes::copy_of(".."));
  ASSERT_TRUE(fold.apply(edit_of("x")));
  EXPECT_EQ(fold.value().value()->data.text(), ".x..");
  ASSERT_TRUE(fold.apply({.kind = RecordChange::Kind::put}));
  EXPECT_EQ(fold.value().value(), RecordValue());
  EXPECT_EQ(fold.cell(RawChunk::cell_of(1, 2)).value(), Bytes::copy_of(".."));
}

TEST(RecordFold, WithoutThatGeneratorItSaysWhichOneItNeeds) {
  for (const auto& generator : {std::shared_ptr<const Generator>(),
                                std::shared_ptr<const Generator>(std::make_shared<Dots>(1))}) {
    const ChunkMaking making = making_with(generator);
    RecordFold fold(making, kKey, std::nullopt);
    const Status applied = fold.apply(edit_of("x"));
    ASSERT_FALSE(applied);
    EXPECT_EQ(applied.error().code(), ErrorCode::unsupported);
    EXPECT_NE(applied.error().message().find("generator dots of version 2"), std::string::npos)
        << applied.error().message();
  }
  ChunkMaking none = making_with(nullptr);
  none.generator_id.reset();
  RecordFold fold(none, kKey, std::nullopt);
  EXPECT_EQ(fold.cell(RawChunk::cell_of(1, 2)).value(), std::nullopt) << "there is no chunk";
  EXPECT_EQ(fold.apply(edit_of("x")).error().code(), ErrorCode::unsupported);
}

TEST(RecordFold, WhatDoesNotFitIsCorruption) {
  const ChunkMaking making = making_with(nullptr);
  RecordFold chunk(making, kKey, EntityValue{.owner = {}, .data = Bytes::copy_of("12")});
  EXPECT_EQ(chunk.apply(edit_of("xyz")).error().code(), ErrorCode::corruption);
  EXPECT_EQ(chunk.value().value()->data.text(), "12");
  RecordFold entity(making, {.kind = RecordKind::entity, .id = 7}, std::nullopt);
  EXPECT_EQ(entity.apply({.kind = RecordChange::Kind::bytes}).error().code(),
            ErrorCode::corruption);
  EXPECT_EQ(entity.apply({.kind = RecordChange::Kind::owner}).error().code(),
            ErrorCode::corruption);
}

}  // namespace
}  // namespace varve::journal
