#include "store/varve/shared_payload.h"

#include <fmt/format.h>

#include "base/byte_reader.h"
#include "base/try.h"
#include "codec/varint.h"
#include "store/varve/payload.h"
#include "store/varve/payload_frame.h"

namespace varve {

bool looks_like_reference(ByteView frame) noexcept {
  constexpr auto kForm =
      static_cast<std::byte>(static_cast<unsigned>(PayloadTransform::shared) << 4);
  return frame.size() > kChecksumSize && frame[kChecksumSize] == kForm;
}

Result<Bytes> encode_reference(ByteView key, ByteView frame, const Hash128& hash) {
  VARVE_ASSIGN(const PayloadInfo of, inspect_payload(frame));
  ByteWriter out;
  begin_frame({.transform = PayloadTransform::shared,
               .recipe = of.recipe,
               .payload_size = of.payload_size,
               .content_hash = hash},
              out);
  seal_frame(key, 0, out);
  return out.take();
}

Result<Reference> decode_reference(ByteView key, ByteView frame, bool is_verified) {
  if (!is_verified) VARVE_TRY(check_seal(key, frame));
  VARVE_ASSIGN(const auto head, read_head(frame));
  const auto& [info, head_size] = head;
  if (info.transform != PayloadTransform::shared) {
    return corruption("a payload where a reference to a shared one has to be");
  }
  if (head_size != frame.size()) {
    return corruption(fmt::format("a reference of {} bytes, with {} more behind it", head_size,
                                  frame.size() - head_size));
  }
  return Reference{info.content_hash, info.payload_size, info.recipe};
}

Bytes sealed_for(ByteView key, ByteView frame) {
  ByteWriter out;
  out.bytes(frame);
  seal_frame(key, 0, out);
  return out.take();
}

bool are_same_but_for_key(ByteView a, ByteView b) noexcept {
  return a.size() >= kChecksumSize && b.size() >= kChecksumSize &&
         equal(behind_checksum(a), behind_checksum(b));
}

Bytes encode_shared_count(std::uint64_t count) {
  ByteWriter out;
  out.varint(count);
  return out.take();
}

Result<std::uint64_t> decode_shared_count(ByteView in) {
  ByteReader r(in);
  const std::uint64_t count = minimal_varint(r, kSharedCountMax);
  if (r.ok() && count == 0) r.fail("nothing is counted");
  VARVE_TRY(r.finish("count of a shared payload"));
  return count;
}

std::string shared_name(const Hash128& hash) {
  return fmt::format("shared payload {:016x}{:016x}", hash.high, hash.low);
}

Result<std::map<Hash128, std::uint64_t>> count_references(const ReadView& view, bool is_verified) {
  std::map<Hash128, std::uint64_t> counts;
  RangeQuery query{.prefix = SaveKey(KeyTag::chunk).copy(), .raw_size_max = kReferenceSizeMax};
  for (std::optional<Bytes> from = Bytes(); from;) {
    query.from = *from;
    VARVE_ASSIGN(RangePage page, view.range(query));
    for (const RangeEntry& entry : page.entries) {
      if (!entry.value || !looks_like_reference(*entry.value)) continue;
      // The beginnings of values are compared with no checksum.
      const auto value = view.get(entry.key);
      if (!value && value.error().code() != ErrorCode::corruption) return value.error();
      if (!value || !*value) continue;
      if (const auto reference = decode_reference(entry.key, **value, is_verified)) {
        ++counts[reference->hash];
      }
    }
    from = std::move(page.next);
  }
  return counts;
}

}  // namespace varve
