#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "codec/damage.h"
#include "store/nebula/sample_scene.h"
#include "support/allocation_watch.h"
#include "support/bytes_text.h"
#include "support/golden.h"

namespace varve::nebula {
namespace {

using varve::test::hex;
using varve::test::to_hex;

void expect_refused(std::string_view digits, ErrorCode code, std::string_view why) {
  const auto scene = decode_scene(hex(digits));
  ASSERT_FALSE(scene.ok()) << digits;
  EXPECT_EQ(scene.error().code(), code) << digits;
  EXPECT_NE(scene.error().message().find(why), std::string::npos) << scene.error().message();
}

// Either refused, or a scene that is written and read like any other.
void expect_consistent(ByteView damaged) {
  const auto scene = decode_scene(damaged);
  if (!scene) return;
  const auto bytes = encode_scene(*scene);
  ASSERT_TRUE(bytes.ok()) << bytes.error().message();
  EXPECT_EQ(*decode_scene(*bytes), *scene);
}

TEST(NebulaScene, TheWorkedExample) {
  EXPECT_EQ(*decode_scene(hex(test::kExampleNscd)), test::example_scene());
  EXPECT_EQ(to_hex(*encode_scene(test::example_scene())), to_hex(hex(test::kExampleNscd)));
}

TEST(NebulaScene, AnEmptySceneIsEightBytes) {
  EXPECT_EQ(to_hex(*encode_scene({})), "4e53434401000000");
  EXPECT_EQ(*decode_scene(hex("4e534344 01 00 00 00")), Scene());
}

TEST(NebulaScene, FilesOfTheOriginalAreWrittenByteForByte) {
  VARVE_SHARED_OR_SKIP(empty, "golden/nebula/nscd_empty.bin");
  EXPECT_EQ(*decode_scene(empty), Scene());
  EXPECT_EQ(*encode_scene({}), empty);
  VARVE_SHARED_OR_SKIP(sample, "golden/nebula/nscd_sample.bin");
  const Scene expected{.entities = {{"Parent", 1, {{"WorldPos", "(x: 0, y: 100, z: 0)"}}},
                                    {std::nullopt, 1002, {{"Health", hex("5064ff")}}}},
                       .relationships = {{0, 1}},
                       .prefab_refs = {{"prefabs/tree.ron", 300}}};
  EXPECT_EQ(*decode_scene(sample), expected);
  EXPECT_EQ(*encode_scene(expected), sample);
}

TEST(NebulaScene, EveryTruncationIsCorruption) {
  const auto refused = [](const Bytes& cut) {
    EXPECT_EQ(decode_scene(cut).error().code(), ErrorCode::corruption);
  };
  varve::test::for_every_prefix(hex(test::kExampleNscd), refused);
  varve::test::for_every_prefix(hex("4e534344 01 00 00 00"), refused);
  VARVE_SHARED_OR_SKIP(sample, "golden/nebula/nscd_sample.bin");
  varve::test::for_every_prefix(sample, refused);
}

TEST(NebulaScene, EveryBitFlipIsRefusedOrReadsAsSomeScene) {
  varve::test::for_every_bit_flip(hex(test::kExampleNscd), expect_consistent);
  VARVE_SHARED_OR_SKIP(sample, "golden/nebula/nscd_sample.bin");
  varve::test::for_every_bit_flip(sample, expect_consistent);
}

TEST(NebulaScene, WhatIsNoSceneIsRefused) {
  expect_refused("4e534345 01 00 00 00", ErrorCode::corruption, "wrong magic");
  expect_refused("4e534344 01 00 00 00 00", ErrorCode::corruption, "unexpected bytes");
  expect_refused("4e534344 01 01 02 00 00 00 00", ErrorCode::corruption, "option tag");
  expect_refused("4e534344 01 01 00 00 01 00 02 00 00 00", ErrorCode::corruption, "variant");
  expect_refused("4e534344 01 01 01 01 ff 00 00 00 00", ErrorCode::corruption, "UTF-8");
  expect_refused("4e534344 01 00 00 01 01 ff 00", ErrorCode::corruption, "UTF-8");
}

TEST(NebulaScene, OtherVersionsAreUnsupportedWhateverTheyHold) {
  expect_refused("4e534344 02 ff", ErrorCode::unsupported, "version 2");
  expect_refused("4e534344 ffffffff0f", ErrorCode::unsupported, "version 4294967295");
  expect_refused("4e534344 00 00 00 00", ErrorCode::unsupported, "version 0");
  expect_refused("4e534344 8080808010 00", ErrorCode::corruption, "varint above its limit");
}

TEST(NebulaScene, WhatCouldNotBeReadBackIsNotWritten) {
  const auto refused = [](const Scene& scene, std::string_view why) {
    for (const auto& error : {encode_scene(scene).error(), write_scene(scene).error()}) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(error.message().find(why), std::string::npos) << error.message();
    }
  };
  refused({.version = 2}, "version 2");
  refused({.version = 0}, "version 0");
  refused({.entities = {{"\xff", 1, {}}}}, "not UTF-8");
  refused({.entities = {{"", 1, {{"\xff", ""}}}}}, "not UTF-8");
  refused({.entities = {{"", 1, {{"", "\xff"}}}}}, "not UTF-8");
  refused({.prefab_refs = {{"\xff", 0}}}, "not UTF-8");
}

TEST(NebulaScene, HostileCountsTakeNoMemory) {
  for (const std::string& digits : {std::string("4e534344 01 ffffffffffffffffff01"),
                                    std::string("4e534344 01 01 00 00 ffffffffffffffffff01"),
                                    std::string("4e534344 01 00 ffffffffffffffffff01"),
                                    std::string("4e534344 01 00 00 ffffffffffffffffff01")}) {
    const Bytes in = hex(digits);
    const varve::test::AllocationWatch watch;
    EXPECT_FALSE(decode_scene(in).ok());
    EXPECT_LT(watch.peak_size(), 2000u) << digits;
  }
}

TEST(NebulaScene, TakesABoundedMultipleOfItsBytes) {
  // The smallest items there are, entities, components, relations and prefabs by turns.
  const std::string many = "a08d06";  // 100,000
  const std::string nothing(600'000, '0');
  for (const std::string& digits :
       {"4e534344 01" + many + nothing + "0000", "4e534344 01 01 0000" + many + nothing + "0000",
        "4e534344 01 00" + many + nothing.substr(200'000) + "00",
        "4e534344 01 00 00" + many + nothing.substr(200'000)}) {
    const Bytes in = hex(digits);
    const varve::test::AllocationWatch watch;
    EXPECT_TRUE(decode_scene(in).ok());
    EXPECT_LT(watch.peak_size(), in.size() * 32);
  }
}

RC_GTEST_PROP(NebulaScene, BothFormsComeBack, ()) {
  Scene scene = to_scene(*test::any_scene_records()).value();
  // Places of any kind, and ids that stand twice, are the file's affair.
  if (*rc::gen::arbitrary<bool>()) {
    scene.relationships.push_back({~std::uint64_t{0}, 0});
    if (!scene.entities.empty()) scene.entities.push_back(scene.entities.front());
  }
  RC_ASSERT(decode_scene(encode_scene(scene).value()).value() == scene);
  RC_ASSERT(parse_scene(write_scene(scene).value()).value() == scene);
}

}  // namespace
}  // namespace varve::nebula
