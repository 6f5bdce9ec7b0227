#include "codec/postcard.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "damage.h"
#include "support/bytes_text.h"
#include "support/golden.h"

namespace varve {
namespace {

using test::hex;

template <class Read>
auto read_all(std::string_view digits, Read read) {
  const Bytes in = hex(digits);
  PostcardReader p(in);
  auto value = read(p);
  return p.finish("value").ok() ? std::optional(value) : std::nullopt;
}

TEST(Postcard, IntegersAreHeldToTheirTypes) {
  const auto u16 = [](PostcardReader& p) { return p.u16(); };
  const auto u32 = [](PostcardReader& p) { return p.u32(); };
  const auto u64 = [](PostcardReader& p) { return p.u64(); };
  EXPECT_EQ(read_all("ffff03", u16), 0xffff);
  EXPECT_EQ(read_all("808004", u16), std::nullopt);
  EXPECT_EQ(read_all("ffff8300", u16), std::nullopt) << "one byte too long";
  EXPECT_EQ(read_all("ffffffff0f", u32), 0xffffffffu);
  EXPECT_EQ(read_all("8080808010", u32), std::nullopt);
  EXPECT_EQ(read_all("ffffffffffffffffff01", u64), ~std::uint64_t{0});
  EXPECT_EQ(read_all("ffffffffffffffffff02", u64), std::nullopt);
  EXPECT_EQ(read_all("7f", u16), 127);
  EXPECT_EQ(read_all("8001", u16), 128);
}

TEST(Postcard, SignedIntegersAreZigzag) {
  const auto i16 = [](PostcardReader& p) { return p.i16(); };
  const auto i32 = [](PostcardReader& p) { return p.i32(); };
  const auto i64 = [](PostcardReader& p) { return p.i64(); };
  EXPECT_EQ(read_all("01", i32), -1);
  EXPECT_EQ(read_all("02", i32), 1);
  EXPECT_EQ(read_all("ffff03", i16), INT16_MIN);
  EXPECT_EQ(read_all("feff03", i16), INT16_MAX);
  EXPECT_EQ(read_all("808004", i16), std::nullopt);
  EXPECT_EQ(read_all("ffffffff0f", i32), INT32_MIN);
  EXPECT_EQ(read_all("ffffffffffffffffff01", i64), INT64_MIN);
}

TEST(Postcard, BytesBoolsAndFloatsAreRaw) {
  EXPECT_EQ(read_all("ff", [](PostcardReader& p) { return p.u8(); }), 255);
  EXPECT_EQ(read_all("ff", [](PostcardReader& p) { return p.i8(); }), -1);
  EXPECT_EQ(read_all("0000c03f", [](PostcardReader& p) { return p.f32(); }), 1.5f);
  EXPECT_EQ(read_all("000000000000f8bf", [](PostcardReader& p) { return p.f64(); }), -1.5);
  const auto boolean = [](PostcardReader& p) { return p.boolean(); };
  EXPECT_EQ(read_all("00", boolean), false);
  EXPECT_EQ(read_all("01", boolean), true);
  EXPECT_EQ(read_all("02", boolean), std::nullopt);
  EXPECT_EQ(read_all("ff", boolean), std::nullopt);
}

TEST(Postcard, ABadOptionTagOrVariantIsCorruption) {
  EXPECT_EQ(read_all("02", [](PostcardReader& p) { return p.option(); }), std::nullopt);
  const auto variant = [](PostcardReader& p) { return p.variant(3); };
  EXPECT_EQ(read_all("02", variant), 2u);
  EXPECT_EQ(read_all("03", variant), std::nullopt);
  EXPECT_EQ(read_all("ffffffff0f", variant), std::nullopt);
}

TEST(Postcard, ALengthBeyondTheInputIsCorruption) {
  const Bytes in = hex("ffffffffffffffffff01 00000000");
  PostcardReader sequence(in);
  EXPECT_EQ(sequence.sequence(), 0u);
  EXPECT_FALSE(sequence.ok());
  PostcardReader text(in);
  EXPECT_EQ(text.text(), "");
  EXPECT_FALSE(text.ok());
  PostcardReader bytes(in);
  EXPECT_TRUE(bytes.bytes().empty());
  EXPECT_FALSE(bytes.ok());
  // Four bytes hold four items of one byte, and one of three.
  const Bytes four = hex("04 00000000");
  EXPECT_EQ(PostcardReader(four).sequence(), 4u);
  PostcardReader wide(four);
  EXPECT_EQ(wide.sequence(2), 0u);
  EXPECT_FALSE(wide.ok());
}

TEST(Postcard, TextMustBeUtf8) {
  const auto text = [](PostcardReader& p) { return std::string(p.text()); };
  EXPECT_EQ(read_all("02c3a9", text), "\xc3\xa9");
  EXPECT_EQ(read_all("02c328", text), std::nullopt);
  EXPECT_EQ(read_all("01c3", text), std::nullopt);
}

TEST(Postcard, TextThatIsNotUtf8FailsTheWriter) {
  for (const std::string_view text : {"\xff", "caf\xc3", "\xed\xa0\x80"}) {
    ByteWriter out;
    PostcardWriter w(out);
    w.u8(7);
    w.text(text);
    w.text("later");
    EXPECT_FALSE(out.ok());
    EXPECT_EQ(out.size(), 1u);
    EXPECT_EQ(out.status("name").error().code(), ErrorCode::invalid_argument);
  }
}

RC_GTEST_PROP(Postcard, RoundTripOfEveryType,
              (bool b, std::uint8_t u8, std::int8_t i8, std::uint16_t u16, std::uint32_t u32,
               std::uint64_t u64, std::int16_t i16, std::int32_t i32, std::int64_t i64, float f32,
               double f64, const std::vector<std::uint8_t>& blob)) {
  const ByteView bytes = std::as_bytes(std::span(blob));
  ByteWriter out;
  PostcardWriter w(out);
  w.boolean(b);
  w.u8(u8);
  w.i8(i8);
  w.u16(u16);
  w.u32(u32);
  w.u64(u64);
  w.usize(u64);
  w.i16(i16);
  w.i32(i32);
  w.i64(i64);
  w.f32(f32);
  w.f64(f64);
  w.bytes(bytes);
  w.text("caf\xc3\xa9");
  w.variant(u32);
  w.option(b);
  w.sequence(blob.size());
  for (const std::uint8_t item : blob) w.u8(item);

  PostcardReader p(out.view());
  RC_ASSERT(p.boolean() == b);
  RC_ASSERT(p.u8() == u8);
  RC_ASSERT(p.i8() == i8);
  RC_ASSERT(p.u16() == u16);
  RC_ASSERT(p.u32() == u32);
  RC_ASSERT(p.u64() == u64);
  RC_ASSERT(p.usize() == u64);
  RC_ASSERT(p.i16() == i16);
  RC_ASSERT(p.i32() == i32);
  RC_ASSERT(p.i64() == i64);
  RC_ASSERT(std::bit_cast<std::uint32_t>(p.f32()) == std::bit_cast<std::uint32_t>(f32));
  RC_ASSERT(std::bit_cast<std::uint64_t>(p.f64()) == std::bit_cast<std::uint64_t>(f64));
  RC_ASSERT(equal(p.bytes(), bytes));
  RC_ASSERT(p.text() == "caf\xc3\xa9");
  if (u32 != 0xffffffff) {
    RC_ASSERT(p.variant(u32 + 1) == u32);
  } else {
    RC_ASSERT(p.u32() == u32);
  }
  RC_ASSERT(p.option() == b);
  RC_ASSERT(p.sequence() == blob.size());
  for (const std::uint8_t item : blob) RC_ASSERT(p.u8() == item);
  RC_ASSERT(p.finish("all").ok());
}

// The structures of the original voxel game's scene files.
struct Component {
  std::string type_name;
  bool is_binary = false;
  std::string data;
};
struct Entity {
  std::optional<std::string> name;
  std::uint64_t stable_id = 0;
  std::vector<Component> components;
};
struct Scene {
  std::uint32_t version = 0;
  std::vector<Entity> entities;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> relationships;
  std::vector<std::pair<std::string, std::uint64_t>> prefab_refs;
};

Result<Scene> read_scene(ByteView in) {
  PostcardReader p(in);
  p.bytes_below().expect("NSCD");
  Scene scene;
  scene.version = p.u32();
  scene.entities.resize(p.sequence(3));
  for (Entity& entity : scene.entities) {
    if (p.option()) entity.name = p.text();
    entity.stable_id = p.u64();
    entity.components.resize(p.sequence(3));
    for (Component& component : entity.components) {
      component.type_name = p.text();
      component.is_binary = p.variant(2) == 1;
      component.data = component.is_binary ? as_text(p.bytes()) : p.text();
    }
  }
  scene.relationships.resize(p.sequence(2));
  for (auto& [parent, child] : scene.relationships) {
    parent = p.usize();
    child = p.usize();
  }
  scene.prefab_refs.resize(p.sequence(2));
  for (auto& [path, root] : scene.prefab_refs) {
    path = p.text();
    root = p.usize();
  }
  if (Status done = p.finish("scene"); !done) return done.error();
  return scene;
}

TEST(Postcard, ASceneOfTheOriginalVoxelGame) {
  VARVE_SHARED_OR_SKIP(in, "golden/nebula/nscd_sample.bin");
  const auto scene = read_scene(in);
  ASSERT_TRUE(scene.ok()) << scene.error().message();
  EXPECT_EQ(scene->version, 1u);
  ASSERT_EQ(scene->entities.size(), 2u);
  const Entity& parent = scene->entities[0];
  EXPECT_EQ(parent.name, "Parent");
  EXPECT_EQ(parent.stable_id, 1u);
  ASSERT_EQ(parent.components.size(), 1u);
  EXPECT_EQ(parent.components[0].type_name, "WorldPos");
  EXPECT_FALSE(parent.components[0].is_binary);
  EXPECT_EQ(parent.components[0].data, "(x: 0, y: 100, z: 0)");
  const Entity& child = scene->entities[1];
  EXPECT_EQ(child.name, std::nullopt);
  EXPECT_EQ(child.stable_id, 1002u);
  ASSERT_EQ(child.components.size(), 1u);
  EXPECT_EQ(child.components[0].type_name, "Health");
  EXPECT_TRUE(child.components[0].is_binary);
  EXPECT_EQ(child.components[0].data, "\x50\x64\xff");
  ASSERT_EQ(scene->relationships.size(), 1u);
  EXPECT_EQ(scene->relationships[0], std::pair(std::uint64_t{0}, std::uint64_t{1}));
  ASSERT_EQ(scene->prefab_refs.size(), 1u);
  EXPECT_EQ(scene->prefab_refs[0], std::pair(std::string("prefabs/tree.ron"), std::uint64_t{300}));
}

TEST(Postcard, AnEmptySceneOfTheOriginalVoxelGame) {
  VARVE_SHARED_OR_SKIP(in, "golden/nebula/nscd_empty.bin");
  const auto scene = read_scene(in);
  ASSERT_TRUE(scene.ok()) << scene.error().message();
  EXPECT_EQ(scene->version, 1u);
  EXPECT_TRUE(scene->entities.empty());
}

// One entity of each kind, in bytes, so that damage is tested without shared files.
Bytes scene_bytes() {
  return hex(
      "4e534344 01 02 01 06506172656e74 01 01 08576f726c64506f73 00 03283129"
      "00 ea07 01 064865616c7468 01 035064ff 01 00 01 01 0174 ac02");
}

TEST(Postcard, EveryTruncationOfASceneIsCorruption) {
  ASSERT_TRUE(read_scene(scene_bytes()).ok());
  test::for_every_prefix(scene_bytes(), [](const Bytes& cut) {
    const auto scene = read_scene(cut);
    ASSERT_FALSE(scene.ok());
    EXPECT_EQ(scene.error().code(), ErrorCode::corruption);
  });
}

TEST(Postcard, ABitFlipInASceneNeverYieldsMoreItemsThanBytes) {
  test::for_every_bit_flip(scene_bytes(), [](const Bytes& flipped) {
    const auto scene = read_scene(flipped);
    if (!scene.ok()) return;
    EXPECT_LE(scene->entities.size() + scene->relationships.size() + scene->prefab_refs.size(),
              flipped.size());
  });
}

// What is in front of the payload: magic, version, payload length, crc32.
TEST(Postcard, GlobalFilesOfTheOriginalFourDimensionalGame) {
  VARVE_SHARED_OR_SKIP(file, "golden/polychora/c_multigen/global.g0000000000000003.v4g");
  PostcardReader p(file.view().subspan(16));
  EXPECT_EQ(p.variant(2), 1u);  // FlatFloor ...
  EXPECT_EQ(p.u8(), 11);        // ... of this material
  EXPECT_EQ(p.u64(), 4242u);    // world_seed
  EXPECT_EQ(p.u64(), 1000u);    // next_entity_id
  EXPECT_EQ(p.u32(), 2u);       // next_data_file_id
  EXPECT_EQ(p.u64(), 1'700'000'000'003u);
  EXPECT_EQ(p.sequence(), 0u);  // player_entity_hints
  EXPECT_EQ(test::to_hex(p.bytes()), "deadbeef");
  EXPECT_TRUE(p.finish("global").ok());
}

TEST(Postcard, AnEmptyWorldOfTheOriginalFourDimensionalGame) {
  VARVE_SHARED_OR_SKIP(file, "golden/polychora/a_empty/global.g0000000000000000.v4g");
  PostcardReader p(file.view().subspan(16));
  EXPECT_EQ(p.variant(2), 0u);  // Empty
  EXPECT_EQ(p.u64(), 1337u);
  EXPECT_EQ(p.u64(), 1u);
  EXPECT_EQ(p.u32(), 2u);
  EXPECT_EQ(p.u64(), 1'700'000'000'000u);
  EXPECT_EQ(p.sequence(), 0u);
  EXPECT_TRUE(p.bytes().empty());
  EXPECT_TRUE(p.finish("global").ok());
}

TEST(Postcard, APlayerOfTheOriginalFourDimensionalGame) {
  VARVE_SHARED_OR_SKIP(file, "golden/polychora/b_roundtrip/players.g0000000000000001.v4p");
  PostcardReader p(file.view().subspan(16));
  ASSERT_EQ(p.sequence(), 1u);
  EXPECT_EQ(p.u64(), 7u);
  for (const float expected : {8.0f, 9.0f, 10.0f, 11.0f}) EXPECT_EQ(p.f32(), expected);
  for (const float expected : {0.0f, 0.0f, 1.0f, 0.0f}) EXPECT_EQ(p.f32(), expected);
  ASSERT_EQ(p.sequence(), 1u);
  EXPECT_EQ(p.text(), "tester");
  EXPECT_EQ(test::to_hex(p.bytes()), "63");
  EXPECT_EQ(p.u64(), 1'700'000'000'000u);
  EXPECT_TRUE(p.finish("players").ok());
}

}  // namespace
}  // namespace varve
