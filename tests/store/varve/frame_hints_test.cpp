#include "store/varve/frame_hints.h"

#include <gtest/gtest.h>

#include <string>

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

TEST(FrameHints, SayNothingOfAKeyThatCameIntoTheSamePlace) {
  FrameHints hints(true);
  hints.note(hint_of("stone"));
  // Slots are the low bits of the key's hash; one of these has the same and another tag.
  constexpr std::uint64_t kSlotMask = (1 << 15) - 1;
  std::string other;
  for (int i = 0;; ++i) {
    other = "other " + std::to_string(i);
    if ((xxh3(as_byte_view(other)) & kSlotMask) == (xxh3(kKey) & kSlotMask)) break;
  }
  const ByteView key = as_byte_view(other);
  EXPECT_FALSE(hints.is_other(hint_of("earth", SpeedClass::raw, key)));
  hints.note(hint_of("earth", SpeedClass::raw, key));
  EXPECT_FALSE(hints.is_other(hint_of("earth"))) << "the first one is forgotten";
}

TEST(FrameHints, ThatAreNotUsedKnowNothing) {
  FrameHints hints(false);
  hints.note(hint_of("stone"));
  EXPECT_FALSE(hints.is_other(hint_of("earth")));
}

// What is too short to be a frame is not remembered, and takes the place of what was.
TEST(FrameHints, ForgetAFrameThatIsNone) {
  FrameHints hints(true);
  hints.note(hint_of("stone"));
  hints.note(FrameHints::hint_of(kKey, as_byte_view("no frame")));
  EXPECT_FALSE(hints.is_other(hint_of("earth")));
}

}  // namespace
}  // namespace varve
