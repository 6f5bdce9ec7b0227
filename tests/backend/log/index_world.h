// Keys and places for tests of the index.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "backend/log/index.h"
#include "base/endian.h"
#include "support/bytes_text.h"

namespace varve::log {

inline void PrintTo(const Location& location, std::ostream* out) {
  *out << "slot " << location.slot << ", unit " << location.offset_unit << ", size "
       << location.value_size;
}

}  // namespace varve::log

namespace varve::log::test {

// Bytes as std::string compare as the index compares keys.
using Model = std::map<std::string, Location>;
using Entries = std::vector<std::pair<std::string, Location>>;

// The key of a chunk in space 0.
inline std::string chunk_key(std::int32_t x, std::int32_t z) {
  std::string key(12, '\0');
  auto* const bytes = reinterpret_cast<std::byte*>(key.data());
  constexpr std::uint32_t kSign = 1u << 31;
  store_be<std::uint32_t>(bytes + 4, static_cast<std::uint32_t>(x) ^ kSign);
  store_be<std::uint32_t>(bytes + 8, static_cast<std::uint32_t>(z) ^ kSign);
  return key;
}

// A place for every number, no two the same below 2^32.
inline Location location_of(std::uint64_t number) {
  return {
      .slot = static_cast<std::uint16_t>(number * 7),
      .offset_unit = static_cast<std::uint32_t>(number),
      .value_size = static_cast<std::uint32_t>(number * 2'654'435'761u) & Location::kValueSizeMax};
}

inline Entries entries_from(const Index& index, std::string_view from) {
  Entries entries;
  index.visit(as_byte_view(from), [&](ByteView key, const Location& location) {
    entries.emplace_back(as_text(key), location);
    return true;
  });
  return entries;
}

inline Entries entries_from(const Model& model, std::string_view from) {
  return {model.lower_bound(std::string(from)), model.end()};
}

inline Bytes image_of(const Index& index, std::size_t size_max = ByteWriter::kNoLimit) {
  ByteWriter out;
  std::optional<std::string> from = "";
  while (from) from = index.append_image(as_byte_view(*from), size_max, out);
  return out.take();
}

// Finds every entry of the model, nothing else, and in order.
inline void expect_same(const Index& index, const Model& model) {
  ASSERT_EQ(index.count(), model.size());
  for (const auto& [key, location] : model) {
    const auto found = index.find(as_byte_view(key));
    ASSERT_TRUE(found && *found == location) << varve::test::to_hex(as_byte_view(key));
  }
  if (index.has_order()) {
    ASSERT_EQ(entries_from(index, ""), entries_from(model, ""));
  }
}

}  // namespace varve::log::test
