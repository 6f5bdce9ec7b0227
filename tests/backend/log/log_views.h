// Short words for what tests of the log write and read.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <thread>

#include "varve/backend.h"

namespace varve::test {

// A value of this size with no two pieces alike.
inline std::string text_of(std::size_t size, std::uint64_t seed = 1) {
  std::string text(size, '\0');
  for (char& c : text) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    c = static_cast<char>(seed >> 56);
  }
  return text;
}

inline WriteBatch one(std::string_view key, std::string_view text) {
  WriteBatch batch;
  batch.put(as_byte_view(key), Bytes::copy_of(text));
  return batch;
}

// The value, "(none)" or the error.
inline std::string value_at(const ReadView& view, std::string_view key) {
  const auto value = view.get(as_byte_view(key));
  if (!value) return value.error().message();
  return *value ? std::string((*value)->text()) : "(none)";
}

// For what another thread or process does in its own time. False if it has not in a minute.
template <class Condition>
bool wait_until(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace varve::test
