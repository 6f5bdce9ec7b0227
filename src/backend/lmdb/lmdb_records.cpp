#include "backend/lmdb/lmdb_records.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/batch_check.h"
#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/endian.h"
#include "base/try.h"
#include "varve/checksum.h"

namespace varve::lmdb {
namespace {

// The key counts: a page in the wrong place has good values of other keys. So does that this is a
// seal: a value may begin with a checksum of what follows by itself, seeded with its key, and one
// that was put here without a seal must not pass for a sealed value.
constexpr std::uint64_t kSealSeed = 1;
std::uint64_t checksum_of(ByteView key, ByteView value) {
  return xxh3(value, xxh3(key, kSealSeed));
}

}  // namespace

void seal(ByteView key, const BatchValue& value, std::span<std::byte> out) {
  const std::span<std::byte> behind = out.subspan(kSealSize);
  std::copy(value.head().begin(), value.head().end(), behind.begin());
  std::copy(value.body().begin(), value.body().end(), behind.subspan(value.head().size()).begin());
  store_le<std::uint64_t>(out.data(), checksum_of(key, behind));
}

Result<ByteView> unseal(ByteView key, ByteView stored) {
  if (stored.size() < kSealSize) {
    return corruption(fmt::format("lmdb: key {} has {} bytes, fewer than its checksum",
                                  printable_key(key), stored.size()));
  }
  const ByteView value = stored.subspan(kSealSize);
  const std::uint64_t expected = load_le<std::uint64_t>(stored.data());
  const std::uint64_t found = checksum_of(key, value);
  if (found != expected) {
    return corruption(fmt::format(
        "lmdb: the value of key {} ({} bytes) has the checksum {:016x} and should have {:016x}",
        printable_key(key), value.size(), found, expected));
  }
  return value;
}

Bytes encode_head(const Head& head) {
  ByteWriter out;
  out.u32_le(kFormatVersion);
  out.u64_le(head.sequence);
  out.u64_le(head.live_size);
  return out.take();
}

Result<Head> decode_head(ByteView in) {
  ByteReader reader(in);
  const std::uint32_t version = reader.u32_le();
  if (reader.ok() && version != kFormatVersion) {
    return unsupported(fmt::format("lmdb: version {} of what is stored; this build knows {}",
                                   version, kFormatVersion));
  }
  const Head head{.sequence = reader.u64_le(), .live_size = reader.u64_le()};
  VARVE_TRY(reader.finish("lmdb: head"));
  return head;
}

}  // namespace varve::lmdb
