#include "store/varve/frame_hints.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "store/varve/payload.h"
#include "varve/checksum.h"

namespace varve {
namespace {

const ByteView kKey = as_byte_view("chunk 1");

FrameHints::Hint hint_of(std::string_view payload, SpeedClass speed = SpeedClass::raw,
                         ByteView key = kKey) {
  ByteWriter frame;
  const auto encoder = PayloadEncoder::make({.speed = speed}).value();
  EXPECT_TRUE(encoder.encode(key, as_byte_view(payload), nullptr, frame));
  return FrameHints::hint_of(key, frame.view());
}

TEST(FrameHints, KnowWhatWasNoted) {
  FrameHints hints(true);
  EXPECT_FALSE(hints.is_other(hint_of("stone"))) << "nobody knows";
  hints.note(hint_of("stone"));
  EXPECT_FALSE(hints.is_other(hint_of("stone")));
  EXPECT_TRUE(hints.is_other(hint_of("earth")));
  hints.note(hint_of("earth"));
  EXPECT_TRUE(hints.is_other(hint_of("stone")));
}

// What is read is what a commit noted, or older.
TEST(FrameHints, WhatWasReadDoesNotReplaceWhatIsToBeStored) {
  FrameHints hints(true);
  hints.note_read(hint_of("stone"));
  EXPECT_TRUE(hints.is_other(hint_of("earth")));
  hints.note(hint_of("earth"));
  hints.note_read(hint_of("stone"));
  EXPECT_FALSE(hints.is_other(hint_of("earth")));
}

// Other settings make other frames of the same payload.
TEST(FrameHints, SayNothingOfFramesThatWereMadeInAnotherWay) {
  FrameHints hints(true);
  hints.note(hint_of("stone"));
  EXPECT_FALSE(hints.is_other(hint_of("earth", SpeedClass::fast)));
}

// The same set, which is the low bits of the key's hash, and other tags, which are the high ones.
std::vector<std::string> keys_beside(std::size_t count) {
  constexpr std::uint64_t kSetMask = (1 << 12) - 1;
  std::set<std::uint64_t> tags = {xxh3(kKey) >> 48};
  std::vector<std::string> keys;
  for (int i = 0; keys.size() < count; ++i) {
    const std::string key = "other " + std::to_string(i);
    const std::uint64_t hash = xxh3(as_byte_view(key));
    if ((hash & kSetMask) == (xxh3(kKey) & kSetMask) && tags.insert(hash >> 48).second)
      keys.push_back(key);
  }
  return keys;
}

TEST(FrameHints, RememberEightKeysThatBelongInOnePlace) {
  FrameHints hints(true);
  std::vector<std::string> keys = keys_beside(7);
  keys.emplace_back(as_text(kKey));
  for (const std::string& key : keys) {
    const ByteView view = as_byte_view(key);
    EXPECT_FALSE(hints.is_other(hint_of("earth", SpeedClass::raw, view))) << "nobody knows";
    hints.note(hint_of("stone", SpeedClass::raw, view));
  }
  for (const std::string& key : keys) {
    const ByteView view = as_byte_view(key);
    EXPECT_TRUE(hints.is_other(hint_of("earth", SpeedClass::raw, view))) << key;
    EXPECT_FALSE(hints.is_other(hint_of("stone", SpeedClass::raw, view))) << key;
  }
}

TEST(FrameHints, ForgetOneKeyForTheNinth) {
  for (const bool is_read : {false, true}) {
    FrameHints hints(true);
    std::vector<std::string> keys = keys_beside(9);
    for (const std::string& key : keys) {
      const FrameHints::Hint hint = hint_of("stone", SpeedClass::raw, as_byte_view(key));
      is_read ? hints.note_read(hint) : hints.note(hint);
    }
    std::vector<bool> known;
    for (const std::string& key : keys)
      known.push_back(hints.is_other(hint_of("earth", SpeedClass::raw, as_byte_view(key))));
    EXPECT_EQ(std::count(known.begin(), known.end(), true), 8);
    EXPECT_TRUE(known.back()) << "the newest stays";
  }
}

// A frame that is noted again takes no second place, wherever the first one is.
TEST(FrameHints, KeepOnePlaceForAKey) {
  for (std::size_t earlier_count = 0; earlier_count <= 7; ++earlier_count) {
    FrameHints hints(true);
    const std::vector<std::string> keys = keys_beside(7);
    const auto note = [&](std::size_t from, std::size_t to) {
      for (std::size_t i = from; i < to; ++i)
        hints.note(hint_of("stone", SpeedClass::raw, as_byte_view(keys[i])));
    };
    note(0, earlier_count);
    for (int i = 0; i < 20; ++i) {
      hints.note(hint_of("stone " + std::to_string(i)));
      hints.note_read(hint_of("stone"));
    }
    note(earlier_count, keys.size());
    EXPECT_FALSE(hints.is_other(hint_of("stone 19")));
    EXPECT_TRUE(hints.is_other(hint_of("stone")));
    for (const std::string& key : keys)
      EXPECT_TRUE(hints.is_other(hint_of("earth", SpeedClass::raw, as_byte_view(key)))) << key;
  }
}

TEST(FrameHints, ThatAreNotUsedKnowNothing) {
  FrameHints hints(false);
  hints.note(hint_of("stone"));
  EXPECT_FALSE(hints.is_other(hint_of("earth")));
}

// What is too short to be a frame is not remembered, and what was is not true any more.
TEST(FrameHints, ForgetAFrameThatIsNone) {
  FrameHints hints(true);
  hints.note(hint_of("stone"));
  hints.note(FrameHints::hint_of(kKey, as_byte_view("no frame")));
  EXPECT_FALSE(hints.is_other(hint_of("earth")));
}

}  // namespace
}  // namespace varve
