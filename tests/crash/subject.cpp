#include "crash/subject.h"

#include <fmt/format.h>

namespace varve::crash {

Step Subject::one_more() const {
  return {.changes = {{"one more", Bytes::copy_of("and still taking commits")}}};
}

Records after(Records records, const Step& step) {
  for (const auto& [key, value] : step.changes) {
    if (value) {
      records[key] = *value;
    } else {
      records.erase(key);
    }
  }
  return records;
}

std::optional<std::string> difference(const Records& expected, const Records& found) {
  for (const auto& [key, value] : expected) {
    const auto it = found.find(key);
    if (it == found.end()) return fmt::format("record '{}' is missing", key);
    if (it->second != value) {
      return fmt::format("record '{}' has {} bytes that differ from the {} expected", key,
                         it->second.size(), value.size());
    }
  }
  for (const auto& [key, value] : found) {
    if (!expected.contains(key)) return fmt::format("record '{}' should not be there", key);
  }
  return std::nullopt;
}

}  // namespace varve::crash
