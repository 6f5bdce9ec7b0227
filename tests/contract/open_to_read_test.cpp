// Opening a save to look at it.
#include "contract/store_contract.h"

namespace varve::test {
namespace {

TEST_P(StoreContract, ASaveThatIsOpenedToReadShowsTheNewestGeneration) {
  must({.tick = 3, .chunks = {chunk(at(1), "one"), chunk(at(2), "two")}});
  must({.tick = 4, .chunks = {chunk(at(1), "newer"), {at(2)}}});
  const Contents before = contents_of(store());
  close();
  for (int i = 0; i < 2; ++i) {
    const auto seen = format().open_to_read(path());
    ASSERT_TRUE(seen) << seen.error().message();
    EXPECT_EQ(contents_of(**seen), before);
    EXPECT_TRUE((*seen)->close());
  }
  EXPECT_EQ(contents_of(*open(path())), before);
}

// A format that cannot look beside a writer says that there is one; one that can sees what
// was committed and changes nothing.
TEST_P(StoreContract, OpeningToReadBesideAWriterIsBusyOrHarmless) {
  must({.tick = 3, .chunks = {chunk(at(1), "one")}});
  const Contents before = contents_of(store());
  const auto seen = format().open_to_read(path());
  if (!seen) {
    EXPECT_EQ(seen.error().code(), ErrorCode::busy) << seen.error().message();
    return;
  }
  EXPECT_EQ(contents_of(**seen), before);
  Progress progress;
  const auto refused = (*seen)->commit({.tick = 9, .chunks = {chunk(at(1), "x")}}, progress);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::unsupported) << refused.error().message();
  EXPECT_EQ((*seen)->compact(progress).error().code(), ErrorCode::unsupported);
  EXPECT_EQ((*seen)->quarantine(at(1)).error().code(), ErrorCode::unsupported);
  EXPECT_TRUE((*seen)->verify(progress)->clean());
  // What the writer does next is an error there or the old bytes, never the new ones.
  must({.tick = 5, .chunks = {chunk(at(1), "two"), chunk(at(2), "new")}});
  const auto old = (*seen)->read_chunk(at(1));
  if (old) {
    EXPECT_EQ(*old, payload(RecordKind::chunk, "one"));
  } else {
    EXPECT_EQ(old.error().code(), ErrorCode::busy) << old.error().message();
  }
  EXPECT_EQ((*seen)->read_chunk(at(2)).value(), std::nullopt);
  EXPECT_EQ((*seen)->tick(), 3u);
  EXPECT_EQ(format().open_to_read(path()).value()->tick(), 5u);
  EXPECT_TRUE((*seen)->close());
  EXPECT_EQ(store().read_chunk(at(1)).value(), payload(RecordKind::chunk, "two"));
}

TEST_P(StoreContract, OpeningNothingToReadIsNotFoundAndLeavesNothing) {
  const std::string nothing = subject().fresh_path();
  const auto seen = format().open_to_read(nothing);
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().code(), ErrorCode::not_found);
  EXPECT_TRUE(format().create(nothing));
}

}  // namespace
}  // namespace varve::test
