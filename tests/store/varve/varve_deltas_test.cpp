// Chunks that are stored as what differs from the generator's.
#include <gtest/gtest.h>

#include <stdexcept>

#include "sample_payloads.h"
#include "sample_store.h"

namespace varve {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

const VarveOptions kDeltas{.deltas = true};
const ChunkPos kHere(3, -2);
const ChunkPos kThere(4, -2);

PayloadTransform transform_at(const SampleDisk& disk, const ChunkPos& pos) {
  return info_of(disk.get(chunk_key(0, pos))).transform;
}

std::shared_ptr<const SampleGenerator> hills(std::uint32_t version) {
  return std::make_shared<SampleGenerator>(version);
}

// A save with two deltas against version 1.
std::shared_ptr<SampleDisk> with_deltas() {
  const auto disk = new_disk();
  const auto store = open_sample(disk, kDeltas);
  store->use_generator(hills(1));
  commit(*store, {.chunks = {{kHere, hills(1)->edited(kHere, 'a')},
                             {kThere, hills(1)->edited(kThere, 'b')}}});
  return disk;
}

TEST(VarveDeltas, AreStoredAndReadBack) {
  const auto disk = with_deltas();
  EXPECT_EQ(transform_at(*disk, kHere), PayloadTransform::delta);
  EXPECT_LT(disk->get(chunk_key(0, kHere)).size(), 60u);
  // Whatever the options are now.
  for (const bool deltas : {false, true}) {
    const auto store = open_sample(disk, {.deltas = deltas});
    store->use_generator(hills(1));
    EXPECT_EQ(store->read_chunk(kHere).value(), hills(1)->edited(kHere, 'a'));
    EXPECT_EQ(store->pin().value()->read_chunk(kThere).value(), hills(1)->edited(kThere, 'b'));
    EXPECT_TRUE(verify(*store).clean()) << problems_of(verify(*store));
    std::uint64_t size = 0;
    EXPECT_TRUE(store->list_chunks({}, [&](const ChunkInfo& info) {
      size += info.payload_size;
      return true;
    }));
    EXPECT_EQ(size, 4000u);
  }
}

TEST(VarveDeltas, AreNotMadeUnlessAskedFor) {
  const auto disk = new_disk();
  const auto store = open_sample(disk);
  store->use_generator(hills(1));
  commit(*store, {.chunks = {{kHere, hills(1)->edited(kHere, 'a')}}});
  EXPECT_EQ(transform_at(*disk, kHere), PayloadTransform::none);
}

TEST(VarveDeltas, ANewVersionOfTheGeneratorIsAClearError) {
  const auto disk = with_deltas();
  for (const auto& given : {hills(2), std::shared_ptr<const SampleGenerator>()}) {
    const auto store = open_sample(disk, kDeltas);
    if (given) store->use_generator(given);
    const auto read = store->read_chunk(kHere);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code(), ErrorCode::unsupported);
    const std::string& message = read.error().message();
    EXPECT_NE(message.find("\"hills\" version 1"), std::string::npos) << message;
    EXPECT_NE(message.find("chunk:3,-2"), std::string::npos) << message;
    if (given) {
      EXPECT_NE(message.find("\"hills\" version 2"), std::string::npos) << message;
    }
    EXPECT_EQ(verify(*store).problems.size(), 2u);
  }
}

TEST(VarveDeltas, TheWayOutIsToGiveBothGenerators) {
  const auto disk = with_deltas();
  {
    const auto store = open_sample(disk, kDeltas);
    store->use_generator(hills(1));
    store->use_generator(hills(2));
    const Bytes here = store->read_chunk(kHere).value().value();
    EXPECT_EQ(here, hills(1)->edited(kHere, 'a'));
    // The same bytes, and still it is written: it needed the old generator.
    EXPECT_EQ(commit(*store, {.chunks = {{kHere, here}}}).chunks.put_count, 1u);
    EXPECT_EQ(store->read_chunk(kHere).value(), here);
    EXPECT_EQ(commit(*store, {.chunks = {{kHere, here}}}).chunks.unchanged_count, 1u);
    EXPECT_TRUE(verify(*store).clean());
  }
  const auto store = open_sample(disk, kDeltas);
  store->use_generator(hills(2));
  EXPECT_EQ(store->read_chunk(kHere).value(), hills(1)->edited(kHere, 'a'));
  EXPECT_EQ(store->read_chunk(kThere).error().code(), ErrorCode::unsupported);
}

TEST(VarveDeltas, SavedWithDeltasOffTheyNeedNoGenerator) {
  const auto disk = with_deltas();
  {
    const auto store = open_sample(disk);
    store->use_generator(hills(1));
    Commit all;
    for (const ChunkPos& pos : {kHere, kThere})
      all.chunks.push_back({pos, store->read_chunk(pos).value()});
    EXPECT_EQ(commit(*store, all).chunks.put_count, 2u);
  }
  const auto store = open_sample(disk);
  EXPECT_EQ(store->read_chunk(kHere).value(), hills(1)->edited(kHere, 'a'));
  EXPECT_TRUE(verify(*store).clean());
}

TEST(VarveDeltas, TheSameVersionThatMakesSomethingElseIsFound) {
  // It calls itself version 1 and makes what version 2 makes.
  class Liar final : public Generator {
   public:
    GeneratorId id() const override { return {"hills", 1}; }
    Result<Bytes> generate(const ChunkPos& pos) const override {
      return SampleGenerator(2).page(pos);
    }
  };
  const auto disk = with_deltas();
  const auto store = open_sample(disk, kDeltas);
  store->use_generator(std::make_shared<Liar>());
  EXPECT_EQ(store->read_chunk(kHere).error().code(), ErrorCode::unsupported);
}

TEST(VarveDeltas, AGeneratorThatFailsOrThrowsCostsSpaceNotTheCommit) {
  class Broken final : public Generator {
   public:
    explicit Broken(bool throws) : throws_(throws) {}
    GeneratorId id() const override { return {"hills", 1}; }
    Result<Bytes> generate(const ChunkPos&) const override {
      if (throws_) throw std::runtime_error("no hills today");
      return io_error("no hills today");
    }

   private:
    const bool throws_;
  };
  for (const bool throws : {false, true}) {
    const auto disk = with_deltas();
    const auto store = open_sample(disk, kDeltas);
    store->use_generator(std::make_shared<Broken>(throws));
    const auto made = try_commit(*store, {.chunks = {chunk(ChunkPos(9, 9), "whole")}});
    ASSERT_TRUE(made) << made.error().message();
    EXPECT_EQ(store->read_chunk(ChunkPos(9, 9)).value()->text(), "whole");
    const auto read = store->read_chunk(kHere);
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message().find("no hills today"), std::string::npos);
    EXPECT_EQ(verify(*store).problems.size(), 2u);
  }
}

}  // namespace
}  // namespace varve
