// How the sample disk store writes a generation down: all of it, with one checksum.
#pragma once

#include <string_view>

#include "store/record_tables.h"

namespace varve::test {

inline constexpr std::string_view kOneFileMagic = "VARVEONE";

// Magic, u64 xxh3 of all that follows, then generation, tick, generator and the records
// by kind, each kind sorted by key and led by its count.
Bytes encode_one_file(const RecordTables& tables);

// `in` may be anything. Payloads are slices of it. `path` is for messages.
Result<SharedTables> decode_one_file(const Bytes& in, std::string_view path);

}  // namespace varve::test
