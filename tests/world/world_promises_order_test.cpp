// What the headers promise about the order of commits, and what is in each.
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "world/stream_watch.h"

namespace varve::test {
namespace {

constexpr ChunkPos kHere(1, 2);
constexpr ChunkPos kThere(3, 4);

struct SeenCommit {
  std::uint64_t tick = 0;
  std::map<std::string, int> chunks = {};
  std::map<std::string, std::string> players = {};
  std::map<std::string, std::string> globals = {};
  std::optional<std::uint32_t> backup_count = {};
};

SeenCommit seen(const Commit& commit) {
  SeenCommit seen{.tick = commit.tick, .backup_count = commit.backup_count};
  for (const ChunkChange& change : commit.chunks)
    seen.chunks[to_string(change.pos)] =
        change.payload ? static_cast<int>(change.payload->view()[0]) : -1;
  for (const NamedChange& change : commit.players)
    seen.players[change.name] = change.data ? std::string(change.data->text()) : "erased";
  for (const NamedChange& change : commit.globals)
    seen.globals[change.name] = change.data ? std::string(change.data->text()) : "erased";
  return seen;
}

TEST(WorldPromises, CommitsComeInTheOrderTheyWereAskedFor) {
  using Chunks = std::map<std::string, int>;
  using Named = std::map<std::string, std::string>;
  Gate gate;
  std::mutex mutex;
  std::vector<SeenCommit> commits;
  std::vector<std::uint64_t> generations;
  FlatWorld flat;
  GateOpener opener(gate);
  flat.control.before_commit([&](const Commit& commit) {
    {
      const std::lock_guard lock(mutex);
      commits.push_back(seen(commit));
    }
    gate.pass();
    return Status();
  });
  flat.control.after_commit([&](const Result<CommitStats>& stats) {
    const std::lock_guard lock(mutex);
    generations.push_back(stats ? stats->generation : 0);
  });
  ASSERT_EQ(flat.at(kHere, 0), 7);
  ASSERT_EQ(flat.at(kThere, 0), 7);
  ASSERT_TRUE(flat.set(kHere, 0, 1));
  ASSERT_TRUE(flat.set(kThere, 0, 1));
  ASSERT_TRUE(flat.world->put_player("anna", text("1")));
  ASSERT_TRUE(flat.world->put_global("label", text("1")));
  flat.world->tick();
  SaveHandle first = flat.world->save();
  gate.wait_for_arrivals(1);
  // The store stands still, and everything changes again.
  flat.world->tick();
  ASSERT_TRUE(flat.set(kHere, 0, 2));
  ASSERT_TRUE(flat.set(kThere, 0, 2));
  ASSERT_TRUE(flat.world->put_player("anna", text("2")));
  ASSERT_TRUE(flat.world->put_global("label", text("2")));
  SaveHandle left = flat.world->player_left("anna");
  flat.world->evict(kThere);
  flat.world->update(0);
  SaveHandle second = flat.world->save();
  ASSERT_TRUE(flat.set(kHere, 0, 3));
  EXPECT_EQ(flat.control.commit_count, 1U) << "one at a time";
  gate.open();
  ASSERT_TRUE(second.wait());
  EXPECT_TRUE(first.is_stored());
  EXPECT_TRUE(left.is_stored());
  flat.world->update(0);
  EXPECT_EQ(flat.world->state(kThere), ChunkState::absent);

  const std::lock_guard lock(mutex);
  ASSERT_EQ(commits.size(), 4U);
  EXPECT_EQ(commits[0].chunks, (Chunks{{to_string(kHere), 1}, {to_string(kThere), 1}}));
  EXPECT_EQ(commits[0].players, (Named{{"anna", "1"}}));
  EXPECT_EQ(commits[0].globals, (Named{{"label", "1"}}));
  // Parts of the world bring what they are about and nothing else.
  EXPECT_EQ(commits[1].chunks, Chunks());
  EXPECT_EQ(commits[1].players, (Named{{"anna", "2"}}));
  EXPECT_EQ(commits[1].globals, Named());
  EXPECT_EQ(commits[2].chunks, (Chunks{{to_string(kThere), 2}}));
  EXPECT_EQ(commits[2].players, Named());
  EXPECT_EQ(commits[2].globals, Named());
  // The rest, and nothing again that went before it.
  EXPECT_EQ(commits[3].chunks, (Chunks{{to_string(kHere), 3}}));
  EXPECT_EQ(commits[3].players, Named());
  EXPECT_EQ(commits[3].globals, (Named{{"label", "2"}}));
  // Only a save of everything moves the tick, or a backup.
  for (const auto& [index, tick] : {std::pair(0, 1U), {1, 1U}, {2, 1U}, {3, 2U}})
    EXPECT_EQ(commits[static_cast<std::size_t>(index)].tick, tick) << index;
  EXPECT_TRUE(commits[0].backup_count);
  EXPECT_FALSE(commits[1].backup_count);
  EXPECT_FALSE(commits[2].backup_count);
  EXPECT_TRUE(commits[3].backup_count);
  EXPECT_EQ(generations, (std::vector<std::uint64_t>{1, 2, 3, 4}));
  EXPECT_EQ(first.wait()->generation, 1U);
  EXPECT_EQ(left.wait()->generation, 2U);
  EXPECT_EQ(second.wait()->generation, 4U);
  EXPECT_EQ(flat.stored_at(kHere, 0), 3);
  EXPECT_EQ(flat.stored_at(kThere, 0), 2);
  EXPECT_EQ(**flat.world->store().read_player("anna"), text("2"));
}

}  // namespace
}  // namespace varve::test
