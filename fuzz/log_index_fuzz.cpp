// Invariants checked: no input reads out of bounds; an image that is accepted is written again as
// exactly the same bytes, its entries rise, and each is found and can be taken out.
#include "backend/log/index.h"

#include <algorithm>

#include "fuzz_target.h"

namespace varve::fuzz {
namespace {

constexpr std::size_t kSlotCount = 8;

Bytes image_of(const log::Index& index) {
  ByteWriter out;
  const auto rest = index.append_image({}, ByteWriter::kNoLimit, out);
  VARVE_INVARIANT(!rest);
  return out.take();
}

}  // namespace

bool check_input(ByteView in) {
  auto index = log::Index::from_image(in, kSlotCount);
  if (!index) return false;
  index->ensure_order();
  VARVE_INVARIANT(equal(image_of(*index), in));
  std::vector<std::string> keys;
  index->visit({}, [&](ByteView key, const log::Location& location) {
    VARVE_INVARIANT(keys.empty() || keys.back() < as_text(key));
    VARVE_INVARIANT(index->find(key) == location && location.slot < kSlotCount);
    keys.emplace_back(as_text(key));
    return true;
  });
  VARVE_INVARIANT(keys.size() == index->count());
  for (const std::string& key : keys) VARVE_INVARIANT(index->erase(as_byte_view(key)));
  VARVE_INVARIANT(index->count() == 0);
  return true;
}

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  log::Index index;
  index.ensure_order();
  std::uint32_t number = 0;
  for (const std::string prefix : {"", "a", "ab", "chunk 12345", "a prefix above 16 bytes"}) {
    out.emplace_back(image_of(index).text());
    for (unsigned tag = 0; tag < 256; tag += prefix.size() == 2 ? 1 : 40) {
      index.put(as_byte_view(prefix + static_cast<char>(tag)),
                {.slot = static_cast<std::uint16_t>(number % kSlotCount),
                 .offset_unit = number,
                 .value_size = number * 3});
      ++number;
    }
  }
  out.emplace_back(image_of(index).text());
  return out;
}

}  // namespace varve::fuzz
