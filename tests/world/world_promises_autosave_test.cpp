// What the headers promise about autosave that is changed while it runs.
#include <gtest/gtest.h>

#include <string>

#include "world/stream_watch.h"

namespace varve::test {
namespace {

constexpr ChunkPos kHere(1, 2);

TEST(WorldPromises, AutosaveIsSwitchedOnAndOffWhileRunning) {
  FlatWorld flat({.autosave = AutosaveConfig{.enabled = false, .interval_s = 10}});
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  flat.world->update(1000);
  EXPECT_EQ(flat.world->telemetry().save_start_us.count(), 0U);
  ASSERT_TRUE(flat.world->set_autosave({.enabled = true, .interval_s = 10}));
  flat.world->update(10);
  EXPECT_EQ(flat.world->telemetry().save_start_us.count(), 1U);
  flat.update_until([&] { return !flat.world->is_saving(); });
  EXPECT_EQ(flat.stored_at(kHere, 0), 1);
  ASSERT_TRUE(flat.set(kHere, 0, 2));
  ASSERT_TRUE(flat.world->set_autosave({.enabled = false, .interval_s = 10}));
  EXPECT_FALSE(flat.world->autosave().enabled);
  flat.world->update(1000);
  EXPECT_EQ(flat.world->telemetry().save_start_us.count(), 1U);
  EXPECT_EQ(flat.control.commit_count, 1U);
  EXPECT_EQ(flat.world->state(kHere), ChunkState::dirty);
}

TEST(WorldPromises, TheNumberOfBackupsIsChangedWhileRunning) {
  FlatWorld flat({.autosave = AutosaveConfig{.max_backups = 1}});
  const auto save = [&](std::string_view label) {
    ASSERT_TRUE(flat.world->put_global("label", text(label)));
    ASSERT_TRUE(flat.world->save().wait());
  };
  const auto label_of = [&](const std::string& suffix) -> std::string {
    auto opened = World::open(flat.path + suffix);
    if (!opened) return std::string(to_string(opened.error().code()));
    return std::string((**(*opened)->load_global("label")).text());
  };
  const std::string none(to_string(ErrorCode::not_found));
  save("a");
  save("b");
  EXPECT_EQ(label_of(".backup"), "a");
  ASSERT_TRUE(flat.world->set_autosave({.max_backups = 0}));
  EXPECT_EQ(label_of(".backup"), "a") << "nothing goes before the next save";
  save("c");
  EXPECT_EQ(label_of(".backup"), none);
  ASSERT_TRUE(flat.world->set_autosave({.max_backups = 2}));
  save("d");
  EXPECT_EQ(label_of(".backup"), "c");
  save("e");
  save("f");
  EXPECT_EQ(label_of(".backup"), "e");
  EXPECT_EQ(label_of(".backup.2"), "d");
  EXPECT_EQ(label_of(".backup.3"), none);
}

TEST(WorldPromises, TheTimeToTheNextTryIsChangedWhileRunning) {
  FlatWorld flat({.autosave = AutosaveConfig{.interval_s = 100, .retry_s = 50}});
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  flat.control.before_commit([](const Commit&) { return Status(io_error("it failed")); });
  flat.world->update(100);
  flat.update_until([&] { return !flat.world->is_saving(); });
  flat.world->update(10);
  EXPECT_EQ(flat.world->telemetry().save_start_us.count(), 1U);
  // Sooner: the ten seconds that have passed are enough now.
  ASSERT_TRUE(flat.world->set_autosave({.interval_s = 100, .retry_s = 10}));
  flat.world->update(0);
  EXPECT_EQ(flat.world->telemetry().save_start_us.count(), 2U);
  flat.update_until([&] { return !flat.world->is_saving(); });
  EXPECT_EQ(flat.control.commit_count, 2U);
  // Later: after the second failure it is twice 40, not twice 10.
  ASSERT_TRUE(flat.world->set_autosave({.interval_s = 100, .retry_s = 40}));
  flat.world->update(79);
  EXPECT_EQ(flat.world->telemetry().save_start_us.count(), 2U);
  flat.control.before_commit({});
  flat.world->update(1);
  EXPECT_EQ(flat.world->telemetry().save_start_us.count(), 3U);
  flat.update_until([&] { return !flat.world->is_saving(); });
  EXPECT_EQ(flat.stored_at(kHere, 0), 1);
  EXPECT_EQ(flat.control.commit_count, 3U);
}

}  // namespace
}  // namespace varve::test
