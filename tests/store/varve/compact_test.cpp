// Records that are written anew hold what they held before.
#include <gtest/gtest.h>

#include <random>
#include <stdexcept>

#include "store/varve/varve_format.h"
#include "store/varve/varve_store.h"
#include "support/scratch_dir.h"
#include "varve/generator.h"

namespace varve::test {
namespace {

// Small chunks that have much in common and little in themselves.
Bytes chunk_of(std::uint32_t number) {
  std::mt19937 random(number);
  std::string text;
  for (int i = 0; i < 40; ++i) {
    text += "block=minecraft:" + std::to_string(random() % 50) + "_planks;facing=";
    text += std::to_string(random() % 4) + ";light=" + std::to_string(random() % 16) + "\n";
  }
  return Bytes::copy_of(text);
}

class VarveCompact : public ::testing::Test {
 protected:
  std::unique_ptr<Store> open(const VarveOptions& options) {
    auto store = make_varve_format(posix_vfs(), "varve", SaveBackend::file, options)->open(path_);
    EXPECT_TRUE(store) << store.error().message();
    return store ? *std::move(store) : nullptr;
  }
  void fill(const VarveOptions& options, std::uint32_t count,
            const std::shared_ptr<const Generator>& generator = nullptr) {
    auto store = make_varve_format(posix_vfs(), "varve", SaveBackend::file, options)->create(path_);
    ASSERT_TRUE(store) << store.error().message();
    if (generator) (*store)->use_generator(generator);
    Commit commit{.tick = 3, .players = {{"ann", Bytes::copy_of(std::string(9000, 'a'))}}};
    for (std::uint32_t i = 0; i < count; ++i) {
      commit.chunks.push_back({ChunkPos(static_cast<std::int32_t>(i), 0), chunk_of(i)});
      commit.entities.push_back({i, EntityValue{ChunkPos(0, 0), chunk_of(i + 7)}});
    }
    Progress progress;
    ASSERT_TRUE((*store)->commit(commit, progress));
    ASSERT_TRUE((*store)->close());
  }
  void expect_same(const Store& store, std::uint32_t count) {
    EXPECT_EQ(store.tick(), 3u);
    EXPECT_EQ(store.generation(), 1u) << "nothing changed, so there is no new one";
    for (std::uint32_t i = 0; i < count; ++i) {
      ASSERT_EQ(store.read_chunk(ChunkPos(static_cast<std::int32_t>(i), 0)).value(), chunk_of(i));
      ASSERT_EQ(store.read_entity(i).value()->data, chunk_of(i + 7));
    }
    EXPECT_EQ(store.read_player("ann").value(), Bytes::copy_of(std::string(9000, 'a')));
    Progress progress;
    EXPECT_TRUE(store.verify(progress)->clean());
  }

  ScratchDir dir_;
  const std::string path_ = dir_.file("world");
};

TEST_F(VarveCompact, ADictionaryIsLearnedAndUsed) {
  constexpr std::uint32_t kCount = 800;
  fill({.speed = SpeedClass::fast}, kCount);
  CompactReport without;
  {
    const auto store = open({.speed = SpeedClass::balanced, .dictionaries = false});
    Progress progress;
    without = store->compact(progress).value();
    EXPECT_LT(without.size_after, without.size_before) << "zstd instead of LZ4";
    EXPECT_EQ(progress.fraction(), 1);
    expect_same(*store, kCount);
    ASSERT_TRUE(store->close());
  }
  {
    const auto store = open({.speed = SpeedClass::balanced});
    Progress progress;
    const CompactReport with = store->compact(progress).value();
    EXPECT_LT(with.size_after, without.size_after * 92 / 100);
    expect_same(*store, kCount);
    // A second one learns nothing that would be worth it.
    const CompactReport again = store->compact(progress).value();
    EXPECT_EQ(again.size_after, again.size_before);
    EXPECT_EQ(again.size_before, with.size_after);
    ASSERT_TRUE(store->close());
  }
  const auto store = open({});
  expect_same(*store, kCount);
}

TEST_F(VarveCompact, NothingBecomesLarger) {
  fill({.speed = SpeedClass::small}, 50);
  const auto store = open({.speed = SpeedClass::raw});
  Progress progress;
  const CompactReport report = store->compact(progress).value();
  EXPECT_EQ(report.size_after, report.size_before);
  expect_same(*store, 50);
}

class Numbered final : public Generator {
 public:
  explicit Numbered(std::uint32_t version) : version_(version) {}
  GeneratorId id() const override { return {"numbered", version_}; }
  Result<Bytes> generate(const ChunkPos& pos) const override {
    std::string text(chunk_of(static_cast<std::uint32_t>(pos[0])).text());
    text[10] = static_cast<char>('0' + version_);
    return Bytes::copy_of(text);
  }

 private:
  std::uint32_t version_;
};

TEST_F(VarveCompact, ItFreesASaveOfAnOldGenerator) {
  const VarveOptions options{.deltas = true};
  fill(options, 40, std::make_shared<Numbered>(1));
  {
    const auto store = open(options);
    store->use_generator(std::make_shared<Numbered>(2));
    const auto refused = store->read_chunk(ChunkPos(1, 0));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::unsupported);
    EXPECT_NE(refused.error().message().find("numbered"), std::string::npos);
    // What cannot be read stays as it is.
    Progress progress;
    EXPECT_TRUE(store->compact(progress));
    ASSERT_TRUE(store->close());
  }
  {
    const auto store = open(options);
    store->use_generator(std::make_shared<Numbered>(1));
    store->use_generator(std::make_shared<Numbered>(2));
    expect_same(*store, 40);
    Progress progress;
    EXPECT_TRUE(store->compact(progress));
    ASSERT_TRUE(store->close());
  }
  const auto store = open(options);
  store->use_generator(std::make_shared<Numbered>(2));
  expect_same(*store, 40);
}

class Throwing final : public Generator {
 public:
  GeneratorId id() const override { return {"throwing", 1}; }
  Result<Bytes> generate(const ChunkPos&) const override { throw std::runtime_error("no hills"); }
};

// Nothing is known then of what a chunk differs from; it is no reason to fail, nor to end the game.
TEST_F(VarveCompact, AGeneratorThatThrowsCostsSpaceAlone) {
  const VarveOptions options{.deltas = true};
  fill(options, 40, std::make_shared<Numbered>(1));
  {
    const auto store = open(options);
    store->use_generator(std::make_shared<Numbered>(1));
    store->use_generator(std::make_shared<Throwing>());
    Progress progress;
    // From here on the save knows that generator.
    ASSERT_TRUE(store->commit({.tick = 3, .generator = GeneratorId{"throwing", 1}}, progress));
    const auto report = store->compact(progress);
    ASSERT_TRUE(report) << report.error().message();
    ASSERT_TRUE(store->close());
  }
  const auto store = open(options);
  for (std::uint32_t i = 0; i < 40; ++i) {
    ASSERT_EQ(store->read_chunk(ChunkPos(static_cast<std::int32_t>(i), 0)).value(), chunk_of(i));
  }
}

TEST_F(VarveCompact, ItCanBeGivenUp) {
  fill({.speed = SpeedClass::raw}, 300);
  const auto store = open({.speed = SpeedClass::fast});
  Progress progress;
  progress.cancel();
  EXPECT_EQ(store->compact(progress).error().code(), ErrorCode::cancelled);
  expect_same(*store, 300);
}

}  // namespace
}  // namespace varve::test
