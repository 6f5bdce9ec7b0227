#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "codec/ron.h"
#include "damage.h"
#include "support/allocation_watch.h"
#include "support/golden.h"

namespace varve::ron {
namespace {

using test::AllocationWatch;

constexpr std::size_t kLimit = 1 << 20;

Value parsed(std::string_view text) {
  auto value = parse(text, kLimit);
  EXPECT_TRUE(value.ok()) << text << ": " << (value.ok() ? "" : value.error().message());
  return value.ok() ? *std::move(value) : Value{};
}

std::string error_of(std::string_view text) {
  const auto value = parse(text, kLimit);
  EXPECT_FALSE(value.ok()) << text;
  if (value.ok()) return "";
  EXPECT_EQ(value.error().code(), ErrorCode::corruption);
  return value.error().message();
}

Value integer(std::int64_t v) { return Value{Integer::of_signed(v)}; }

TEST(RonParser, Integers) {
  EXPECT_EQ(parsed("0"), integer(0));
  EXPECT_EQ(parsed("-0"), integer(0));
  EXPECT_EQ(parsed("+42"), integer(42));
  EXPECT_EQ(parsed("1_000_000"), integer(1'000'000));
  EXPECT_EQ(parsed("0xff_FF"), integer(0xffff));
  EXPECT_EQ(parsed("-0x10"), integer(-16));
  EXPECT_EQ(parsed("0b1010_0101"), integer(0xa5));
  EXPECT_EQ(parsed("0o755"), integer(0755));
  EXPECT_EQ(parsed("18446744073709551615"), Value{Integer::of(~std::uint64_t{0})});
  EXPECT_EQ(parsed("0xffffffffffffffff"), Value{Integer::of(~std::uint64_t{0})});
  EXPECT_EQ(parsed("-9223372036854775808"), integer(std::numeric_limits<std::int64_t>::min()));
}

TEST(RonParser, IntegersThatAreNone) {
  EXPECT_EQ(error_of("18446744073709551616"),
            "ron: line 1, column 1: integer of more than 64 bits");
  EXPECT_EQ(error_of("-9223372036854775809"),
            "ron: line 1, column 1: integer of more than 64 bits");
  for (const std::string_view text :
       {"0x", "0b2", "0o8", "0xg", "12ab", "1u8", "-", "+", "--1", "0x_1", "1 2"}) {
    error_of(text);
  }
}

TEST(RonParser, IntegersFitOrSayNot) {
  EXPECT_EQ(Integer::of(5).as_i64(), 5);
  EXPECT_EQ(Integer::of(~std::uint64_t{0}).as_i64(), std::nullopt);
  EXPECT_EQ(Integer::of_signed(-5).as_u64(), std::nullopt);
  EXPECT_EQ(Integer::of_signed(INT64_MIN).as_i64(), INT64_MIN);
  EXPECT_EQ(Integer::of_signed(INT64_MAX).as_i64(), INT64_MAX);
  EXPECT_EQ(parsed("3600").as_number(), 3600.0);
  EXPECT_EQ(parsed("-2").as_number(), -2.0);
  EXPECT_EQ(parsed("2.5").as_number(), 2.5);
  EXPECT_EQ(parsed("\"2\"").as_number(), std::nullopt);
}

TEST(RonParser, Floats) {
  EXPECT_EQ(parsed("1.0"), Value{Float{1.0}});
  EXPECT_EQ(parsed("1."), Value{Float{1.0}});
  EXPECT_EQ(parsed(".5"), Value{Float{0.5}});
  EXPECT_EQ(parsed("-0.0"), Value{Float{-0.0}});
  EXPECT_EQ(parsed("+1_000.25"), Value{Float{1000.25}});
  EXPECT_EQ(parsed("1e3"), Value{Float{1000.0}});
  EXPECT_EQ(parsed("2.5E-3"), Value{Float{0.0025}});
  EXPECT_EQ(parsed("1e+2"), Value{Float{100.0}});
  EXPECT_EQ(parsed("inf"), Value{Float{std::numeric_limits<double>::infinity()}});
  EXPECT_EQ(parsed("-inf"), Value{Float{-std::numeric_limits<double>::infinity()}});
  EXPECT_EQ(parsed("NaN"), Value{Float{std::nan("")}});
  EXPECT_EQ(parsed("-NaN"), Value{Float{std::nan("")}});
  for (const std::string_view text : {".", "-.", "1e", "1e+", "1e+-2", "1.0f32", "1.2.3"}) {
    error_of(text);
  }
}

// The ron crate leaves this to Rust, which rounds.
TEST(RonParser, FloatsOutOfRangeAreRounded) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::string zeros(1000, '0');
  const std::vector<std::string> small = {
      "1e-400", "1E-99999999999999999999", "0." + zeros + "1", "1_0e-1_000", "." + zeros + "9e600",
      "0e400",  "0.0e99999999999999999999"};
  for (const std::string& text : small) {
    EXPECT_EQ(parsed(text), Value{Float{0.0}}) << text;
    EXPECT_EQ(parsed("-" + text), Value{Float{-0.0}}) << text;
  }
  const std::vector<std::string> large = {
      "1e400",   "1e+99999999999999999999",  "1" + zeros + ".0", "1" + zeros + "e-600",
      "1.8e308", "0.001E9223372036854775807"};
  for (const std::string& text : large) {
    EXPECT_EQ(parsed(text), Value{Float{inf}}) << text;
    EXPECT_EQ(parsed("-" + text), Value{Float{-inf}}) << text;
  }
  EXPECT_EQ(parsed("0." + zeros + "1e1001"), Value{Float{1.0}});
  EXPECT_EQ(parsed("1" + zeros + "e-1000"), Value{Float{1.0}});
}

TEST(RonParser, StringsAndTheirEscapes) {
  EXPECT_EQ(parsed(R"("")"), Value{std::string()});
  EXPECT_EQ(parsed(R"("a\"b\\c\'d\n\r\t\0\b\f")"), Value{std::string("a\"b\\c'd\n\r\t\0\b\f", 13)});
  EXPECT_EQ(parsed(R"("\x41\xe9\u{e9}\u{1F30D}")"),
            Value{std::string("A\xc3\xa9\xc3\xa9\xf0\x9f\x8c\x8d")});
  EXPECT_EQ(parsed("\"two\nlines\""), Value{std::string("two\nlines")});
  EXPECT_EQ(parsed(R"(r"raw \n")"), Value{std::string("raw \\n")});
  EXPECT_EQ(parsed("r##\"a \"# b\"##"), Value{std::string("a \"# b")});
  for (const std::string_view text :
       {R"("open)", R"("\q")", R"("\x4")", R"("\u{}")", R"("\u{110000}")", R"("\u{d800}")",
        R"("\u{1234567}")", R"("\u41")", R"("\)", "r#\"open\"", "r#\"", "\"\\u{41"}) {
    error_of(text);
  }
}

TEST(RonParser, Characters) {
  EXPECT_EQ(parsed("'a'"), Value{U'a'});
  EXPECT_EQ(parsed("'\xc3\xa9'"), Value{U'\u00e9'});
  EXPECT_EQ(parsed(R"('\'')"), Value{U'\''});
  EXPECT_EQ(parsed(R"('\n')"), Value{U'\n'});
  EXPECT_EQ(parsed("'\"'"), Value{U'"'});
  for (const std::string_view text : {"''", "'ab'", "'a", "'", "'\\'"}) error_of(text);
}

TEST(RonParser, UnitsOptionsAndBooleans) {
  EXPECT_EQ(parsed("()"), Value{Unit{}});
  EXPECT_EQ(parsed("( )"), Value{Unit{}});
  EXPECT_EQ(parsed("Air"), Value{Unit{"Air"}});
  EXPECT_EQ(parsed("true"), Value{true});
  EXPECT_EQ(parsed("false"), Value{false});
  EXPECT_EQ(parsed("None"), Value{Option{}});
  EXPECT_EQ(parsed("Some(1)"), Value{Option{{integer(1)}}});
  EXPECT_EQ(parsed("Some ( 1 , )"), Value{Option{{integer(1)}}});
  EXPECT_EQ(parsed("Some(None)"), Value{Option{{Value{Option{}}}}});
  // Words that only begin like a keyword or a number are names.
  EXPECT_EQ(parsed("Something"), Value{Unit{"Something"}});
  EXPECT_EQ(parsed("infx"), Value{Unit{"infx"}});
  EXPECT_EQ(parsed("_1_"), Value{Unit{"_1_"}});
  for (const std::string_view text : {"Some", "Some()", "Some(1, 2)", "Some(x: 1)"}) error_of(text);
}

TEST(RonParser, ListsMapsAndTuples) {
  EXPECT_EQ(parsed("[]"), Value{List{}});
  EXPECT_EQ(parsed("[1, 2,]"), (Value{List{{integer(1), integer(2)}}}));
  EXPECT_EQ(parsed("(1, 2)"), (Value{Tuple{"", {integer(1), integer(2)}}}));
  EXPECT_EQ(parsed("(1)"), (Value{Tuple{"", {integer(1)}}}));
  EXPECT_EQ(parsed("Pair(1, 2,)"), (Value{Tuple{"Pair", {integer(1), integer(2)}}}));
  EXPECT_EQ(parsed("Pair (1)"), (Value{Tuple{"Pair", {integer(1)}}}));
  EXPECT_EQ(parsed("Nothing()"), (Value{Tuple{"Nothing", {}}}));
  EXPECT_EQ(parsed("{}"), Value{Map{}});
  EXPECT_EQ(parsed("{\"a\": 1, (2, 3): 4}"),
            (Value{Map{{{Value{std::string("a")}, integer(1)},
                        {Value{Tuple{"", {integer(2), integer(3)}}}, integer(4)}}}}));
  for (const std::string_view text :
       {"[", "[1", "[1 2]", "[,]", "[1,,2]", "(1", "(,)", "{1}", "{1:}", "{1: 2", "{:1}", "]"}) {
    error_of(text);
  }
}

TEST(RonParser, StructsWithAndWithoutName) {
  const Value point{Record{"", {{"x", integer(1)}, {"y", integer(-2)}}}};
  EXPECT_EQ(parsed("(x: 1, y: -2)"), point);
  EXPECT_EQ(parsed("( x : 1 , y : -2 , )"), point);
  EXPECT_EQ(parsed("P(x: 1)"), (Value{Record{"P", {{"x", integer(1)}}}}));
  EXPECT_EQ(parsed("(Air)"), (Value{Tuple{"", {Value{Unit{"Air"}}}}}));
  EXPECT_EQ(parsed("r#raw.name+1(r#true: 1)"),
            (Value{Record{"raw.name+1", {{"true", integer(1)}}}}));
  ASSERT_NE(point.field("y"), nullptr);
  EXPECT_EQ(*point.field("y"), integer(-2));
  EXPECT_EQ(point.field("z"), nullptr);
  EXPECT_EQ(integer(1).field("x"), nullptr);
  for (const std::string_view text : {"(x: 1, 2)", "(1, x: 2)", "(x 1)", "(x:)", "(x: 1 y: 2)"}) {
    error_of(text);
  }
}

TEST(RonParser, AFieldThatStandsTwiceIsRefused) {
  EXPECT_EQ(error_of("P(x: 1, y: 2, x: 3)"),
            "ron: line 1, column 3: a field of this struct stands twice");
}

TEST(RonParser, CommentsAndBlanksAreSkipped) {
  const std::string_view text =
      "// head\n/* a /* nested */ comment */ (\r\n\tx /* here */: // there\n 1, /**/ ) // end";
  EXPECT_EQ(parsed(text), (Value{Record{"", {{"x", integer(1)}}}}));
  EXPECT_EQ(error_of("1 /* open /* */"), "ron: line 1, column 3: comment that does not end");
  error_of("1 /");
  error_of("/* only */");
}

TEST(RonParser, MessagesNameLineAndColumn) {
  EXPECT_EQ(error_of(""), "ron: line 1, column 1: expected a value, found the end");
  EXPECT_EQ(error_of("(\n    x: 1,\n    y: ?,\n)"), "ron: line 3, column 8: expected a value");
  EXPECT_EQ(error_of("[\"\xc3\xa9\xc3\xa9\" 1]"), "ron: line 1, column 7: expected ',' or ']'")
      << "columns count characters";
  EXPECT_EQ(error_of("1\n1"), "ron: line 2, column 1: unexpected text after the value");
  EXPECT_EQ(error_of("1\n\"\xff\""), "ron: line 2, column 2: not UTF-8");
  EXPECT_EQ(error_of("#![enable(unwrap_newtypes)] 1"),
            "ron: line 1, column 1: extensions are not supported");
  EXPECT_EQ(error_of("b\"x\""), "ron: line 1, column 1: byte strings are not supported");
}

TEST(RonParser, DepthIsLimited) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(parse(nested(kDepthMax), kLimit).ok());
  EXPECT_EQ(error_of(nested(kDepthMax + 1)), "ron: line 1, column 129: nested too deeply");
  error_of(std::string(1'000'000, '['));
  error_of(std::string(1'000'000, '('));
  std::string some;
  for (int i = 0; i < 100'000; ++i) some += "Some(";
  error_of(some);
}

std::string around(std::string_view head, std::string_view unit, std::size_t count,
                   std::string_view tail) {
  std::string out(head);
  for (std::size_t i = 0; i < count; ++i) out += unit;
  return out += tail;
}

TEST(RonParser, ABombCostsNoMoreThanTheLimit) {
  constexpr std::size_t kCount = 300'000;
  std::string record("(");
  for (std::size_t i = 0; i < kCount; ++i) record.append("f").append(std::to_string(i)) += ":1,";
  record += ')';
  const std::string quotes = around("r", "#", kCount, "\"") + around("", "\"", kCount, "");
  const std::string bombs[] = {
      around("[", "1,", kCount, "]"),       around("{", "1:1,", kCount, "}"),
      around("(", "1,", kCount, ")"),       record,
      around("[", "[],", kCount, "]"),      around("[", "A,", kCount, "]"),
      around("[", "None,", kCount, "]"),    around("\"", "\\u{41}", kCount, "\""),
      around("r#\"", "raw", kCount, "\"#"), around("", "name", kCount, ""),
      around("1.", "0_1", kCount, ""),      quotes + around("\"", "#", kCount, ""),
  };
  for (const std::string& bomb : bombs) {
    SCOPED_TRACE(bomb.substr(0, 20));
    for (const std::size_t limit : {100'000, 250'000}) {
      const AllocationWatch watch;
      const auto value = parse(bomb, limit);
      EXPECT_LE(watch.peak_size(), limit + 2 * 4096);
      ASSERT_FALSE(value.ok());
      EXPECT_EQ(value.error().code(), ErrorCode::corruption);
      EXPECT_NE(value.error().message().find("takes more than the limit of " +
                                             std::to_string(limit) + " bytes"),
                std::string::npos)
          << value.error().message();
    }
    EXPECT_TRUE(parse(bomb, std::size_t{1} << 30).ok());
  }
}

TEST(RonParser, SmallBlocksCountTowardsTheLimitToo) {
  for (const std::string_view unit :
       {"[1],", "[[[1]]],", "Some(1),", "(x: 1),", "\"sixteen and more.\",", "{1: {2: 3}},"}) {
    SCOPED_TRACE(unit);
    const std::string bomb = around("[", unit, 50'000, "]");
    const AllocationWatch watch;
    EXPECT_FALSE(parse(bomb, 100'000).ok());
    // Here the allocator's rounding is a good part of the whole.
    EXPECT_LE(watch.peak_size(), 150'000u);
  }
}

TEST(RonParser, TheMemoryOfAValueIsExact) {
  // One Value, a block of two, then a block of four beside it.
  EXPECT_TRUE(parse("1", sizeof(Value)).ok());
  EXPECT_FALSE(parse("1", sizeof(Value) - 1).ok());
  EXPECT_TRUE(parse("[1, 2]", 4 * sizeof(Value)).ok());
  EXPECT_FALSE(parse("[1, 2]", 4 * sizeof(Value) - 1).ok());
  EXPECT_TRUE(parse("[1, 2, 3]", 7 * sizeof(Value)).ok());
  EXPECT_FALSE(parse("[1, 2, 3]", 7 * sizeof(Value) - 1).ok());
  EXPECT_TRUE(parse("\"text\"", sizeof(Value) + 5).ok());
  EXPECT_FALSE(parse("\"text\"", sizeof(Value) + 4).ok());
}

constexpr std::string_view kScene =
    "Scene(version: 1, e: [E(n: Some(\"P\\u{e9}\"), v: (1.5, -2, 'c')), E(n: None)], m: {\"k\": "
    "A})";

TEST(RonParser, EveryTruncationIsCorruption) {
  parsed(kScene);
  test::for_every_prefix(as_byte_view(kScene), [](const Bytes& cut) {
    // A name alone is a value of its own: "S", "Sc", ... "Scene".
    if (!cut.empty() && cut.text().find('(') == std::string_view::npos) return;
    error_of(cut.text());
  });
}

TEST(RonParser, ABitFlipIsAnErrorOrAValueThatWrites) {
  test::for_every_bit_flip(as_byte_view(kScene), [](const Bytes& flipped) {
    const auto value = parse(flipped.text(), kLimit);
    if (!value.ok()) return;
    const auto text = write_pretty(*value);
    ASSERT_TRUE(text.ok());
    EXPECT_EQ(parsed(*text), *value);
  });
}

TEST(RonParser, WorldMetadataOfTheOriginalVoxelGame) {
  VARVE_SHARED_OR_SKIP(in, "golden/nebula/world.ron");
  const Value world = parsed(in.text());
  ASSERT_NE(world.as<Record>(), nullptr);
  ASSERT_EQ(world.as<Record>()->fields.size(), 7u);
  EXPECT_EQ(*world.field("save_version"), integer(1));
  EXPECT_EQ(*world.field("seed"), integer(12345));
  EXPECT_EQ(*world.field("world_time"), Value{Float{3600.0}});
  EXPECT_EQ(*world.field("display_name"), Value{std::string("Test \"World\"\n\\ \xc3\xa9")});
  EXPECT_EQ(*world.field("created_at"), Value{std::string("2026-01-01T00:00:00Z")});
  EXPECT_EQ(*world.field("last_saved_at"), Value{std::string("2026-01-01T01:00:00Z")});
  EXPECT_EQ(*world.field("play_time"), Value{Float{0.1}});
}

TEST(RonParser, ASceneOfTheOriginalVoxelGame) {
  VARVE_SHARED_OR_SKIP(in, "golden/nebula/sample.scene.ron");
  const Value scene = parsed(in.text());
  ASSERT_NE(scene.as<Record>(), nullptr);
  EXPECT_EQ(scene.as<Record>()->name, "SceneData");
  const auto* entities = scene.field("entities")->as<List>();
  ASSERT_NE(entities, nullptr);
  ASSERT_EQ(entities->items.size(), 2u);
  EXPECT_EQ(*entities->items[0].field("name"), Value{Option{{Value{std::string("Parent")}}}});
  EXPECT_EQ(*entities->items[1].field("stable_id"), integer(1002));
  const Value& health = entities->items[1].field("components")->as<List>()->items.at(0);
  EXPECT_EQ(*health.field("data"),
            (Value{Tuple{"Binary", {Value{List{{integer(80), integer(100), integer(255)}}}}}}));
}

}  // namespace
}  // namespace varve::ron
