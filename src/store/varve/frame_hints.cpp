#include "store/varve/frame_hints.h"

#include <atomic>
#include <optional>

#include "base/endian.h"
#include "store/varve/payload_frame.h"
#include "varve/checksum.h"

namespace varve {
namespace {

// 256 KiB, of which pages are taken as they are used.
constexpr std::size_t kSlotCount = std::size_t{1} << 15;

// A slot is 16 bits of the key's hash, the recipe of the frame and half of its checksum. 0: nothing
// is known.
constexpr int kTagShift = 48;
constexpr int kRecipeShift = 32;

std::uint64_t tag_of(std::uint64_t hash) { return hash >> kTagShift; }

// nullopt for what is no frame.
std::optional<std::uint64_t> entry_of(std::uint64_t hash, ByteView frame) {
  const auto head = read_head(frame);
  if (!head) return std::nullopt;
  return tag_of(hash) << kTagShift | std::uint64_t{head->first.recipe} << kRecipeShift |
         load_le<std::uint32_t>(frame.data());
}

}  // namespace

// calloc, since it leaves large memory to the system, which has it zeroed and untouched.
FrameHints::FrameHints(bool used) noexcept
    : slots_(used ? static_cast<std::uint64_t*>(std::calloc(kSlotCount, sizeof(std::uint64_t)))
                  : nullptr) {}

std::uint64_t* FrameHints::slot_of(std::uint64_t hash) const noexcept {
  return &slots_[hash % kSlotCount];
}

void FrameHints::note(ByteView key, ByteView frame) {
  if (slots_ == nullptr) return;
  const std::uint64_t hash = xxh3(key);
  const std::atomic_ref slot(*slot_of(hash));
  slot.store(entry_of(hash, frame).value_or(0), std::memory_order_relaxed);
}

void FrameHints::note_read(ByteView key, ByteView frame) {
  if (slots_ == nullptr) return;
  const std::uint64_t hash = xxh3(key);
  const std::atomic_ref slot(*slot_of(hash));
  std::uint64_t known = slot.load(std::memory_order_relaxed);
  if (known != 0 && tag_of(known) == tag_of(hash)) return;
  // If a commit comes in between, its entry stays.
  const std::uint64_t entry = entry_of(hash, frame).value_or(0);
  (void)slot.compare_exchange_strong(known, entry, std::memory_order_relaxed);
}

bool FrameHints::is_other(ByteView key, ByteView frame) const {
  if (slots_ == nullptr) return false;
  const std::uint64_t hash = xxh3(key);
  const std::atomic_ref slot(*slot_of(hash));
  const std::uint64_t known = slot.load(std::memory_order_relaxed);
  const auto fresh = entry_of(hash, frame);
  // Frames made by different recipes may hold the same.
  return known != 0 && fresh && known != *fresh && known >> kRecipeShift == *fresh >> kRecipeShift;
}

}  // namespace varve
