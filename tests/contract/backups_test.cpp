// Older generations: held by a pin, kept as a backup.
#include "contract/store_contract.h"

namespace varve::test {
namespace {

TEST_P(StoreContract, APinStaysAsItWas) {
  must({.tick = 1, .chunks = {chunk(at(1), "one"), chunk(at(2), "two")}});
  auto pin = store().pin();
  if (!can().pins) {
    ASSERT_FALSE(pin);
    EXPECT_EQ(pin.error().code(), ErrorCode::unsupported);
    return;
  }
  const Contents then = contents_of(store());
  must({.tick = 2, .chunks = {chunk(at(1), "changed"), {at(2)}, chunk(at(3), "new")}});
  auto later = store().pin();
  const Contents between = contents_of(store());
  for (std::uint64_t i = 3; i < 20; ++i) {
    must({.tick = i, .chunks = {chunk(at(static_cast<int>(i)), "x"), {at(1)}}});
  }
  Progress progress;
  ASSERT_TRUE(store().compact(progress));
  EXPECT_EQ(contents_of(**pin), then);
  EXPECT_EQ(contents_of(**later), between);
  pin->reset();
  must({.tick = 20, .chunks = {chunk(at(1), "again")}});
  EXPECT_EQ(contents_of(**later), between);
  later->reset();
}

constexpr std::uint32_t kKept = 3;

TEST_P(StoreContract, BackupsAreKeptAndOpenByThemselves) {
  if (!applies(can().backups, {.tick = 1, .backup_count = 1})) return;
  std::vector<Contents> generations;
  for (std::uint64_t i = 1; i <= 6; ++i) {
    Commit commit{.tick = i, .chunks = {chunk(at(1), std::to_string(i))}, .backup_count = kKept};
    if (can().players) commit.players = {player("ann", std::to_string(i))};
    must(commit);
    generations.push_back(contents_of(store()));
  }
  for (std::uint32_t number = 1; number <= kKept; ++number) {
    const auto backup = open(subject().backup_path(path(), number));
    ASSERT_NE(backup, nullptr);
    EXPECT_EQ(contents_of(*backup), generations[5 - number]) << "backup " << number;
    EXPECT_TRUE(backup->close());
  }
  const auto none = format().open(subject().backup_path(path(), kKept + 1));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::not_found);
  EXPECT_EQ(contents_of(store()), generations.back());
}

TEST_P(StoreContract, BackupsStayWithoutACountAndGoWithZero) {
  if (!applies(can().backups, {.tick = 1, .backup_count = 1})) return;
  for (std::uint64_t i = 1; i <= 4; ++i) must({.tick = i, .backup_count = 2});
  must({.tick = 5});
  // No generation, so no backup either.
  must({.tick = 5, .backup_count = 2});
  EXPECT_EQ(open(subject().backup_path(path(), 1))->tick(), 3u);
  EXPECT_EQ(open(subject().backup_path(path(), 2))->tick(), 2u);
  must({.tick = 6, .backup_count = 1});
  EXPECT_EQ(open(subject().backup_path(path(), 1))->tick(), 5u);
  EXPECT_EQ(format().open(subject().backup_path(path(), 2)).error().code(), ErrorCode::not_found);
  must({.tick = 7, .backup_count = 0});
  EXPECT_EQ(format().open(subject().backup_path(path(), 1)).error().code(), ErrorCode::not_found);
  reopen();
  EXPECT_EQ(store().tick(), 7u);
}

TEST_P(StoreContract, ABackupIsASaveThatCanBeWritten) {
  if (!applies(can().backups, {.tick = 1, .backup_count = 1})) return;
  must({.tick = 1, .chunks = {chunk(at(1), "old")}});
  must({.tick = 2, .chunks = {chunk(at(1), "new")}, .backup_count = 1});
  const std::string where = subject().backup_path(path(), 1);
  {
    const auto backup = open(where);
    ASSERT_NE(backup, nullptr);
    ASSERT_TRUE(commit_to(*backup, {.chunks = {chunk(at(1), "changed")}}));
    ASSERT_TRUE(backup->close());
  }
  EXPECT_EQ(open(where)->read_chunk(at(1)).value(), payload(RecordKind::chunk, "changed"));
  EXPECT_EQ(store().read_chunk(at(1)).value(), payload(RecordKind::chunk, "new"));
}

}  // namespace
}  // namespace varve::test
