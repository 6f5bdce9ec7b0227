#include "tool/record_digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "varve/checksum.h"

namespace varve::tool {
namespace {

// What programs split lines and words at, in UTF-8.
constexpr std::string_view kBlanks[] = {" ",      "\u00a0", "\u1680", "\u2000", "\u2001",
                                        "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
                                        "\u2007", "\u2008", "\u2009", "\u200a", "\u2028",
                                        "\u2029", "\u202f", "\u205f", "\u3000"};

}  // namespace

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
  while (!key.empty()) {
    // One blank, of those Unicode has, or one byte that is part of none.
    std::size_t size = key.front() == '%' ? 1 : 0;
    for (const std::string_view blank : kBlanks) {
      if (key.starts_with(blank)) size = blank.size();
    }
    for (const char c : key.substr(0, size)) {
      out += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    }
    if (size == 0) out += key.front();
    key.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out;
}

std::string digest_line(const RecordKey& key, const RecordDigest& digest) {
  return fmt::format("{} {} {} {:08x} {:016x}", to_string(key.kind), escaped_key(to_string(key)),
                     digest.size, digest.crc32, digest.xxh3);
}

}  // namespace varve::tool
