#include "tool/record_digest.h"

#include <fmt/format.h>

#include <cstring>

#include "varve/checksum.h"

namespace varve::tool {

RecordDigest digest_of(const Record& record) {
  Bytes hashed = record.data;
  if (record.owner) {
    const std::string owner = to_string(*record.owner) + "\n";
    Buffer joined(owner.size() + record.data.size());
    std::memcpy(joined.data(), owner.data(), owner.size());
    if (!record.data.empty()) {
      std::memcpy(joined.data() + owner.size(), record.data.data(), record.data.size());
    }
    hashed = std::move(joined).freeze();
  }
  return {.size = record.data.size(), .crc32 = crc32(hashed), .xxh3 = xxh3(hashed)};
}

std::string escaped_key(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c == ' ') {
      out += "%20";
    } else if (c == '%') {
      out += "%25";
    } else {
      out += c;
    }
  }
  return out;
}

std::string digest_line(const RecordKey& key, const RecordDigest& digest) {
  return fmt::format("{} {} {} {:08x} {:016x}", to_string(key.kind), escaped_key(to_string(key)),
                     digest.size, digest.crc32, digest.xxh3);
}

}  // namespace varve::tool
