#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/byte_writer.h"
#include "support/allocation_watch.h"
#include "support/bytes_text.h"
#include "support/golden.h"
#include "varve/nebula.h"
#include "world/chunk_access.h"
#include "world/sample_world.h"

namespace varve::nebula {
namespace {

using test::hex;
using test::to_hex;

constexpr std::size_t kSectionSize = kCellCount / 8 * sizeof(VoxelType);
// What a chunk or a section may take beside its cells.
constexpr std::size_t kSmall = 600;

VoxelChunk& writable(const ChunkRef& ref) {
  return static_cast<VoxelChunk&>(ChunkAccess::writable(ref));
}

ChunkRef chunk_of(VoxelType all) { return ChunkRef(std::make_unique<VoxelChunk>(all)); }

Cell cell_at(std::size_t index) {
  return {static_cast<std::uint8_t>(index % 32), static_cast<std::uint8_t>(index / 32 % 32),
          static_cast<std::uint8_t>(index / 1024)};
}

std::vector<VoxelType> cells_of(const VoxelChunk& chunk) {
  std::vector<VoxelType> out(kCellCount);
  chunk.copy_to(std::span<VoxelType, kCellCount>(out.data(), kCellCount));
  return out;
}

Bytes joined(const std::vector<std::pair<std::size_t, VoxelType>>& assignments) {
  ByteWriter out;
  for (const auto& [index, type] : assignments) {
    out.u16_le(static_cast<std::uint16_t>(index));
    out.u16_le(type);
  }
  return out.take();
}

TEST(VoxelChunk, IsMadeOfOneTypeOrOfCells) {
  EXPECT_EQ(cells_of(VoxelChunk()), std::vector<VoxelType>(kCellCount, 0));
  EXPECT_EQ(VoxelChunk(5).get({31, 31, 31}), 5);
  std::vector<VoxelType> cells(kCellCount);
  for (std::size_t i = 0; i < kCellCount; ++i) cells[i] = static_cast<VoxelType>(i * 7);
  const VoxelChunk chunk(std::span<const VoxelType, kCellCount>(cells.data(), kCellCount));
  EXPECT_EQ(cells_of(chunk), cells);
  EXPECT_EQ(chunk.get({1, 2, 3}), static_cast<VoxelType>((1 + 32 * 2 + 1024 * 3) * 7));
}

TEST(VoxelChunk, AnEditIsACellAndAType) {
  EXPECT_EQ(to_hex(VoxelChunk::edit_of({1, 2, 3}, 7)), "410c0700") << "the worked example";
  EXPECT_EQ(to_hex(VoxelChunk::edit_of({1, 2, 3}, 0x1234)), "410c3412");
  EXPECT_EQ(to_hex(VoxelChunk::edit_of({31, 31, 31}, 1)), "ff7f0100");
}

TEST(VoxelChunk, OnlyARealChangeMarksIt) {
  const ChunkRef ref = chunk_of(3);
  VoxelChunk& chunk = writable(ref);
  EXPECT_FALSE(*chunk.set({4, 5, 6}, 3));
  EXPECT_FALSE(chunk.would_change(VoxelChunk::edit_of({4, 5, 6}, 3)));
  EXPECT_FALSE(*chunk.apply(VoxelChunk::edit_of({4, 5, 6}, 3)));
  EXPECT_FALSE(ChunkAccess::take_changed(chunk));

  EXPECT_TRUE(chunk.would_change(VoxelChunk::edit_of({4, 5, 6}, 9)));
  EXPECT_TRUE(*chunk.apply(VoxelChunk::edit_of({4, 5, 6}, 9)));
  EXPECT_TRUE(ChunkAccess::take_changed(chunk));
  EXPECT_FALSE(*chunk.apply(VoxelChunk::edit_of({4, 5, 6}, 9))) << "an edit assigns";
  EXPECT_EQ(chunk.get({4, 5, 6}), 9);
  EXPECT_TRUE(*chunk.set({4, 5, 6}, 3));
  EXPECT_TRUE(ChunkAccess::take_changed(chunk));
}

TEST(VoxelChunk, OfTwoAssignmentsOfACellTheLaterCounts) {
  const ChunkRef ref = chunk_of(0);
  VoxelChunk& chunk = writable(ref);
  const Bytes back_and_forth = joined({{7, 1}, {9, 2}, {7, 0}, {9, 0}});
  EXPECT_FALSE(chunk.would_change(back_and_forth));
  EXPECT_FALSE(*chunk.apply(back_and_forth));
  EXPECT_FALSE(ChunkAccess::take_changed(chunk));
  const Bytes forth = joined({{7, 1}, {32'767, 5}, {7, 2}, {9, 0}});
  EXPECT_TRUE(chunk.would_change(forth));
  EXPECT_TRUE(*chunk.apply(forth));
  EXPECT_EQ(chunk.get(cell_at(7)), 2);
  EXPECT_EQ(chunk.get(cell_at(32'767)), 5);
  EXPECT_FALSE(chunk.would_change(forth));
}

TEST(VoxelChunk, SettersSayTheirEditsToWhoeverWantsThem) {
  const ChunkRef ref = chunk_of(3);
  VoxelChunk& chunk = writable(ref);
  std::vector<Bytes> edits;
  ChunkAccess::begin_edits(chunk, &edits);
  EXPECT_FALSE(*chunk.set({4, 5, 6}, 3));
  EXPECT_TRUE(*chunk.set({1, 2, 3}, 7));
  EXPECT_TRUE(*chunk.apply(joined({{7, 1}, {9, 2}})));
  EXPECT_FALSE(ChunkAccess::end_edits(chunk)) << "they say everything";
  EXPECT_TRUE(*chunk.set({1, 2, 3}, 8));
  ASSERT_EQ(edits.size(), 2u);
  EXPECT_EQ(to_hex(edits[0]), "410c0700");
  EXPECT_EQ(edits[1], joined({{7, 1}, {9, 2}}));
}

TEST(VoxelChunk, ACellIsAnIndexAndItsValueAType) {
  const ChunkRef ref = chunk_of(3);
  const auto type = voxel_chunks();
  EXPECT_TRUE(*writable(ref).set({1, 2, 3}, 0x1234));
  EXPECT_EQ(to_hex(VoxelChunk::cell_of({1, 2, 3})), "410c");
  EXPECT_EQ(to_hex(*ref->read_cell(hex("410c"))), "3412");
  EXPECT_EQ(to_hex(*ref->read_cell(VoxelChunk::cell_of({31, 31, 31}))), "0300");
  for (const Bytes& cell :
       {Bytes(), hex("00"), hex("0080"), hex("000000"), VoxelChunk::cell_of({32, 0, 0})}) {
    EXPECT_EQ(ref->read_cell(cell).error().code(), ErrorCode::invalid_argument) << to_hex(cell);
    EXPECT_EQ(type->cell_edit(cell, hex("0100")).error().code(), ErrorCode::invalid_argument);
  }
  auto cells = type->cells_of(joined({{7, 1}, {32'767, 2}, {7, 3}}));
  ASSERT_TRUE(cells.ok());
  std::ranges::sort(*cells, {}, [](const Bytes& cell) { return to_hex(cell); });
  ASSERT_EQ(cells->size(), 2u) << "each once";
  EXPECT_EQ(to_hex((*cells)[0]), "0700");
  EXPECT_EQ(to_hex((*cells)[1]), "ff7f");
  EXPECT_EQ(to_hex(*type->cell_edit(hex("410c"), hex("0700"))), "410c0700");
  EXPECT_EQ(type->cell_edit(hex("410c"), hex("07")).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(type->cells_of(hex("0080")).error().code(), ErrorCode::invalid_argument);
}

TEST(VoxelChunk, ABadEditChangesNothing) {
  const ChunkRef ref = chunk_of(0);
  VoxelChunk& chunk = writable(ref);
  for (const Bytes& edit :
       {Bytes(), hex("00"), hex("000001"), hex("0000010000"), joined({{32'768, 1}}),
        joined({{0, 1}, {65'535, 1}}), VoxelChunk::edit_of({32, 0, 0}, 1),
        VoxelChunk::edit_of({0, 255, 255}, 1)}) {
    EXPECT_TRUE(chunk.would_change(edit)) << "so that apply() is asked and can say why";
    const auto changed = chunk.apply(edit);
    ASSERT_FALSE(changed.ok()) << to_hex(edit);
    EXPECT_EQ(changed.error().code(), ErrorCode::invalid_argument);
  }
  for (const Cell& cell : {Cell{32, 0, 0}, Cell{0, 32, 0}, Cell{0, 0, 32}, Cell{255, 255, 255}}) {
    EXPECT_FALSE(cell.is_valid());
    EXPECT_EQ(chunk.set(cell, 1).error().code(), ErrorCode::invalid_argument);
  }
  EXPECT_FALSE(ChunkAccess::take_changed(chunk));
  EXPECT_EQ(cells_of(chunk), std::vector<VoxelType>(kCellCount, 0));
}

TEST(VoxelChunk, WithoutMemoryAnEditIsMadeWholeOrNot) {
  // One cell in each section.
  std::vector<std::pair<std::size_t, VoxelType>> assignments;
  for (std::size_t i = 0; i < 8; ++i) assignments.emplace_back(i * 4096, 1);
  const Bytes edit = joined(assignments);
  for (std::size_t index = 0;; ++index) {
    ASSERT_LT(index, 100u);
    const ChunkRef ref = chunk_of(0);
    bool is_applied = true;
    {
      const test::AllocationFailure failure(index);
      try {
        (void)writable(ref).apply(edit);
      } catch (const std::bad_alloc&) {
        is_applied = false;
      }
    }
    EXPECT_EQ(ChunkAccess::take_changed(writable(ref)), is_applied);
    if (is_applied) break;
    EXPECT_EQ(cells_of(ref.as<VoxelChunk>()), std::vector<VoxelType>(kCellCount, 0)) << index;
  }
}

TEST(VoxelChunk, WithoutMemoryItSaysSo) {
  const ChunkRef ref = chunk_of(0);
  const Bytes bytes = hex("4e56434b 02 00 0100 0000 00");
  const test::AllocationFailure failure(0);
  EXPECT_EQ(writable(ref).set({1, 2, 3}, 7).error().code(), ErrorCode::out_of_space);
  EXPECT_FALSE(ChunkAccess::take_changed(writable(ref)));
  EXPECT_EQ(VoxelChunk::decode(bytes).error().code(), ErrorCode::out_of_space);
}

TEST(VoxelChunk, IsEncodedAndDecoded) {
  BufferPool pool;
  VoxelChunk chunk;
  EXPECT_EQ(to_hex(*chunk.encode(pool)),
            "4e56434b020001000000"
            "00");
  ASSERT_TRUE(*chunk.set({1, 2, 3}, 7));
  const Bytes bytes = *chunk.encode(pool);
  EXPECT_EQ(to_hex(bytes), "4e56434b02010200000007000203000000410c000001000100be730000");
  EXPECT_EQ(cells_of(**VoxelChunk::decode(bytes)), cells_of(chunk));
  const auto bad = VoxelChunk::decode(hex("4e56434b"));
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().code(), ErrorCode::corruption);
}

TEST(VoxelChunk, TheOriginalsChunksAreReadAndWritten) {
  BufferPool pool;
  for (const char* name : {"air", "one_rle", "4types_raw2", "20types_raw8", "300types_raw16"}) {
    VARVE_SHARED_OR_SKIP(file, std::string("golden/nebula/nvck_") + name + ".bin");
    const auto chunk = VoxelChunk::decode(file);
    ASSERT_TRUE(chunk.ok()) << chunk.error().message();
    EXPECT_TRUE(*(*chunk)->encode(pool) == file) << name;
  }
}

// --- Sections ------------------------------------------------------------------------

TEST(VoxelChunk, SectionsOfOneTypeTakeNoMemory) {
  const test::AllocationWatch watch;
  const ChunkRef ref = chunk_of(3);
  EXPECT_LT(watch.live_size(), kSmall);
  EXPECT_LT(ref->memory_size(), kSmall);
  ASSERT_TRUE(*writable(ref).set({0, 0, 4}, 1));
  ASSERT_TRUE(*writable(ref).set({31, 31, 7}, 1));
  EXPECT_LT(watch.live_size(), kSectionSize + 2 * kSmall);
  EXPECT_GT(ref->memory_size(), kSectionSize);
  EXPECT_LT(ref->memory_size(), kSectionSize + kSmall);

  BufferPool pool;
  const Bytes bytes = *ref->encode(pool);
  const ChunkRef read = ChunkRef(*VoxelChunk::decode(bytes));
  EXPECT_EQ(read->memory_size(), ref->memory_size()) << "the other seven are of one type";
}

TEST(VoxelChunk, AnEditAfterACloneCopiesOneSection) {
  std::vector<VoxelType> cells(kCellCount);
  for (std::size_t i = 0; i < kCellCount; ++i) cells[i] = static_cast<VoxelType>(i);
  const ChunkRef ref(std::make_unique<VoxelChunk>(
      std::span<const VoxelType, kCellCount>(cells.data(), kCellCount)));
  const test::AllocationWatch watch;
  const ChunkRef copy = ref->clone();
  EXPECT_LT(watch.live_size(), kSmall);
  EXPECT_FALSE(ChunkAccess::take_changed(writable(copy))) << "a clone is not a change";
  for (std::uint8_t x = 0; x < 32; ++x) ASSERT_TRUE(*writable(copy).set({x, 9, 9}, 1));
  EXPECT_LT(watch.live_size(), kSectionSize + 2 * kSmall);
  EXPECT_EQ(cells_of(ref.as<VoxelChunk>()), cells) << "the origin stays as it was";
  for (std::uint8_t x = 0; x < 32; ++x) ASSERT_TRUE(*writable(ref).set({x, 9, 17}, 2));
  EXPECT_LT(watch.live_size(), 2 * kSectionSize + 3 * kSmall);
  EXPECT_EQ(copy.as<VoxelChunk>().get({0, 9, 17}), static_cast<VoxelType>(9 * 32 + 17 * 1024));
}

TEST(VoxelChunk, AThreadMayEncodeWhileAnEditedCloneGoesOn) {
  ChunkRef ref = chunk_of(0);
  BufferPool pool;
  for (std::uint8_t round = 1; round < 50; ++round) {
    const std::vector<VoxelType> before = cells_of(ref.as<VoxelChunk>());
    Bytes bytes;
    std::thread saver([&pool, &bytes, held = ref]() mutable {
      bytes = *held->encode(pool);
      held = {};
    });
    ref = ref->clone();
    for (std::uint8_t z = 0; z < 32; z += 4) ASSERT_TRUE(*writable(ref).set({1, 1, z}, round));
    saver.join();
    EXPECT_TRUE(cells_of(**VoxelChunk::decode(bytes)) == before);
  }
}

// --- Against a model -----------------------------------------------------------------

struct Modelled {
  ChunkRef chunk;
  std::vector<VoxelType> cells;
};

RC_GTEST_PROP(VoxelChunk, DoesWhatAFlatArrayDoes, (std::uint64_t seed)) {
  std::mt19937_64 random(seed);
  BufferPool pool;
  std::vector<Modelled> all;
  const auto first_type = static_cast<VoxelType>(random() % 3);
  all.push_back({chunk_of(first_type), std::vector<VoxelType>(kCellCount, first_type)});
  for (int step = 0; step < 200; ++step) {
    Modelled& one = all[random() % all.size()];
    VoxelChunk& chunk = writable(one.chunk);
    // Few cells and types, so that edits meet.
    const auto any_index = [&] { return random() % 64 * 521 % kCellCount; };
    const auto any_type = [&] { return static_cast<VoxelType>(random() % 3); };
    switch (random() % 8) {
      case 0:
        all.push_back({one.chunk->clone(), one.cells});
        break;
      case 1:
        if (all.size() > 1) {
          std::swap(one, all.back());
          all.pop_back();
        }
        break;
      case 2: {
        const auto read = VoxelChunk::decode(*chunk.encode(pool));
        RC_ASSERT(read.ok() && cells_of(**read) == one.cells);
        break;
      }
      case 3:
      case 4: {
        const std::size_t index = any_index();
        const VoxelType type = any_type();
        RC_ASSERT(chunk.set(cell_at(index), type).value() == (one.cells[index] != type));
        RC_ASSERT(ChunkAccess::take_changed(chunk) == (one.cells[index] != type));
        one.cells[index] = type;
        break;
      }
      default: {
        std::vector<std::pair<std::size_t, VoxelType>> assignments;
        for (std::size_t left = 1 + random() % 20; left > 0; --left)
          assignments.emplace_back(any_index(), any_type());
        std::vector<VoxelType> after = one.cells;
        for (const auto& [index, type] : assignments) after[index] = type;
        const Bytes edit = joined(assignments);
        RC_ASSERT(chunk.would_change(edit) == (after != one.cells));
        RC_ASSERT(chunk.apply(edit).value() == (after != one.cells));
        RC_ASSERT(ChunkAccess::take_changed(chunk) == (after != one.cells));
        one.cells = std::move(after);
        break;
      }
    }
  }
  for (const Modelled& one : all) RC_ASSERT(cells_of(one.chunk.as<VoxelChunk>()) == one.cells);
}

// --- In a world ----------------------------------------------------------------------

constexpr ChunkPos kHere = chunk_pos(Face::neg_y, 3, -2);

TEST(VoxelChunkWorld, EditsAreSavedAndReadBack) {
  const std::string path = test::fresh_memory_path();
  {
    auto world = World::create(path, {.chunk_type = voxel_chunks()});
    ASSERT_TRUE(world) << world.error().message();
    ASSERT_TRUE((*world)->put(kHere, std::make_unique<VoxelChunk>(4)));
    EXPECT_TRUE(*(*world)->edit(kHere, VoxelChunk::edit_of({1, 2, 3}, 7)));
    EXPECT_FALSE(*(*world)->edit(kHere, VoxelChunk::edit_of({1, 2, 3}, 7)));
    EXPECT_TRUE(*(*world)->edit<VoxelChunk>(
        kHere, [](VoxelChunk& chunk) { EXPECT_TRUE(*chunk.set({31, 0, 31}, 9)); }));
    const auto bad = (*world)->edit(kHere, VoxelChunk::edit_of({32, 0, 0}, 7));
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error().code(), ErrorCode::invalid_argument);
    ASSERT_TRUE((*world)->save().wait());
    EXPECT_EQ((*world)->state(kHere), ChunkState::persisted);
    EXPECT_FALSE(*(*world)->edit(kHere, VoxelChunk::edit_of({1, 2, 3}, 7)));
    EXPECT_EQ((*world)->state(kHere), ChunkState::persisted) << "an edit that changes nothing";
    ASSERT_TRUE((*world)->close());
  }
  auto world = World::open(path, {.chunk_type = voxel_chunks()});
  ASSERT_TRUE(world) << world.error().message();
  const auto chunk = (*world)->load_now(kHere);
  ASSERT_TRUE(chunk) << chunk.error().message();
  EXPECT_EQ(chunk->as<VoxelChunk>().get({1, 2, 3}), 7);
  EXPECT_EQ(chunk->as<VoxelChunk>().get({31, 0, 31}), 9);
  EXPECT_EQ(chunk->as<VoxelChunk>().get({0, 0, 0}), 4);
}

TEST(VoxelChunkWorld, ASnapshotCostsOneCloneAndTheSectionsThatAreTouched) {
  test::FlatWorld flat({.chunk_type = voxel_chunks()});
  World& world = *flat.world;
  std::vector<VoxelType> cells(kCellCount);
  for (std::size_t i = 0; i < kCellCount; ++i) cells[i] = static_cast<VoxelType>(i);
  ASSERT_TRUE(world.put(kHere, std::make_unique<VoxelChunk>(std::span<const VoxelType, kCellCount>(
                                   cells.data(), kCellCount))));
  for (VoxelType snapshot = 40'001; snapshot <= 40'003; ++snapshot) {
    test::HeldCommits held(flat.control);
    SaveHandle save = world.save();
    held.wait_until_one_is_held();
    const std::uint64_t clones_before = world.telemetry().clone_count;
    const test::AllocationWatch watch;
    for (std::uint8_t x = 0; x < 32; ++x) {
      EXPECT_TRUE(*world.edit(kHere, VoxelChunk::edit_of({x, 0, 0}, snapshot)));
      EXPECT_TRUE(*world.edit(kHere, VoxelChunk::edit_of({x, 0, 30}, snapshot)));
    }
    EXPECT_EQ(world.telemetry().clone_count - clones_before, 1U);
    EXPECT_LT(watch.peak_size(), 3 * kSectionSize) << "two sections of eight";
    held.release();
    ASSERT_TRUE(save.wait());
    const auto stored = VoxelChunk::decode(**world.store().read_chunk(kHere));
    ASSERT_TRUE(stored);
    EXPECT_EQ((*stored)->get({5, 0, 0}), snapshot == 40'001 ? 5 : snapshot - 1)
        << "what it was when the save began";
    EXPECT_EQ(world.get(kHere).as<VoxelChunk>().get({5, 0, 0}), snapshot);
  }
}

TEST(VoxelChunkWorld, ADamagedChunkIsRefused) {
  const std::string path = test::fresh_memory_path();
  {
    auto world = World::create(path, {.chunk_type = raw_chunks()});
    ASSERT_TRUE((*world)->put(kHere, std::make_unique<RawChunk>(hex("4e56434b 02 00 0100"))));
    ASSERT_TRUE((*world)->close());
  }
  auto world = World::open(path, {.chunk_type = voxel_chunks()});
  ASSERT_TRUE(world);
  const auto chunk = (*world)->load_now(kHere);
  ASSERT_FALSE(chunk);
  EXPECT_EQ(chunk.error().code(), ErrorCode::corruption);
}

TEST(VoxelChunkType, HasAName) { EXPECT_EQ(voxel_chunks()->name(), "nebula voxels"); }

}  // namespace
}  // namespace varve::nebula
