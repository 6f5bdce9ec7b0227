// What the headers promise about the format of a world.
#include <gtest/gtest.h>

#include <string>

#include "contract/one_file_store.h"
#include "io/sim/sim_disk.h"
#include "support/scratch_dir.h"
#include "varve/format.h"
#include "world/stream_watch.h"

namespace varve::test {
namespace {

TEST(WorldPromises, TheFormatIsChosenForANewWorldAndFoundOutLater) {
  // Registered formats stay for the life of the process; another test may have been first.
  if (!find_format("onefile")) {
    ASSERT_TRUE(register_format(std::make_unique<OneFileFormat>(posix_vfs())));
  }
  const ScratchDir dir;
  const std::string path = dir.file("world");
  const WorldOptions any{.generator = std::make_shared<FlatGenerator>()};
  WorldOptions chosen = any;
  chosen.format = "onefile";
  {
    const auto created = World::create(dir.file("no format"), any);
    ASSERT_TRUE(created) << created.error().message();
    EXPECT_EQ((*created)->store().capabilities().format, "varve");
    ASSERT_TRUE((*created)->close());
  }
  EXPECT_EQ(World::open(path, chosen).error().code(), ErrorCode::not_found);
  {
    auto created = World::create(path, chosen);
    ASSERT_TRUE(created) << created.error().message();
    EXPECT_EQ((*created)->store().capabilities().format, "onefile");
    ASSERT_TRUE((*created)->put_global("label", text("mine")));
    ASSERT_TRUE((*created)->close());
  }
  EXPECT_FALSE(World::create(path, chosen)) << "there is one already";
  for (const WorldOptions& options : {chosen, any}) {
    auto opened = World::open(path, options);
    ASSERT_TRUE(opened) << opened.error().message();
    EXPECT_EQ((*opened)->store().capabilities().format, "onefile");
    EXPECT_EQ(**(*opened)->load_global("label"), text("mine"));
    ASSERT_TRUE((*opened)->close());
  }
  WorldOptions unknown = any;
  unknown.format = "no such format";
  const auto refused = World::open(path, unknown);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("no such format"), std::string::npos);
  EXPECT_TRUE(World::open_or_create(dir.file("other"), chosen));
}

TEST(WorldPromises, APinIsUnsupportedWhereTheFormatHasNone) {
  sim::SimDisk disk;
  Capabilities can = OneFileStore::everything();
  can.pins = false;
  auto opened = World::on(*OneFileStore::create(disk, "save", can));
  ASSERT_TRUE(opened);
  World& world = **opened;
  ASSERT_TRUE(world.put_global("label", text("mine")));
  ASSERT_TRUE(world.save().wait());
  const auto view = world.pin();
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code(), ErrorCode::unsupported);
  EXPECT_NE(view.error().message().find(can.format), std::string::npos) << view.error().message();
  EXPECT_EQ(**world.load_global("label"), text("mine")) << "nothing else suffers";
}

}  // namespace
}  // namespace varve::test
