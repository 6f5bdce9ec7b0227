#include <fmt/format.h>

#include "base/byte_writer.h"
#include "base/try.h"
#include "codec/varint.h"
#include "varve/components.h"

namespace varve {
namespace {

constexpr std::uint8_t kVersion = 1;
// No record is larger, so that a size of 32 bits is enough in every format.
constexpr std::size_t kRecordSizeMax = std::size_t{1} << 30;
constexpr ComponentId kIdMax = ~ComponentId{0};

}  // namespace

// docs/formats/components_v1.md#component-set. Keep the fields, the rules and that page in step.
Result<ComponentSet> ComponentSet::decode(const Bytes& data) {
  if (data.size() > kRecordSizeMax) {
    return corruption(fmt::format("components: {} bytes, more than the {} a record may have",
                                  data.size(), kRecordSizeMax));
  }
  ByteReader r(data);
  const std::uint8_t version = r.u8();
  if (r.ok() && version != kVersion) {
    return corruption(
        fmt::format("components: version {}, expected version {}", version, kVersion));
  }
  // A component takes an id and a size at the least.
  const std::size_t count = r.count(minimal_varint(r, kRecordSizeMax), 2);
  ComponentSet set;
  ComponentId previous = 0;
  for (std::size_t i = 0; i < count && r.ok(); ++i) {
    const auto id = static_cast<ComponentId>(minimal_varint(r, kIdMax));
    // Rising from 1: no id twice, none that is 0, and one order only.
    if (id <= previous) r.fail("component ids do not rise");
    const std::uint64_t size = minimal_varint(r, kRecordSizeMax);
    const std::size_t offset = r.offset();
    r.skip(size);
    if (!r.ok()) break;
    set.values_.emplace_hint(set.values_.end(), id,
                             data.slice(offset, static_cast<std::size_t>(size)));
    previous = id;
  }
  VARVE_TRY(r.finish("components"));
  return set;
}

Result<Bytes> ComponentSet::encode() const {
  if (values_.contains(0)) return invalid_argument("components: 0 is no component id");
  // Summed up first: a set that is too large is refused before it is copied, and one that
  // is not gets a block of exactly its size. The sum stops at the limit, since values that
  // share a block may add up to more than any memory, and to more than a size_t.
  std::size_t size = 1 + varint_size(values_.size());
  for (const auto& [id, value] : values_) {
    size += varint_size(id) + varint_size(value.size());
    if (size > kRecordSizeMax || value.size() > kRecordSizeMax - size) {
      size = kRecordSizeMax + 1;
      break;
    }
    size += value.size();
  }
  if (size > kRecordSizeMax) {
    return invalid_argument(fmt::format(
        "components: together they take more than the {} bytes a record may have", kRecordSizeMax));
  }

  ByteWriter out(kRecordSizeMax);
  out.reserve(size);
  out.u8(kVersion);
  out.varint(values_.size());
  for (const auto& [id, value] : values_) {
    out.varint(id);
    out.varint(value.size());
    out.bytes(value);
  }
  VARVE_TRY(out.status("components"));
  return out.take();
}

const Bytes* ComponentSet::find(ComponentId id) const {
  const auto found = values_.find(id);
  return found == values_.end() ? nullptr : &found->second;
}

}  // namespace varve
