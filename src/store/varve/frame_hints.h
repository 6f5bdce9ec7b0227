// Which frames the save holds, as far as anybody remembers.
//
// A commit writes nothing for a chunk that is saved unchanged. To tell that, it looks at the first
// bytes of the frame that is stored: a read from the disk's cache for each chunk, most of which
// have changed. What was read or written lately is remembered here in eight bytes a chunk, and
// those that differ from it need no look.
//
// It is a hint. "Other" may be wrong, after a commit that failed or by an accident of hashes, and
// then the same bytes are written once more. Nothing else ever follows from it.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "varve/bytes.h"

namespace varve {

class FrameHints {
 public:
  // One that is not `used` remembers nothing. So does one there is no memory for.
  explicit FrameHints(bool used) noexcept;

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
  struct Free {
    void operator()(std::uint64_t* memory) const noexcept { std::free(memory); }
  };
  std::uint64_t* slot_of(const Hint& hint) const noexcept;

  std::unique_ptr<std::uint64_t[], Free> slots_;
};

}  // namespace varve
