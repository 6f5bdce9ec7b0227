#include "store/varve/save_header.h"

#include <fmt/format.h>

#include <cassert>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/try.h"

namespace varve {
namespace {

constexpr std::string_view kMagic = "VARVSAVE";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kSize = 48;
constexpr std::uint64_t kKnownFeatures = kFeatureSharedPayloads | kFeatureHeaderCopy;

}  // namespace

bool is_same_state(SaveHeader a, SaveHeader b) noexcept {
  a.features |= kFeatureHeaderCopy;
  b.features |= kFeatureHeaderCopy;
  return a == b;
}

Bytes encode_save_header(const SaveHeader& header) {
  ByteWriter w;
  w.reserve(kSize);
  w.text(kMagic);
  w.u32_le(kVersion);
  w.u32_le(header.generator_number);
  w.u64_le(header.features);
  w.u64_le(header.save_id);
  w.u64_le(header.generation);
  w.u64_le(header.tick);
  assert(w.size() == kSize);
  return w.take();
}

Result<SaveHeader> decode_save_header(ByteView in) {
  constexpr std::string_view kWhat = "header of a save";
  ByteReader r(in);
  r.expect(kMagic);
  const std::uint32_t version = r.u32_le();
  VARVE_TRY(r.status(kWhat));
  if (version != kVersion) {
    return unsupported(
        fmt::format("this save is in version {} of the varve format, and this program knows {}; "
                    "use a newer one",
                    version, kVersion));
  }
  SaveHeader header;
  header.generator_number = r.u32_le();
  header.features = r.u64_le();
  header.save_id = r.u64_le();
  header.generation = r.u64_le();
  header.tick = r.u64_le();
  if (r.ok() && r.remaining() != 0) r.fail("bytes behind it");
  VARVE_TRY(r.status(kWhat));
  if ((header.features & ~kKnownFeatures) != 0) {
    return unsupported(
        fmt::format("this save uses features this program does not know ({:#x}); use a newer one",
                    header.features & ~kKnownFeatures));
  }
  return header;
}

}  // namespace varve
