#include <gtest/gtest.h>

#include "world/sample_world.h"

namespace varve::test {
namespace {

constexpr ChunkPos kHere(1, 2);

TEST(WorldChunks, AGeneratedChunkIsCleanAndIsNotSaved) {
  FlatWorld flat;
  EXPECT_EQ(flat.world->state(kHere), ChunkState::absent);
  EXPECT_FALSE(flat.world->get(kHere));
  EXPECT_EQ(flat.at(kHere, 0), 7);
  EXPECT_EQ(flat.world->state(kHere), ChunkState::clean);
  ASSERT_TRUE(flat.world->save().wait());
  EXPECT_EQ(flat.stored_at(kHere, 0), -1);
  EXPECT_EQ(flat.control.commit_count, 0U) << "there was nothing to save";
}

TEST(WorldChunks, AnEditMakesDirtyAndASavePersists) {
  FlatWorld flat;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  EXPECT_TRUE(*flat.set(kHere, 0, 9));
  EXPECT_EQ(flat.world->state(kHere), ChunkState::dirty);
  EXPECT_EQ(flat.stored_at(kHere, 0), -1);
  const auto report = flat.world->save().wait();
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(report->chunk_count, 1U);
  EXPECT_EQ(report->chunk_size, kFlatChunkSize);
  EXPECT_EQ(flat.world->state(kHere), ChunkState::persisted);
  EXPECT_EQ(flat.stored_at(kHere, 0), 9);
  EXPECT_TRUE(*flat.set(kHere, 0, 10));
  EXPECT_EQ(flat.world->state(kHere), ChunkState::dirty);
}

TEST(WorldChunks, AnEditThatChangesNothingLeavesItCleanAndClonesNothingTwice) {
  FlatWorld flat;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  EXPECT_FALSE(*flat.set(kHere, 0, 7));
  EXPECT_EQ(flat.world->state(kHere), ChunkState::clean);
  const ChunkRef held = flat.world->get(kHere);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(*flat.set(kHere, 0, 7));
  EXPECT_EQ(flat.world->telemetry().clone_count, 0U);
}

TEST(WorldChunks, WhatTheGameHoldsDoesNotChangeUnderIt) {
  FlatWorld flat;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  const ChunkRef before = flat.world->get(kHere);
  EXPECT_TRUE(*flat.set(kHere, 0, 9));
  EXPECT_EQ(before.as<RawChunk>().view()[0], std::byte{7});
  EXPECT_EQ(flat.at(kHere, 0), 9);
  // Also while it is dirty already.
  const ChunkRef dirty = flat.world->get(kHere);
  EXPECT_TRUE(*flat.set(kHere, 0, 10));
  EXPECT_EQ(dirty.as<RawChunk>().view()[0], std::byte{9});
}

TEST(WorldChunks, EditsBetweenSavesEncodeNothingAndCloneEachChunkOnceASnapshot) {
  FlatWorld flat;
  constexpr int kChunkCount = 20;
  for (int x = 0; x < kChunkCount; ++x) ASSERT_EQ(flat.at({x, 0}, 0), 7);
  const auto edit_all = [&](int value) {
    for (int edit = 0; edit < 500; ++edit)
      ASSERT_TRUE(flat.set({edit % kChunkCount, 0}, static_cast<std::size_t>(edit),
                           static_cast<std::uint8_t>(value)));
  };
  edit_all(20);
  EXPECT_EQ(flat.world->telemetry().encode_count, 0U);
  EXPECT_EQ(flat.world->telemetry().clone_count, 0U);
  for (int snapshot = 1; snapshot <= 3; ++snapshot) {
    Gate gate;
    const GateOpener opener(gate);
    flat.control.before_commit([&](const Commit&) {
      gate.pass();
      return Status();
    });
    SaveHandle save = flat.world->save();
    gate.wait_for_arrivals(1);
    edit_all(20 + snapshot);
    edit_all(40 + snapshot);
    EXPECT_EQ(flat.world->telemetry().clone_count,
              static_cast<std::uint64_t>(snapshot * kChunkCount));
    EXPECT_EQ(flat.world->telemetry().encode_count,
              static_cast<std::uint64_t>(snapshot * kChunkCount));
    gate.open();
    ASSERT_TRUE(save.wait());
  }
}

TEST(WorldChunks, ErasureIsReadBeforeDuringAndAfterItsSave) {
  FlatWorld flat;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 9));
  ASSERT_TRUE(flat.world->save().wait());
  ASSERT_TRUE(flat.world->erase(kHere));
  EXPECT_FALSE(flat.world->get(kHere));
  Gate gate;
  const GateOpener opener(gate);
  flat.control.before_commit([&](const Commit&) {
    gate.pass();
    return Status();
  });
  SaveHandle save = flat.world->save();
  gate.wait_for_arrivals(1);
  EXPECT_EQ(flat.stored_at(kHere, 0), 9) << "the store still has it";
  EXPECT_EQ(flat.at(kHere, 0), 7) << "but it reads as the generator's";
  gate.open();
  ASSERT_TRUE(save.wait());
  EXPECT_EQ(flat.stored_at(kHere, 0), -1);
  EXPECT_EQ(flat.at(kHere, 0), 7);
  // And it can be edited and saved again.
  EXPECT_TRUE(*flat.set(kHere, 0, 11));
  flat.control.before_commit({});
  ASSERT_TRUE(flat.world->save().wait());
  EXPECT_EQ(flat.stored_at(kHere, 0), 11);
}

TEST(WorldChunks, AnEditAfterErasingAndReloadingWinsOverTheErasure) {
  FlatWorld flat;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 9));
  ASSERT_TRUE(flat.world->save().wait());
  ASSERT_TRUE(flat.world->erase(kHere));
  ASSERT_EQ(flat.at(kHere, 0), 7);
  const ChunkRef held = flat.world->get(kHere);
  EXPECT_TRUE(*flat.set(kHere, 0, 12));
  EXPECT_EQ(held.as<RawChunk>().view()[0], std::byte{7}) << "it was held";
  ASSERT_TRUE(flat.world->save().wait());
  EXPECT_EQ(flat.stored_at(kHere, 0), 12);
}

TEST(WorldChunks, APutReplacesWhatIsThere) {
  FlatWorld flat;
  Buffer contents(kFlatChunkSize);
  std::fill(contents.span().begin(), contents.span().end(), std::byte{3});
  ASSERT_TRUE(flat.world->put(kHere, std::make_unique<RawChunk>(std::move(contents).freeze())));
  EXPECT_EQ(flat.world->state(kHere), ChunkState::dirty);
  ASSERT_TRUE(flat.world->save().wait());
  EXPECT_EQ(flat.stored_at(kHere, 5), 3);
  EXPECT_EQ(flat.world->put(kHere, nullptr).error().code(), ErrorCode::invalid_argument);
}

TEST(WorldChunks, TypedChunksAreEditedByBytesAndBySetters) {
  auto opened = World::create(fresh_memory_path(), {.chunk_type = std::make_shared<SectionType>()});
  ASSERT_TRUE(opened) << opened.error().message();
  World& world = **opened;
  ASSERT_TRUE(world.put(kHere, std::make_unique<SectionChunk>()));
  ASSERT_TRUE(world.save().wait());
  const std::uint64_t copies_before = SectionChunk::section_copy_count;
  EXPECT_TRUE(*world.edit(kHere, SectionChunk::edit_of(100, 5)));
  EXPECT_FALSE(*world.edit(kHere, SectionChunk::edit_of(100, 5)));
  EXPECT_TRUE(*world.edit<SectionChunk>(kHere, [](SectionChunk& c) { c.set_cell(101, 6); }));
  EXPECT_FALSE(*world.edit<SectionChunk>(kHere, [](SectionChunk& c) { c.set_cell(101, 6); }));
  EXPECT_EQ(SectionChunk::section_copy_count - copies_before, 1U) << "one section of sixteen";
  const auto bad = world.edit(kHere, as_byte_view("x"));
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code(), ErrorCode::invalid_argument);
  ASSERT_TRUE(world.save().wait());
  EXPECT_EQ(world.get(kHere).as<SectionChunk>().cell(100), 5);
  const auto stored = world.store().read_chunk(kHere);
  ASSERT_TRUE(stored && *stored);
  EXPECT_EQ((**stored).view()[101], std::byte{6});
}

TEST(WorldChunks, ASnapshotOfATypedChunkCostsOneCloneAndTheSectionsThatAreTouched) {
  FlatWorld flat({.chunk_type = std::make_shared<SectionType>()});
  World& world = *flat.world;
  ASSERT_TRUE(world.put(kHere, std::make_unique<SectionChunk>()));
  for (std::uint8_t snapshot = 1; snapshot <= 3; ++snapshot) {
    HeldCommits held(flat.control);
    SaveHandle save = world.save();
    held.wait_until_one_is_held();
    const std::uint64_t clones_before = world.telemetry().clone_count;
    const std::uint64_t copies_before = SectionChunk::section_copy_count;
    for (std::uint16_t cell = 0; cell < 50; ++cell) {
      EXPECT_TRUE(*world.edit(kHere, SectionChunk::edit_of(cell, snapshot)));
      EXPECT_TRUE(*world.edit(kHere, SectionChunk::edit_of(900, cell + 1)));
    }
    EXPECT_EQ(world.telemetry().clone_count - clones_before, 1U);
    EXPECT_EQ(SectionChunk::section_copy_count - copies_before, 2U) << "of sixteen";
    held.release();
    ASSERT_TRUE(save.wait());
    EXPECT_EQ(flat.stored_at(kHere, 0), snapshot - 1) << "what it was when the save began";
    EXPECT_EQ(world.get(kHere).as<SectionChunk>().cell(0), snapshot);
  }
}

TEST(WorldChunks, AnEditOfWhatIsNotInMemoryIsRefused) {
  FlatWorld flat;
  EXPECT_EQ(flat.set(kHere, 0, 1).error().code(), ErrorCode::not_found);
}

TEST(WorldChunks, APausedWorldDoesNotChange) {
  FlatWorld flat;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  const std::uint64_t tick = flat.world->tick();
  flat.world->pause();
  EXPECT_TRUE(flat.world->is_paused());
  EXPECT_EQ(flat.set(kHere, 0, 1).error().code(), ErrorCode::busy);
  EXPECT_EQ(flat.world->erase(kHere).error().code(), ErrorCode::busy);
  EXPECT_EQ(flat.world->put_entity({.id = 1}).error().code(), ErrorCode::busy);
  EXPECT_EQ(flat.world->put_player("p", {}).error().code(), ErrorCode::busy);
  EXPECT_EQ(flat.world->put_global("g", {}).error().code(), ErrorCode::busy);
  EXPECT_EQ(flat.world->tick(), tick);
  EXPECT_EQ(flat.at({5, 5}, 0), 7) << "loading goes on";
  EXPECT_TRUE(flat.world->save().wait()) << "and so does saving";
  flat.world->resume();
  EXPECT_TRUE(*flat.set(kHere, 0, 1));
  EXPECT_EQ(flat.world->tick(), tick + 1);
}

}  // namespace
}  // namespace varve::test
