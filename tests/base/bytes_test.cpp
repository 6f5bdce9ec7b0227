#include "varve/bytes.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

namespace varve {
namespace {

TEST(Bytes, EmptyIsAValue) {
  const Bytes empty;
  EXPECT_TRUE(empty.empty());
  EXPECT_EQ(empty, Bytes::copy_of(""));
  EXPECT_EQ(empty.owner_count(), 0);
}

TEST(Bytes, CopyOfIsIndependentOfItsSource) {
  char source[] = "sediment";
  const Bytes copy = Bytes::copy_of(std::string_view(source, 8));
  source[0] = 'X';
  EXPECT_EQ(copy.text(), "sediment");
}

TEST(Bytes, CopiesAndSlicesShareOneBlock) {
  const Bytes whole = Bytes::copy_of("sediment");
  const Bytes copy = whole;
  const Bytes middle = whole.slice(2, 3);
  EXPECT_EQ(copy.data(), whole.data());
  EXPECT_EQ(middle.data(), whole.data() + 2);
  EXPECT_EQ(middle.text(), "dim");
  EXPECT_EQ(whole.owner_count(), 3);
}

TEST(Bytes, MovedFromIsEmptyAndUsable) {
  Bytes whole = Bytes::copy_of("sediment");
  Bytes taken = std::move(whole);
  EXPECT_EQ(taken.text(), "sediment");
  EXPECT_EQ(taken.owner_count(), 1);
  EXPECT_TRUE(whole.empty());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(whole, Bytes());
  whole = std::move(taken);
  EXPECT_EQ(whole.text(), "sediment");
  EXPECT_TRUE(taken.empty());  // NOLINT(bugprone-use-after-move)
  Bytes& same = whole;
  whole = std::move(same);
  EXPECT_EQ(whole.text(), "sediment");
}

TEST(Bytes, SliceIsClampedToWhatIsThere) {
  const Bytes whole = Bytes::copy_of("varve");
  EXPECT_EQ(whole.slice(3).text(), "ve");
  EXPECT_EQ(whole.slice(3, 99).text(), "ve");
  EXPECT_TRUE(whole.slice(5, 1).empty());
  EXPECT_TRUE(whole.slice(99, 99).empty());
  EXPECT_EQ(whole.slice(1, std::size_t(-1)).text(), "arve");
}

TEST(Bytes, SlicePinsItsOwnerUntilTheLastOneGoes) {
  bool released = false;
  static const char kMapped[] = "mapped file";
  std::shared_ptr<const void> owner(kMapped, [&](const void*) { released = true; });
  Bytes slice;
  {
    const Bytes whole =
        Bytes::pinning(std::move(owner), as_byte_view(std::string_view(kMapped, 11)));
    slice = whole.slice(7);
  }
  EXPECT_FALSE(released);
  EXPECT_EQ(slice.text(), "file");
  slice = {};
  EXPECT_TRUE(released);
}

TEST(Bytes, CloneIsWrittenWithoutTouchingTheShared) {
  const Bytes shared = Bytes::copy_of("layer");
  Buffer own = shared.clone();
  own.data()[0] = std::byte{'p'};
  EXPECT_EQ(shared.text(), "layer");
  EXPECT_EQ(std::move(own).freeze().text(), "payer");
}

TEST(Bytes, ComparesContents) {
  EXPECT_EQ(Bytes::copy_of("a"), Bytes::copy_of("a"));
  EXPECT_NE(Bytes::copy_of("a"), Bytes::copy_of("b"));
  EXPECT_NE(Bytes::copy_of("a"), Bytes::copy_of("aa"));
}

TEST(Buffer, FreezeHandsOverTheBlockWithoutCopying) {
  Buffer buffer(4);
  const std::byte* block = buffer.data();
  std::memcpy(buffer.data(), "tick", 4);
  const Bytes frozen = std::move(buffer).freeze();
  EXPECT_EQ(frozen.data(), block);
  EXPECT_EQ(frozen.text(), "tick");
}

TEST(Buffer, GrowingKeepsTheContentsAndShrinkingTheBlock) {
  Buffer buffer(3);
  std::memcpy(buffer.data(), "abc", 3);
  buffer.resize(1000);
  EXPECT_EQ(as_text(buffer.view().first(3)), "abc");
  const std::byte* block = buffer.data();
  buffer.resize(2);
  EXPECT_EQ(buffer.data(), block);
  EXPECT_EQ(as_text(buffer.view()), "ab");
  EXPECT_EQ(buffer.capacity(), 1000u);
}

TEST(Buffer, MovedFromIsEmptyAndUsable) {
  Buffer a(5);
  const Buffer b = std::move(a);
  EXPECT_EQ(b.size(), 5u);
  EXPECT_EQ(a.size(), 0u);  // NOLINT(bugprone-use-after-move): that is the point.
  EXPECT_EQ(a.capacity(), 0u);
  a.resize(2);
  EXPECT_EQ(a.size(), 2u);
}

// Run under the thread sanitizer: the count is the only thing shared.
TEST(Bytes, IsCopiedAndDroppedFromSeveralThreads) {
  const Bytes shared = Bytes::copy_of("shared between threads");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&shared] {
      for (int n = 0; n < 1000; ++n) {
        const Bytes mine = shared.slice(static_cast<std::size_t>(n % 7));
        ASSERT_FALSE(mine.empty());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(shared.owner_count(), 1);
}

}  // namespace
}  // namespace varve
