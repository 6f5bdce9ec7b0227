#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "codec/damage.h"
#include "store/nebula/sample_scene.h"
#include "support/allocation_watch.h"
#include "support/bytes_text.h"

namespace varve::nebula {
namespace {

using varve::test::hex;
using varve::test::to_hex;

// The worked example of docs/formats/nebula_v1.md: the pilot of the example scene.
constexpr std::string_view kPilot = "00 01 06 4865616c7468 01 02 50ff 02 05 09 00";

EntityRecord pilot() { return {.components = {{"Health", hex("50ff")}}, .parents = {5, 9}}; }

void expect_corruption(std::string_view digits, std::string_view why) {
  const auto record = decode_entity(hex(digits));
  ASSERT_FALSE(record.ok()) << digits;
  EXPECT_EQ(record.error().code(), ErrorCode::corruption);
  EXPECT_NE(record.error().message().find(why), std::string::npos) << record.error().message();
}

TEST(EntityRecord, TheWorkedExample) {
  EXPECT_EQ(to_hex(*encode_entity(pilot())), to_hex(hex(kPilot)));
  EXPECT_EQ(*decode_entity(hex(kPilot)), pilot());
  EXPECT_EQ(to_hex(*encode_entity({})), "00000000");
  EXPECT_EQ(*decode_entity(hex("00000000")), EntityRecord());
}

TEST(EntityRecord, EveryTruncationIsCorruption) {
  varve::test::for_every_prefix(hex(kPilot), [](const Bytes& cut) {
    EXPECT_EQ(decode_entity(cut).error().code(), ErrorCode::corruption);
  });
}

TEST(EntityRecord, EveryBitFlipIsRefusedOrWrittenAsItIs) {
  varve::test::for_every_bit_flip(hex(kPilot), [](const Bytes& flipped) {
    const auto record = decode_entity(flipped);
    if (record) {
      EXPECT_EQ(*encode_entity(*record), flipped);
    }
  });
}

TEST(EntityRecord, HasOneSpelling) {
  expect_corruption("00 00 02 05 05 00", "the parents do not rise");
  expect_corruption("00 00 02 09 05 00", "the parents do not rise");
  expect_corruption("00 00 01 8500 00", "longer than it has to be");
  expect_corruption("00 8000 00 00", "longer than it has to be");
  expect_corruption("00 01 00 8000 00 00 00", "longer than it has to be");
  expect_corruption("00 00 00 00 00", "unexpected bytes");
  expect_corruption("", "short read");
}

TEST(EntityRecord, SomeNamesOfComponentsAreReserved) {
  for (const char* name : {"varve.parents", "varve.owner"}) {
    const auto bytes = encode_entity({.components = {{"a", ""}, {name, ""}}});
    ASSERT_FALSE(bytes.ok());
    EXPECT_EQ(bytes.error().code(), ErrorCode::invalid_argument);
    EXPECT_NE(bytes.error().message().find("reserved"), std::string::npos);
  }
  expect_corruption("00 01 0b 76617276652e6f776e6572 00 00 00 00", "reserved");
  expect_corruption("00 01 0d 76617276652e706172656e7473 01 00 00 00", "reserved");
  EXPECT_TRUE(encode_entity({.components = {{"varve.ownerx", ""}, {"varve", ""}}}).ok());
}

TEST(EntityRecord, WhatCouldNotBeReadBackIsNotWritten) {
  const auto refused = [](const EntityRecord& record) {
    const auto bytes = encode_entity(record);
    ASSERT_FALSE(bytes.ok());
    EXPECT_EQ(bytes.error().code(), ErrorCode::invalid_argument);
  };
  refused({.parents = {5, 5}});
  refused({.parents = {9, 5}});
  refused({.name = "\xff"});
  refused({.components = {{"\xff", ""}}});
  refused({.components = {{"", "\xff"}}});
  refused({.prefabs = {"\xff"}});
  EXPECT_TRUE(encode_entity({.components = {{"", Bytes::copy_of("\xff")}}}).ok());
}

TEST(EntityRecord, HostileCountsTakeNoMemory) {
  for (const char* digits : {"00 ffffffffffffffffff01", "00 00 ffffffffffffffffff01",
                             "00 00 00 ffffffffffffffffff01", "01 ffffffffffffffffff01"}) {
    const Bytes in = hex(digits);
    const varve::test::AllocationWatch watch;
    EXPECT_FALSE(decode_entity(in).ok());
    EXPECT_LT(watch.peak_size(), 2000u) << digits;
  }
}

RC_GTEST_PROP(EntityRecord, RoundTrip, ()) {
  const EntityRecord record = *test::any_record();
  RC_ASSERT(decode_entity(encode_entity(record).value()).value() == record);
}

}  // namespace
}  // namespace varve::nebula
