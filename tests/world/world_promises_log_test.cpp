// What the headers promise about the log.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "support/scratch_dir.h"
#include "world/sample_world.h"

namespace varve::test {
namespace {

constexpr ChunkPos kHere(1, 2);
constexpr ChunkPos kThere(3, 4);

class Log {
 public:
  LogCallback callback() {
    return [this](const LogEvent& event) {
      const std::lock_guard lock(mutex_);
      events_.push_back(event);
    };
  }
  std::vector<LogEvent> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(events_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<LogEvent> events_;
};

std::string field(const LogEvent& event, std::string_view name) {
  for (const auto& [key, value] : event.fields)
    if (key == name) return value;
  return "no such field";
}

// A save that works, one that fails, and loads that fail, blocking and in the background.
void live_through_good_and_bad(FlatWorld& flat, const std::function<void(std::string_view)>& then) {
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  ASSERT_TRUE(flat.world->save().wait());
  flat.world->update(0);
  then("saved");
  ASSERT_TRUE(flat.set(kHere, 0, 2));
  flat.control.before_commit([](const Commit&) { return Status(out_of_space("no room")); });
  ASSERT_FALSE(flat.world->save().wait());
  flat.world->update(0);
  then("not saved");
  flat.control.before_commit({});
  flat.control.before_read_chunk([](const ChunkPos&) { return Status(corruption("it is torn")); });
  ASSERT_FALSE(flat.world->load_now(kThere));
  then("not loaded");
  ASSERT_TRUE(flat.world->request({5, 6}));
  flat.update_until([](const UpdateReport& report) { return !report.failed.empty(); });
  then("not loaded in the background");
}

TEST(WorldPromises, TheLogTellsWhatOpeningTheSaveFound) {
  const ScratchDir dir;
  const std::string path = dir.file("world");
  ASSERT_TRUE(World::create(path, {.format = "nebula"}).value()->close());
  {
    std::fstream catalog(path + "/varve/catalog", std::ios::in | std::ios::out | std::ios::binary);
    catalog.seekp(40);
    catalog << "!";
    ASSERT_TRUE(catalog.good());
  }
  Log log;
  const auto world = World::open(path, {.log = log.callback()});
  ASSERT_TRUE(world) << world.error().message();
  const std::vector<LogEvent> events = log.take();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].level, LogLevel::error);
  EXPECT_EQ(field(events[0], "key"), path + "/varve/catalog");
  EXPECT_NE(field(events[0], "error").find("damaged"), std::string::npos);
  EXPECT_TRUE((*world)->close());
}

TEST(WorldPromises, TheLogTellsWhatWasSavedAndWhatFailed) {
  Log log;
  FlatWorld flat({.log = log.callback()});
  std::map<std::string_view, std::vector<LogEvent>> logged;
  ASSERT_NO_FATAL_FAILURE(live_through_good_and_bad(
      flat, [&](std::string_view chapter) { logged[chapter] = log.take(); }));
  ASSERT_EQ(logged.size(), 4U);
  for (const auto& [chapter, events] : logged) {
    ASSERT_EQ(events.size(), 1U) << chapter;
    EXPECT_FALSE(events[0].message.empty()) << chapter;
  }
  const LogEvent& saved = logged["saved"][0];
  EXPECT_EQ(saved.level, LogLevel::info);
  EXPECT_EQ(field(saved, "generation"), std::to_string(flat.world->store().generation()));
  EXPECT_EQ(field(saved, "chunks"), "1");
  const LogEvent& not_saved = logged["not saved"][0];
  EXPECT_EQ(not_saved.level, LogLevel::error);
  EXPECT_EQ(field(not_saved, "code"), to_string(ErrorCode::out_of_space));
  EXPECT_EQ(field(not_saved, "error"), "no room");
  for (const auto& [chapter, where] : {std::pair("not loaded", kThere),
                                       std::pair("not loaded in the background", ChunkPos(5, 6))}) {
    const LogEvent& not_loaded = logged[chapter][0];
    EXPECT_EQ(not_loaded.level, LogLevel::error) << chapter;
    EXPECT_EQ(field(not_loaded, "code"), to_string(ErrorCode::corruption)) << chapter;
    EXPECT_NE(not_loaded.message.find(to_string(where)), std::string::npos) << not_loaded.message;
  }
}

TEST(WorldPromises, WithoutALogEverythingHappensInSilence) {
  FlatWorld flat;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  int chapter_count = 0;
  live_through_good_and_bad(flat, [&](std::string_view) { ++chapter_count; });
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(chapter_count, 4);
  EXPECT_EQ(flat.world->telemetry().save_failure_count, 1U);
  EXPECT_EQ(flat.world->telemetry().load_failure_count, 2U);
}

}  // namespace
}  // namespace varve::test
