// Players and globals: records by name.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "world/stream_watch.h"

namespace varve::test {
namespace {

// Players and globals promise the same; each test runs for both.
struct Named {
  Status (World::*put)(std::string_view, Bytes);
  Status (World::*erase)(std::string_view);
  std::optional<Bytes> (World::*find)(std::string_view);
  Result<std::optional<Bytes>> (World::*load)(std::string_view);
  Result<std::optional<Bytes>> (StoreView::*read)(std::string_view) const;
};
constexpr Named kKinds[] = {
    {&World::put_player, &World::erase_player, &World::player, &World::load_player,
     &StoreView::read_player},
    {&World::put_global, &World::erase_global, &World::global, &World::load_global,
     &StoreView::read_global},
};

TEST(WorldNamedRecords, ArePutLoadedAndErased) {
  for (const Named& kind : kKinds) {
    FlatWorld flat(quiet_options());
    World* world = flat.world.get();
    EXPECT_EQ((world->*kind.find)("p"), std::nullopt);
    EXPECT_EQ(*(world->*kind.load)("p"), std::nullopt);
    ASSERT_TRUE((world->*kind.put)("p", text("1")));
    EXPECT_EQ((world->*kind.find)("p"), text("1"));
    ASSERT_TRUE(world->save().wait());
    flat.crash_and_reopen();
    world = flat.world.get();
    EXPECT_EQ((world->*kind.find)("p"), std::nullopt) << "memory only";
    EXPECT_EQ(*(world->*kind.load)("p"), text("1"));
    EXPECT_EQ((world->*kind.find)("p"), text("1")) << "a load keeps it";
    EXPECT_EQ(world->telemetry().dirty_record_count, 0U);
    ASSERT_TRUE((world->*kind.erase)("p"));
    EXPECT_EQ((world->*kind.find)("p"), std::nullopt);
    EXPECT_EQ(*(world->*kind.load)("p"), std::nullopt) << "the store still has it";
    ASSERT_TRUE(world->save().wait());
    EXPECT_EQ(*(world->*kind.load)("p"), std::nullopt);
    flat.crash_and_reopen();
    EXPECT_EQ(*(flat.world.get()->*kind.load)("p"), std::nullopt);
  }
}

TEST(WorldNamedRecords, ErasuresInFlightAreRead) {
  for (const Named& kind : kKinds) {
    Gate gate;
    FlatWorld flat(quiet_options());
    const GateOpener opener(gate);
    World* world = flat.world.get();
    ASSERT_TRUE((world->*kind.put)("p", text("1")));
    ASSERT_TRUE(world->save().wait());
    ASSERT_TRUE((world->*kind.erase)("p"));
    flat.control.before_commit([&](const Commit&) {
      gate.pass();
      return Status();
    });
    SaveHandle save = world->save();
    gate.wait_for_arrivals(1);
    EXPECT_EQ(*(world->*kind.load)("p"), std::nullopt);
    ASSERT_TRUE((world->*kind.put)("p", text("2"))) << "back before it is gone";
    gate.open();
    ASSERT_TRUE(save.wait());
    world->update(0);
    EXPECT_EQ((world->*kind.find)("p"), text("2"));
    EXPECT_EQ(*(world->store().*kind.read)("p"), std::nullopt);
    ASSERT_TRUE(world->save().wait());
    EXPECT_EQ(*(world->store().*kind.read)("p"), text("2"));
  }
}

TEST(WorldNamedRecords, APutOfTheSameStaysClean) {
  for (const Named& kind : kKinds) {
    FlatWorld flat(quiet_options());
    World* world = flat.world.get();
    ASSERT_TRUE((world->*kind.put)("p", text("1")));
    ASSERT_TRUE(world->save().wait());
    ASSERT_TRUE((world->*kind.put)("p", text("1")));
    EXPECT_EQ(world->telemetry().dirty_record_count, 0U);
    ASSERT_TRUE((world->*kind.put)("p", {}));
    EXPECT_EQ((world->*kind.find)("p"), Bytes()) << "empty is not missing";
    EXPECT_EQ(world->telemetry().dirty_record_count, 1U);
  }
}

TEST(WorldNamedRecords, TakeAnyNameThatIsOne) {
  const std::string longest(255, 'x');
  const std::string good[] = {"a.b",    " ",       "..",   ".", "/",
                              "a/../b", "\\",      "COM1", "*", "\xc3\xa9\xf0\x9f\x90\x84",
                              longest,  "player:x"};
  const std::string bad[] = {"", std::string("a\0b", 3), "a\nb", "\x7f", "\xff", longest + "x"};
  for (const Named& kind : kKinds) {
    FlatWorld flat(quiet_options());
    World* world = flat.world.get();
    for (const std::string& name : good) ASSERT_TRUE((world->*kind.put)(name, text(name))) << name;
    for (const std::string& name : bad) {
      const Status put = (world->*kind.put)(name, text("x"));
      ASSERT_FALSE(put) << name;
      EXPECT_EQ(put.error().code(), ErrorCode::invalid_argument);
      EXPECT_FALSE((world->*kind.erase)(name));
      EXPECT_FALSE((world->*kind.load)(name));
      EXPECT_EQ((world->*kind.find)(name), std::nullopt);
    }
    ASSERT_TRUE(world->save().wait());
    flat.crash_and_reopen();
    for (const std::string& name : good)
      EXPECT_EQ(*(flat.world.get()->*kind.load)(name), text(name)) << name;
  }
}

}  // namespace
}  // namespace varve::test
