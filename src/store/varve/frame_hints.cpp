#include "store/varve/frame_hints.h"

#include <atomic>

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

std::uint64_t tag_of(std::uint64_t entry) { return entry >> kTagShift; }

}  // namespace

FrameHints::Hint FrameHints::hint_of(ByteView key, ByteView frame) noexcept {
  Hint hint{.key_hash = xxh3(key)};
  if (const auto recipe = recipe_of(frame)) {
    hint.entry = tag_of(hint.key_hash) << kTagShift | std::uint64_t{*recipe} << kRecipeShift |
                 load_le<std::uint32_t>(frame.data());
  }
  return hint;
}

// calloc, since it leaves large memory to the system, which has it zeroed and untouched.
FrameHints::FrameHints(bool used) noexcept
    : slots_(used ? static_cast<std::uint64_t*>(std::calloc(kSlotCount, sizeof(std::uint64_t)))
                  : nullptr) {}

std::uint64_t* FrameHints::slot_of(const Hint& hint) const noexcept {
  return &slots_[hint.key_hash % kSlotCount];
}

void FrameHints::note(const Hint& fresh) noexcept {
  if (slots_ == nullptr) return;
  std::atomic_ref(*slot_of(fresh)).store(fresh.entry, std::memory_order_relaxed);
}

void FrameHints::note_read(const Hint& read) noexcept {
  if (slots_ == nullptr) return;
  const std::atomic_ref slot(*slot_of(read));
  std::uint64_t known = slot.load(std::memory_order_relaxed);
  if (known != 0 && tag_of(known) == tag_of(read.key_hash)) return;
  // If a commit comes in between, its entry stays.
  (void)slot.compare_exchange_strong(known, read.entry, std::memory_order_relaxed);
}

bool FrameHints::is_other(const Hint& fresh) const noexcept {
  if (slots_ == nullptr || fresh.entry == 0) return false;
  const std::uint64_t known = std::atomic_ref(*slot_of(fresh)).load(std::memory_order_relaxed);
  // Frames made by different recipes may hold the same.
  return known != 0 && known != fresh.entry && known >> kRecipeShift == fresh.entry >> kRecipeShift;
}

}  // namespace varve
