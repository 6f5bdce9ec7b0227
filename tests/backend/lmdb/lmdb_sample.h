// Batches that tell their number, and what is there after them.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "varve/backend.h"

namespace varve::test {

using Contents = std::map<std::string, std::string>;

inline WriteBatch one(std::string_view key, std::string_view value) {
  WriteBatch batch;
  batch.put(as_byte_view(key), Bytes::copy_of(value));
  return batch;
}

// Bytes that differ from place to place and from number to number.
inline std::string text_of(std::size_t size, std::uint64_t number) {
  std::string text;
  text.reserve(size + 20);
  while (text.size() < size) text += fmt::format("{}.{} ", number, text.size());
  text.resize(size);
  return text;
}

// Batch `n` of a history: small values, large ones on pages of their own, erasures, and now and
// then one that is put and erased at once, whose pages are never written.
inline WriteBatch history_batch(std::uint64_t n) {
  WriteBatch batch = one("number", std::to_string(n));
  const std::uint64_t mixed = n * 2654435761u;
  for (std::uint64_t i = 0; i < 4; ++i) {
    const std::string key = fmt::format("key{}", (mixed >> (4 * i)) % 40);
    if ((mixed >> (20 + i)) % 4 == 0) {
      batch.erase(as_byte_view(key));
    } else {
      const std::size_t size = (mixed >> (24 + i)) % 3 == 0 ? 9000 : 50 + 10 * i;
      batch.put(as_byte_view(key), Bytes::copy_of(text_of(size, n)));
    }
  }
  if (n % 5 == 0) {
    batch.put(as_byte_view("passing"), Bytes::copy_of(text_of(30'000, n)));
    batch.erase(as_byte_view("passing"));
  }
  return batch;
}

inline void apply_to(const WriteBatch& batch, Contents& contents) {
  for (const auto& [key, value] : batch.changes()) {
    if (value) {
      contents[std::string(key.text())] = value->joined().text();
    } else {
      contents.erase(std::string(key.text()));
    }
  }
}

// What is there after the first `count` batches.
inline Contents history_after(std::uint64_t count) {
  Contents contents;
  for (std::uint64_t n = 1; n <= count; ++n) apply_to(history_batch(n), contents);
  return contents;
}

// Everything a view shows, or the error.
inline Result<Contents> contents_of(const ReadView& view) {
  Contents contents;
  RangeQuery query;
  for (;;) {
    auto page = view.range(query);
    if (!page) return page.error();
    for (const RangeEntry& entry : page->entries) {
      if (!entry.value) return entry.value.error();
      contents.emplace(entry.key.text(), entry.value->text());
    }
    if (!page->next) return contents;
    query.from = *page->next;
  }
}

inline std::string value_at(const ReadView& view, std::string_view key) {
  const auto value = view.get(as_byte_view(key));
  if (!value) return value.error().message();
  return *value ? std::string((*value)->text()) : "(none)";
}

// 0 before the first.
inline std::uint64_t number_in(const ReadView& view) {
  const std::string text = value_at(view, "number");
  return text == "(none)" ? 0 : std::stoull(text);
}

inline void expect_words(const Error& error, ErrorCode code, std::string_view words) {
  EXPECT_EQ(error.code(), code) << error.message();
  EXPECT_NE(error.message().find(words), std::string::npos)
      << "'" << words << "' is not in: " << error.message();
}

}  // namespace varve::test
