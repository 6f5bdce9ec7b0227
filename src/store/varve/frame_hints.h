// Which frames the save holds, as far as anybody remembers.
//
// A commit writes nothing for a chunk that is saved unchanged. To tell that, it looks at the first
// bytes of the frame that is stored: a read from the disk's cache for each chunk, most of which
// have changed. What was read or written lately is remembered here in eight bytes a chunk, and
// those that differ from it need no look. A key has the choice of eight places, in one line of the
// processor's cache: with one place a key, a fourth of 10,000 chunks had none.
//
// It is a hint. "Other" may be wrong, after a commit that failed, after a read beside a commit or
// by an accident of hashes, and then the same bytes are written once more. Nothing else ever
// follows from it.
//
// Thread safety: any thread.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "varve/bytes.h"

namespace varve {

class FrameHints {
 public:
  // One that is not `used` remembers nothing. So does one there is no memory for.
  explicit FrameHints(bool used) noexcept;
  FrameHints(const FrameHints&) = delete;
  FrameHints& operator=(const FrameHints&) = delete;

  // What is remembered of a frame under a key.
  struct Hint {
    std::uint64_t key_hash = 0;
    std::uint64_t entry = 0;  // 0: it is no frame
  };
  static Hint hint_of(ByteView key, ByteView frame) noexcept;

  // The frame is about to be stored under the key.
  void note(const Hint& fresh) noexcept;
  // The frame was read there. What a commit noted of the key is newer.
  void note_read(const Hint& read) noexcept;
  // Whether something else is stored. False where nobody knows.
  bool is_other(const Hint& fresh) const noexcept;

 private:
  struct alignas(64) Set {
    std::array<std::uint64_t, 8> slots;
  };
  struct Free {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };

  Set& set_of(const Hint& hint) const noexcept;
  // What is remembered of its key. Null if nothing is.
  std::uint64_t* find(const Hint& hint) const noexcept;
  // Where that goes if nothing is.
  std::uint64_t& place_for(const Hint& hint) const noexcept;

  std::unique_ptr<void, Free> memory_;
  Set* sets_ = nullptr;  // in it, or null if nothing is remembered
};

}  // namespace varve
