// The checksums by which records of two saves are compared, whatever their formats.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tool/records.h"

namespace varve::tool {

struct RecordDigest {
  std::uint64_t size = 0;  // of the payload
  std::uint32_t crc32 = 0;
  std::uint64_t xxh3 = 0;

  friend bool operator==(const RecordDigest&, const RecordDigest&) = default;
};

// Over the decoded payload. Of an entity that has an owner, over the owner's key, a newline
// and the payload: an entity that stands somewhere else is another world.
RecordDigest digest_of(const Record& record);

// A key without blanks: a blank is %20 and a percent sign %25.
std::string escaped_key(std::string_view key);

// "kind key size crc32 xxh3"
std::string digest_line(const RecordKey& key, const RecordDigest& digest);

}  // namespace varve::tool
