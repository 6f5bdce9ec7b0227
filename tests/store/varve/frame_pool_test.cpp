#include "store/varve/frame_pool.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace varve {
namespace {

Bytes frame_of(FramePool& pool, std::string_view text) {
  ByteWriter frame = pool.take();
  EXPECT_EQ(frame.size(), 0u);
  frame.text(text);
  return pool.share(std::move(frame), text.size());
}

TEST(FramePool, MemoryIsUsedAgainOnceNobodyHoldsIt) {
  FramePool pool(true);
  const std::byte* first = nullptr;
  {
    const Bytes frame = frame_of(pool, "a chunk");
    const Bytes part = frame.slice(2);
    first = frame.data();
    EXPECT_EQ(frame.text(), "a chunk");
    EXPECT_NE(frame_of(pool, "another").data(), first);
    EXPECT_EQ(part.text(), "chunk") << "what is held stays as it is";
  }
  const Bytes again = frame_of(pool, "later");
  EXPECT_EQ(again.data(), first);
  EXPECT_EQ(again.text(), "later");
}

// The memory of a frame that the next one gets, or null if it gets none: what is taken first.
const std::byte* kept_by(FramePool& pool) { return pool.take().view().data(); }

TEST(FramePool, KeepsNeitherLargeFramesNorMany) {
  FramePool pool(true);
  // Small itself, of a payload that took much memory on the way.
  ByteWriter large = pool.take();
  large.text("small");
  EXPECT_EQ(pool.share(std::move(large), 1 << 20).text(), "small");
  EXPECT_EQ(kept_by(pool), nullptr);
  large = pool.take();
  large.text("small");
  pool.give_back(std::move(large), 1 << 20);
  EXPECT_EQ(kept_by(pool), nullptr);
  {
    std::vector<Bytes> many;
    for (int i = 0; i < 100; ++i) many.push_back(frame_of(pool, "one of many"));
  }
  int kept_count = 0;
  while (kept_by(pool) != nullptr) ++kept_count;
  EXPECT_GT(kept_count, 0);
  EXPECT_LT(kept_count, 100);
}

TEST(FramePool, OneThatIsNotUsedHandsOutMemoryForGood) {
  FramePool pool(false);
  {
    const Bytes frame = frame_of(pool, "kept by a backend in memory");
  }
  EXPECT_EQ(kept_by(pool), nullptr);
}

TEST(FramePool, FramesOutliveItAndComeBackFromAnyThread) {
  Bytes last;
  {
    FramePool pool(true);
    for (int i = 0; i < 100; ++i) {
      std::thread other([frame = frame_of(pool, std::to_string(i)), i] {
        EXPECT_EQ(frame.text(), std::to_string(i));
      });
      EXPECT_EQ(frame_of(pool, "here").text(), "here");
      other.join();
    }
    last = frame_of(pool, "the last one");
  }
  EXPECT_EQ(last.text(), "the last one");
}

}  // namespace
}  // namespace varve
