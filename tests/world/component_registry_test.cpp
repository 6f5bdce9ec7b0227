#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <stdexcept>
#include <string>

#include "../codec/damage.h"
#include "support/allocation_watch.h"
#include "support/bytes_text.h"
#include "support/format_page.h"
#include "varve/components.h"

namespace varve {
namespace {

using test::hex;
using test::to_hex;

// Any number of different component types.
template <int kind>
struct Text {
  std::string text;
};

template <int kind>
Result<Bytes> encode_text(const Text<kind>& value) {
  if (value.text == "refuse") return unsupported("refused");
  if (value.text == "throw") throw std::runtime_error("thrown");
  if (value.text == "throw 7") throw 7;
  return Bytes::copy_of(value.text);
}

template <int kind>
Result<Text<kind>> decode_text(const Bytes& bytes) {
  if (bytes.text() == "bad") return unsupported("too new");
  if (bytes.text() == "throw") throw std::runtime_error("thrown");
  return Text<kind>{std::string(bytes.text())};
}

template <int kind>
Result<ComponentId> add(ComponentRegistry& registry, std::string_view name) {
  return registry.add<Text<kind>>(name, encode_text<kind>, decode_text<kind>);
}

void expect_error(const Status& status, ErrorCode code, std::string_view part) {
  ASSERT_FALSE(status.ok()) << part;
  EXPECT_EQ(status.error().code(), code);
  EXPECT_NE(status.error().message().find(part), std::string::npos) << status.error().message();
}

template <class T>
Status status_of(const Result<T>& result) {
  if (!result) return result.error();
  return {};
}

TEST(ComponentRegistry, PutsAndGets) {
  ComponentRegistry registry;
  EXPECT_EQ(*add<1>(registry, "position"), 1u);
  EXPECT_EQ(*add<2>(registry, "health"), 2u);
  ComponentSet set;
  ASSERT_TRUE(registry.put(set, Text<2>{"full"}).ok());
  EXPECT_EQ(set.find(2)->text(), "full");
  EXPECT_EQ((*registry.get<Text<2>>(set))->text, "full");
  EXPECT_FALSE(registry.get<Text<1>>(set)->has_value());
  EXPECT_EQ(registry.name_of(2), "health");
  EXPECT_EQ(registry.name_of(3), "");
  EXPECT_EQ(registry.id_of("position"), 1u);
  EXPECT_EQ(registry.id_of("speed"), std::nullopt);
}

TEST(ComponentRegistry, NamesAndTypesAreThereOnce) {
  ComponentRegistry registry;
  ASSERT_TRUE(add<1>(registry, "position").ok());
  expect_error(status_of(add<2>(registry, "position")), ErrorCode::invalid_argument, "position");
  expect_error(status_of(add<1>(registry, "place")), ErrorCode::invalid_argument, "place");
  EXPECT_EQ(registry.id_of("place"), std::nullopt);
  for (const std::string& name :
       {std::string(), std::string(256, 'x'), std::string("\xff"), std::string("a\nb"),
        std::string("\x7f"), std::string("\xc2\x85")}) {
    expect_error(status_of(add<3>(registry, name)), ErrorCode::invalid_argument,
                 "component: the name");
  }
  EXPECT_TRUE(add<3>(registry, std::string(255, 'x')).ok());
}

TEST(ComponentRegistry, TypesNobodyRegisteredAreRefused) {
  const ComponentRegistry registry;
  ComponentSet set;
  expect_error(registry.put(set, Text<1>{}), ErrorCode::invalid_argument, "not registered");
  expect_error(status_of(registry.get<Text<1>>(set)), ErrorCode::invalid_argument,
               "not registered");
}

TEST(ComponentRegistry, WhatTheGameThrowsBecomesAnErrorThatNamesTheComponent) {
  ComponentRegistry registry;
  ASSERT_TRUE(add<1>(registry, "position").ok());
  ASSERT_TRUE(registry.add<Text<2>>("hollow", nullptr, nullptr).ok());
  ComponentSet set;
  set.put(1, Bytes::copy_of("before"));
  const auto code = ErrorCode::invalid_argument;
  expect_error(registry.put(set, Text<1>{"throw"}), code, "component position: it threw: thrown");
  expect_error(registry.put(set, Text<1>{"throw 7"}), code,
               "component position: it threw something");
  expect_error(registry.put(set, Text<2>{}), code, "component hollow: ");
  expect_error(registry.put(set, Text<1>{"refuse"}), ErrorCode::unsupported,
               "component position: refused");
  EXPECT_EQ(set.find(1)->text(), "before");
  EXPECT_EQ(set.count(), 1u);
  set.put(1, Bytes::copy_of("throw"));
  expect_error(status_of(registry.get<Text<1>>(set)), ErrorCode::corruption,
               "component position: it threw: thrown");
  set.put(1, Bytes::copy_of("bad"));
  expect_error(status_of(registry.get<Text<1>>(set)), ErrorCode::unsupported,
               "component position: too new");
}

TEST(ComponentRegistry, TheTableOfTheWorkedExample) {
  ComponentRegistry registry;
  ASSERT_TRUE(add<1>(registry, "pos").ok());
  ASSERT_TRUE(add<2>(registry, "hp").ok());
  EXPECT_EQ(to_hex(registry.table()), to_hex(hex("01 02 01 03 706f73 02 02 6870")));
  EXPECT_EQ(to_hex(ComponentRegistry().table()), "0100");
}

TEST(ComponentRegistry, TheExampleOfItsPage) {
  const Bytes example = test::example_of("components_v1.md", "The table");
  ComponentRegistry registry;
  ASSERT_TRUE(add<1>(registry, "material").ok());
  ASSERT_TRUE(registry.adopt_table(example).ok());
  EXPECT_EQ(registry.id_of("pos"), 1u);
  EXPECT_EQ(registry.id_of("burning"), 7u);
  EXPECT_EQ(registry.id_of("material"), 300u);
  EXPECT_EQ(to_hex(registry.table()), to_hex(example));
  const auto set = ComponentSet::decode(test::example_of("components_v1.md", "A set"));
  ASSERT_TRUE(set.ok());
  EXPECT_EQ((*registry.get<Text<1>>(*set))->text, "stone");
}

TEST(ComponentRegistry, TheIdsOfASaveWin) {
  ComponentRegistry registry;
  ASSERT_TRUE(add<1>(registry, "a").ok());
  ASSERT_TRUE(add<2>(registry, "b").ok());
  ASSERT_TRUE(add<3>(registry, "c").ok());
  // "x" has the id of "a", "c" the id of "b".
  ASSERT_TRUE(registry.adopt_table(hex("01 03 01 01 78 02 01 63 09 01 79")).ok());
  EXPECT_EQ(registry.id_of("x"), 1u);
  EXPECT_EQ(registry.id_of("c"), 2u);
  EXPECT_EQ(registry.id_of("y"), 9u);
  EXPECT_EQ(registry.id_of("a"), 10u);
  EXPECT_EQ(registry.id_of("b"), 11u);
  EXPECT_EQ(*add<4>(registry, "y"), 9u) << "remembered until somebody registers it";
  EXPECT_EQ(*add<5>(registry, "d"), 12u);
  ComponentSet set;
  ASSERT_TRUE(registry.put(set, Text<3>{"c"}).ok());
  EXPECT_EQ(set.find(2)->text(), "c");

  const Bytes table = registry.table();
  ASSERT_TRUE(registry.adopt_table(table).ok());
  EXPECT_EQ(registry.table(), table) << "adopting its own table changes nothing";
}

TEST(ComponentRegistry, WhoCanKeepAnIdKeepsIt) {
  ComponentRegistry registry;
  ASSERT_TRUE(add<1>(registry, "a").ok());
  ASSERT_TRUE(add<2>(registry, "b").ok());
  ASSERT_TRUE(registry.adopt_table(hex("01 01 01 01 78")).ok());
  EXPECT_EQ(registry.id_of("b"), 2u);
  EXPECT_EQ(registry.id_of("a"), 3u);
}

TEST(ComponentRegistry, TheLargestIdLeavesTheGaps) {
  ComponentRegistry registry;
  ASSERT_TRUE(registry.adopt_table(hex("01 02 01 01 78 ffffffff0f 01 79")).ok());
  EXPECT_EQ(*add<1>(registry, "a"), 2u);
  EXPECT_EQ(*add<2>(registry, "b"), 3u);
}

TEST(ComponentRegistry, UnknownComponentsAreThoseNobodyRegistered) {
  ComponentRegistry registry;
  ASSERT_TRUE(registry.adopt_table(hex("01 01 05 01 78")).ok());
  ASSERT_TRUE(add<1>(registry, "a").ok());  // 6
  ComponentSet set;
  for (const ComponentId id : {4u, 5u, 6u}) set.put(id, Bytes::copy_of("v"));
  ComponentSet expected = set;
  expected.erase(6);
  EXPECT_EQ(registry.unknown_of(set), expected);
}

RC_GTEST_PROP(ComponentRegistry, AnyTableIsTakenOver,
              (const std::map<std::uint32_t, std::uint16_t>& entries)) {
  // A table by hand: rising ids, each name once.
  std::map<std::string, std::uint32_t> ids;
  for (const auto& [id, name] : entries) {
    if (id != 0) ids.emplace(std::to_string(name % 20), id);
  }
  std::string body;
  std::map<std::uint32_t, std::string> names;
  for (const auto& [name, id] : ids) names.emplace(id, name);
  for (const auto& [id, name] : names) {
    for (std::uint32_t rest = id;; rest >>= 7) {
      body += static_cast<char>(rest < 128 ? rest : (rest & 127) | 128);
      if (rest < 128) break;
    }
    body += static_cast<char>(name.size());
    body += name;
  }
  const Bytes table = Bytes::copy_of(std::string("\x01") + static_cast<char>(names.size()) + body);

  ComponentRegistry registry;
  RC_ASSERT(add<1>(registry, "3").ok());
  RC_ASSERT(add<2>(registry, "mine").ok());
  RC_ASSERT(registry.adopt_table(table).ok());
  for (const auto& [name, id] : ids) {
    RC_ASSERT(registry.id_of(name) == id);
    RC_ASSERT(registry.name_of(id) == name);
  }
  for (const char* name : {"3", "mine"})
    RC_ASSERT(registry.name_of(registry.id_of(name).value()) == name);
  ComponentRegistry reader;
  RC_ASSERT(reader.adopt_table(registry.table()).ok());
  RC_ASSERT(reader.table() == registry.table());
}

TEST(ComponentTable, EveryRuleOfTheFormatIsChecked) {
  ComponentRegistry registry;
  ASSERT_TRUE(add<1>(registry, "a").ok());
  const Bytes before = registry.table();
  const std::map<std::string, std::string> bad = {
      {"", "short read"},
      {"00 00", "version 0"},
      {"02 00", "version 2"},
      {"01 01 00 01 78", "do not rise"},
      {"01 02 02 01 78 01 01 79", "do not rise"},
      {"01 02 02 01 78 02 01 79", "do not rise"},
      {"01 02 01 01 78 02 01 78", "one name"},
      {"01 01 01 00 78", "empty"},
      {"01 01 01 01 ff", "UTF-8"},
      {"01 01 01 01 0a", "control"},
      {"01 01 01 02 78", "short read"},
      {"01 01 01 8002 78", "varint above its limit"},
      {"01 01 8080808010 01 78", "varint above its limit"},
      {"01 01 8100 01 78", "longer than needed"},
      {"01 8100 01 01 78", "longer than needed"},
      {"01 01 01 8100 78", "longer than needed"},
      {"01 02 01 01 78", "count larger"},
      {"01 ffffffff0f 01 01 78", "count larger"},
      {"01 01 01 01 78 00", "unexpected bytes after the end"},
  };
  for (const auto& [digits, why] : bad) {
    SCOPED_TRACE(digits);
    expect_error(registry.adopt_table(hex(digits)), ErrorCode::corruption, why);
    EXPECT_EQ(registry.table(), before);
  }
}

TEST(ComponentTable, DamageIsAnErrorOrAnotherTable) {
  const Bytes table = hex("01 03 01 03 706f73 02 02 6870 ac02 05 73746f6e65");
  test::for_every_prefix(table, [](const Bytes& cut) {
    expect_error(ComponentRegistry().adopt_table(cut), ErrorCode::corruption, "component table");
  });
  test::for_every_bit_flip(table, [](const Bytes& flipped) {
    const test::AllocationWatch watch;
    ComponentRegistry registry;
    const bool is_accepted = registry.adopt_table(flipped).ok();
    EXPECT_TRUE(!is_accepted || registry.table() == flipped);
    EXPECT_LE(watch.peak_size(), 4096u);
  });
}

}  // namespace
}  // namespace varve
