#include "store/varve/frame_hints.h"

#include <gtest/gtest.h>

#include <string>

#include "store/varve/payload.h"
#include "varve/checksum.h"

namespace varve {
namespace {

const ByteView kKey = as_byte_view("chunk 1");

Bytes frame_of(std::string_view payload, SpeedClass speed = SpeedClass::raw, ByteView key = kKey) {
  ByteWriter out;
  const auto encoder = PayloadEncoder::make({.speed = speed}).value();
  EXPECT_TRUE(encoder.encode(key, as_byte_view(payload), nullptr, out));
  return out.take();
}

TEST(FrameHints, KnowWhatWasNoted) {
  FrameHints hints(true);
  EXPECT_FALSE(hints.is_other(kKey, frame_of("stone"))) << "nobody knows";
  hints.note(kKey, frame_of("stone"));
  EXPECT_FALSE(hints.is_other(kKey, frame_of("stone")));
  EXPECT_TRUE(hints.is_other(kKey, frame_of("earth")));
  hints.note(kKey, frame_of("earth"));
  EXPECT_TRUE(hints.is_other(kKey, frame_of("stone")));
}

// What is read is what a commit noted, or older.
TEST(FrameHints, WhatWasReadDoesNotReplaceWhatIsToBeStored) {
  FrameHints hints(true);
  hints.note_read(kKey, frame_of("stone"));
  EXPECT_TRUE(hints.is_other(kKey, frame_of("earth")));
  hints.note(kKey, frame_of("earth"));
  hints.note_read(kKey, frame_of("stone"));
  EXPECT_FALSE(hints.is_other(kKey, frame_of("earth")));
}

// Other settings make other frames of the same payload.
TEST(FrameHints, SayNothingOfFramesThatWereMadeInAnotherWay) {
  FrameHints hints(true);
  hints.note(kKey, frame_of("stone"));
  EXPECT_FALSE(hints.is_other(kKey, frame_of("earth", SpeedClass::fast)));
}

TEST(FrameHints, SayNothingOfAKeyThatCameIntoTheSamePlace) {
  FrameHints hints(true);
  hints.note(kKey, frame_of("stone"));
  // Slots are the low bits of the key's hash; one of these has the same and another tag.
  constexpr std::uint64_t kSlotMask = (1 << 15) - 1;
  std::string other;
  for (int i = 0;; ++i) {
    other = "other " + std::to_string(i);
    if ((xxh3(as_byte_view(other)) & kSlotMask) == (xxh3(kKey) & kSlotMask)) break;
  }
  const ByteView key = as_byte_view(other);
  EXPECT_FALSE(hints.is_other(key, frame_of("earth", SpeedClass::raw, key)));
  hints.note(key, frame_of("earth", SpeedClass::raw, key));
  EXPECT_FALSE(hints.is_other(kKey, frame_of("earth"))) << "the first one is forgotten";
}

TEST(FrameHints, ThatAreNotUsedKnowNothing) {
  FrameHints hints(false);
  hints.note(kKey, frame_of("stone"));
  EXPECT_FALSE(hints.is_other(kKey, frame_of("earth")));
}

// A frame that cannot be read is not remembered, and takes the place of what was.
TEST(FrameHints, ForgetAFrameThatIsNone) {
  FrameHints hints(true);
  hints.note(kKey, frame_of("stone"));
  hints.note(kKey, as_byte_view("no frame"));
  EXPECT_FALSE(hints.is_other(kKey, frame_of("earth")));
}

}  // namespace
}  // namespace varve
