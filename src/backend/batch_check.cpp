#include "backend/batch_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/guarded.h"
#include "base/try.h"

namespace varve {
namespace {

constexpr std::size_t kShownSizeMax = 32;

bool is_plain(std::byte byte) { return byte >= std::byte{0x20} && byte <= std::byte{0x7e}; }

Status check_value(const BackendTraits& traits, const WriteBatch::Change& change) {
  if (!change.value || change.value->size() <= traits.value_size_max) return {};
  return invalid_argument(fmt::format(
      "the value of key {} has {} bytes; the backend {} takes values of at most {}",
      printable_key(change.key), change.value->size(), traits.name, traits.value_size_max));
}

ByteView atomic_part(const BackendTraits& traits, ByteView key) {
  return key.first(std::min(key.size(), traits.atomic_prefix_size));
}

Status check_together(const BackendTraits& traits, ByteView first, ByteView key) {
  if (traits.atomic_scope == AtomicScope::batch) return {};
  if (equal(atomic_part(traits, first), atomic_part(traits, key))) return {};
  return invalid_argument(fmt::format(
      "keys {} and {} are in one batch; the backend {} takes keys together only if "
      "they agree in their first {} bytes",
      printable_key(first), printable_key(key), traits.name, traits.atomic_prefix_size));
}

}  // namespace

Status check_key(const BackendTraits& traits, ByteView key) {
  if (!key.empty() && key.size() <= traits.key_size_max) return {};
  return or_out_of_memory([&]() -> Status {
    return invalid_argument(fmt::format("key {} has {} bytes; the backend {} takes keys of 1 to {}",
                                        printable_key(key), key.size(), traits.name,
                                        traits.key_size_max));
  });
}

Status check_batch(const BackendTraits& traits, const WriteBatch& batch) {
  return or_out_of_memory([&]() -> Status {
    for (const WriteBatch::Change& change : batch.changes()) {
      VARVE_TRY(check_key(traits, change.key));
      VARVE_TRY(check_value(traits, change));
      VARVE_TRY(check_together(traits, batch.changes().front().key, change.key));
    }
    if (batch.size() <= traits.batch_size_max) return {};
    return invalid_argument(fmt::format(
        "the batch of {} changes that begins with key {} has {} bytes; the backend {} takes "
        "batches of at most {}",
        batch.count(), printable_key(batch.changes().front().key), batch.size(), traits.name,
        traits.batch_size_max));
  });
}

Error closed_error(const BackendTraits& traits) {
  Status closed = or_out_of_memory([&]() -> Status {
    return invalid_argument(fmt::format("the backend {} is closed", traits.name));
  });
  return std::move(closed).error();
}

std::string printable_key(ByteView key) {
  const ByteView shown = key.first(std::min(key.size(), kShownSizeMax));
  std::string text;
  if (std::all_of(key.begin(), key.end(), is_plain)) {
    text.append("\"").append(as_text(shown)).append("\"");
  } else {
    text = "0x";
    for (const std::byte byte : shown) text += fmt::format("{:02x}", std::to_integer<int>(byte));
  }
  return shown.size() < key.size() ? text + "..." : text;
}

}  // namespace varve
