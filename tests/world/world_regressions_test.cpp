// What was wrong once.
#include <gtest/gtest.h>

#include <stdexcept>

#include "varve/format.h"
#include "world/sample_world.h"

namespace varve::test {
namespace {

constexpr ChunkPos kHere(1, 2);
constexpr ChunkPos kThere(3, 4);
const std::byte kOne{1};

TEST(WorldRegressions, AnEditInsideAnEditOfTheSameChunkIsRefusedAndUndoesNothing) {
  FlatWorld flat;
  World& world = *flat.world;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_EQ(flat.at(kThere, 0), 7);
  const auto edited = world.edit<RawChunk>(kHere, [&](RawChunk& chunk) {
    EXPECT_EQ(flat.set(kHere, 1, 2).error().code(), ErrorCode::busy);
    EXPECT_EQ(world.put(kHere, std::make_unique<RawChunk>(Bytes())).error().code(),
              ErrorCode::busy);
    EXPECT_EQ(world.erase(kHere).error().code(), ErrorCode::busy);
    EXPECT_TRUE(*flat.set(kThere, 0, 3)) << "a neighbour may be changed";
    ASSERT_TRUE(chunk.set(0, {&kOne, 1}));
  });
  EXPECT_TRUE(*edited);
  EXPECT_EQ(flat.at(kHere, 0), 1);
  EXPECT_EQ(flat.at(kHere, 1), 7);
  EXPECT_EQ(flat.at(kThere, 0), 3);
  EXPECT_FALSE(
      *world.edit<RawChunk>(kHere, [&](RawChunk&) { ASSERT_TRUE(flat.set(kThere, 0, 4)); }));
  EXPECT_EQ(flat.at(kHere, 0), 1);
  ASSERT_TRUE(world.save().wait());
  EXPECT_EQ(flat.stored_at(kHere, 0), 1);
  EXPECT_EQ(flat.stored_at(kThere, 0), 4);
}

TEST(WorldRegressions, NothingIsCutOrHandedOutInTheMiddleOfAnEdit) {
  FlatWorld flat({.autosave = AutosaveConfig{.interval_s = 1}});
  World& world = *flat.world;
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 5, 5));
  ChunkRef held;
  EXPECT_TRUE(*world.edit<RawChunk>(kHere, [&](RawChunk& chunk) {
    held = world.get(kHere);
    EXPECT_EQ(world.save().wait().error().code(), ErrorCode::busy);
    EXPECT_EQ(world.save_to(fresh_memory_path()).wait().error().code(), ErrorCode::busy);
    EXPECT_EQ(world.close().error().code(), ErrorCode::busy);
    world.update(10);
    world.evict(kHere);
    ASSERT_TRUE(chunk.set(0, {&kOne, 1}));
  }));
  EXPECT_EQ(flat.control.commit_count, 0U);
  EXPECT_EQ(held.as<RawChunk>().view()[0], std::byte{7});
  EXPECT_EQ(world.state(kHere), ChunkState::dirty);
}

TEST(WorldRegressions, APositionThatIsNoneIsRefusedBeforeItBlocksEverySave) {
  FlatWorld flat;
  ChunkPos stray(1, 2, 3);
  stray.coordinate_count = 2;
  EXPECT_EQ(flat.world->put(stray, std::make_unique<RawChunk>(Bytes())).error().code(),
            ErrorCode::invalid_argument);
  EXPECT_FALSE(flat.world->erase(stray));
  EXPECT_FALSE(flat.world->request(stray));
  EXPECT_FALSE(flat.world->put_entity({.id = 1, .owner = stray}));
  ASSERT_TRUE(flat.world->put_global("g", Bytes::copy_of("x")));
  EXPECT_TRUE(flat.world->save().wait());
  struct Nameless final : Generator {
    GeneratorId id() const override { return {.name = "a\nb", .version = 1}; }
    Result<Bytes> generate(const ChunkPos&) const override { return Bytes(); }
  };
  const auto nameless =
      World::create(fresh_memory_path(), {.generator = std::make_shared<Nameless>()});
  ASSERT_FALSE(nameless);
  EXPECT_EQ(nameless.error().code(), ErrorCode::invalid_argument);
}

// One byte, in a type whose code throws when it is told to.
class MoodyChunk final : public Chunk {
 public:
  static inline bool apply_throws = false;
  static inline bool clone_throws = false;

  MoodyChunk() = default;
  std::uint8_t value() const { return value_; }
  void set(std::uint8_t value) {
    value_ = value;
    mark_changed();
  }
  static Bytes edit_of(char value) { return Bytes::copy_of(std::string(1, value)); }

  Result<Bytes> encode(BufferPool&) const override { return edit_of(static_cast<char>(value_)); }
  std::unique_ptr<Chunk> clone() const override {
    if (clone_throws) throw std::runtime_error("not today");
    return std::make_unique<MoodyChunk>(*this);
  }
  Result<bool> apply(ByteView edit) override {
    if (apply_throws) throw std::runtime_error("not today");
    set(static_cast<std::uint8_t>(edit[0]));
    return true;
  }
  std::size_t memory_size() const override { return sizeof(*this); }

 private:
  std::uint8_t value_ = 0;
};

TEST(WorldRegressions, AnEditThatThrowsLeavesNothingBehindInTheBatch) {
  for (const bool is_held : {false, true}) {
    FlatWorld flat;
    World& world = *flat.world;
    ASSERT_TRUE(world.put(kHere, std::make_unique<MoodyChunk>()));
    ASSERT_TRUE(world.save().wait());
    // The saver may hold the chunk a little longer. An edit of nothing leaves one nobody
    // else has, which is changed in place.
    ASSERT_FALSE(*world.edit<MoodyChunk>(kHere, [](MoodyChunk&) {}));
    const ChunkRef held = is_held ? world.get(kHere) : ChunkRef();
    MoodyChunk::apply_throws = true;
    const auto edited = world.edit(kHere, MoodyChunk::edit_of(1));
    MoodyChunk::apply_throws = false;
    ASSERT_FALSE(edited);
    EXPECT_EQ(edited.error().message(), "editing chunk:1,2: it threw: not today");
    EXPECT_EQ(world.state(kHere), ChunkState::persisted);
    ASSERT_TRUE(world.put_global("g", Bytes::copy_of("x")));
    const auto saved = world.save().wait();
    ASSERT_TRUE(saved) << saved.error().message();
    EXPECT_EQ(saved->chunk_count + saved->unchanged_count, 0U) << "nothing of it was saved";

    MoodyChunk::apply_throws = true;
    EXPECT_FALSE(world.edit(kHere, MoodyChunk::edit_of(1)));
    MoodyChunk::apply_throws = false;
    ASSERT_TRUE(world.edit(kHere, MoodyChunk::edit_of(2)));
    const auto again = world.save().wait();
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(flat.stored_at(kHere, 0), 2);
  }
}

TEST(WorldRegressions, AnEditThatCannotBeginDoesNotBlockTheWorld) {
  FlatWorld flat;
  World& world = *flat.world;
  ASSERT_TRUE(world.put(kHere, std::make_unique<MoodyChunk>()));
  const ChunkRef held = world.get(kHere);  // so that an edit works on a clone
  const auto set_three = [](MoodyChunk& chunk) { chunk.set(3); };
  MoodyChunk::clone_throws = true;
  const auto edited = world.edit<MoodyChunk>(kHere, set_three);
  MoodyChunk::clone_throws = false;
  ASSERT_FALSE(edited);
  EXPECT_EQ(edited.error().message(), "editing chunk:1,2: it threw: not today");
  const auto saved = world.save().wait();
  ASSERT_TRUE(saved) << saved.error().message();
  const auto again = world.edit<MoodyChunk>(kHere, set_three);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(held.as<MoodyChunk>().value(), 0);
  ASSERT_TRUE(world.close());
}

TEST(WorldRegressions, ACopyDoesNotRemoveASaveOfASimilarName) {
  FlatWorld flat;
  ASSERT_TRUE(flat.world->put_global("g", Bytes::copy_of("x")));
  const std::string path = fresh_memory_path();
  ASSERT_TRUE(flat.world->save_to(path + ".saving").wait());
  ASSERT_TRUE(flat.world->save_to(path).wait());
  EXPECT_TRUE(open_store(path + ".saving"));
  EXPECT_FALSE(flat.world->save_to(path + ".unfinished-copy").wait());
}

TEST(WorldRegressions, WaitingForASaveInsideItsOwnHookIsRefused) {
  ErrorCode seen{};
  FlatWorld flat({.before_save = [&](World& world) {
    seen = world.save().wait().error().code();
    return Status();
  }});
  ASSERT_TRUE(flat.world->put_global("g", Bytes::copy_of("x")));
  EXPECT_TRUE(flat.world->save().wait());
  EXPECT_EQ(seen, ErrorCode::busy);
}

TEST(WorldRegressions, AfterAWaitEverythingAgreesThatItIsSaved) {
  FlatWorld flat;
  ASSERT_TRUE(flat.world->put_global("g", Bytes::copy_of("x")));
  ASSERT_TRUE(flat.world->save().wait());
  EXPECT_FALSE(flat.world->is_saving());
  ASSERT_TRUE(flat.world->last_save());
  EXPECT_TRUE(*flat.world->last_save());
}

TEST(WorldRegressions, AChunkTheGamePutGetsItsStoredEntities) {
  for (const bool by_request : {false, true}) {
    const std::string path = fresh_memory_path();
    {
      auto world = World::create(path);
      ASSERT_TRUE((*world)->put_entity({.id = 9, .owner = kHere, .data = Bytes::copy_of("x")}));
      ASSERT_TRUE((*world)->close());
    }
    auto opened = World::open(path);
    ASSERT_TRUE(opened);
    World& world = **opened;
    if (by_request) {
      ASSERT_TRUE(world.request(kHere));
    }
    ASSERT_TRUE(world.put(kHere, std::make_unique<RawChunk>(Bytes::copy_of("mine"))));
    if (by_request) {
      while (world.telemetry().loads_in_flight != 0) EXPECT_TRUE(world.update(0).failed.empty());
    } else {
      ASSERT_TRUE(world.load_now(kHere));
    }
    EXPECT_EQ(world.entities_in(kHere).size(), 1U) << by_request;
    EXPECT_EQ(world.get(kHere).as<RawChunk>().view().size(), 4U);
  }
}

// Erasures that wait for the next save of everything are not looked at by every part.
TEST(WorldRegressions, AnErasedRecordIsForgottenByTheCommitThatErasesIt) {
  FlatWorld flat;
  World& world = *flat.world;
  ASSERT_TRUE(world.put_entity({.id = 1, .data = Bytes::copy_of("x")}));
  ASSERT_TRUE(world.put_player("ann", Bytes::copy_of("x")));
  ASSERT_TRUE(world.save().wait());
  ASSERT_TRUE(world.erase_entity(1));
  ASSERT_TRUE(world.erase_player("ann"));
  EXPECT_FALSE(*world.load_entity(1)) << "the erasure is on its way";
  ASSERT_TRUE(world.save().wait());
  EXPECT_FALSE(*world.load_entity(1));
  EXPECT_FALSE(*world.load_player("ann"));
  EXPECT_FALSE(*world.store().read_entity(1));
}

}  // namespace
}  // namespace varve::test
