#include "store/varve/frame_hints.h"

#include <atomic>
#include <memory>

#include "base/endian.h"
#include "store/varve/payload_frame.h"
#include "varve/checksum.h"

namespace varve {
namespace {

// 256 KiB, of which pages are taken as they are used.
constexpr std::size_t kSetCount = std::size_t{1} << 12;

// A slot is 16 bits of the key's hash, the recipe of the frame and half of its checksum. 0: it is
// free.
constexpr int kTagShift = 48;
constexpr int kRecipeShift = 32;

std::uint64_t tag_of(std::uint64_t entry) { return entry >> kTagShift; }

std::uint64_t load(const std::uint64_t& slot) {
  return std::atomic_ref(const_cast<std::uint64_t&>(slot)).load(std::memory_order_relaxed);
}

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
    : memory_(used ? std::calloc(kSetCount + 1, sizeof(Set)) : nullptr) {
  void* begin = memory_.get();
  std::size_t size = (kSetCount + 1) * sizeof(Set);
  if (begin != nullptr) {
    sets_ = static_cast<Set*>(std::align(alignof(Set), kSetCount * sizeof(Set), begin, size));
  }
}

FrameHints::Set& FrameHints::set_of(const Hint& hint) const noexcept {
  return sets_[hint.key_hash % kSetCount];
}

std::uint64_t* FrameHints::find(const Hint& hint) const noexcept {
  for (std::uint64_t& slot : set_of(hint).slots) {
    const std::uint64_t known = load(slot);
    if (known != 0 && tag_of(known) == tag_of(hint.key_hash)) return &slot;
  }
  return nullptr;
}

std::uint64_t& FrameHints::place_for(const Hint& hint) const noexcept {
  Set& set = set_of(hint);
  for (std::uint64_t& slot : set.slots) {
    if (load(slot) == 0) return slot;
  }
  // Any of them: which one is needed least would have to be remembered, too.
  return set.slots[(hint.key_hash / kSetCount) % set.slots.size()];
}

void FrameHints::note(const Hint& fresh) noexcept {
  if (sets_ == nullptr) return;
  std::uint64_t* slot = find(fresh);
  if (slot == nullptr && fresh.entry == 0) return;
  if (slot == nullptr) slot = &place_for(fresh);
  std::atomic_ref(*slot).store(fresh.entry, std::memory_order_relaxed);
}

void FrameHints::note_read(const Hint& read) noexcept {
  if (sets_ == nullptr || read.entry == 0 || find(read) != nullptr) return;
  std::uint64_t& slot = place_for(read);
  std::uint64_t known = load(slot);
  // A commit may have come to the same place since, and its entry stays. If it came to another one,
  // this one is found behind it at most, and costs a write of the same bytes at worst.
  if (known != 0 && tag_of(known) == tag_of(read.key_hash)) return;
  (void)std::atomic_ref(slot).compare_exchange_strong(known, read.entry, std::memory_order_relaxed);
}

bool FrameHints::is_other(const Hint& fresh) const noexcept {
  if (sets_ == nullptr || fresh.entry == 0) return false;
  const std::uint64_t* const slot = find(fresh);
  if (slot == nullptr) return false;
  const std::uint64_t known = load(*slot);
  // Frames made by different recipes may hold the same.
  return known != fresh.entry && known >> kRecipeShift == fresh.entry >> kRecipeShift;
}

}  // namespace varve
