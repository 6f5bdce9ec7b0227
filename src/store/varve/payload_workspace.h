// Memory that encoding and decoding work in. For the files of this folder.
#pragma once

#include <cstddef>

#include "base/byte_writer.h"
#include "varve/bytes.h"

namespace varve {

// Gives `out` this size. Its contents are of no use, so they are not moved to a larger block.
inline void resize_for_overwrite(Buffer& out, std::size_t size) {
  if (size > out.capacity()) out = Buffer();
  out.resize(size);
}

// The calling thread's, used again from payload to payload. Held only while no code of a game
// runs, so that a generator that reads a store itself finds it free.
class PayloadWorkspace {
 public:
  // The memory of one large payload is not kept for as long as the thread lives.
  explicit PayloadWorkspace(std::size_t payload_size) noexcept
      : is_kept_(payload_size <= kKeptSizeMax) {}
  ~PayloadWorkspace() {
    if (!is_kept_) mine() = Memory();
  }
  PayloadWorkspace(const PayloadWorkspace&) = delete;
  PayloadWorkspace& operator=(const PayloadWorkspace&) = delete;

  // A payload on its way: in planes, or as a delta that was decompressed, or one that is made.
  Buffer& expanded() const noexcept { return mine().expanded; }
  ByteWriter& delta() const noexcept { return mine().delta; }
  // A frame that may turn out smaller than the one that is there.
  ByteWriter& attempt() const noexcept { return mine().attempt; }

 private:
  static constexpr std::size_t kKeptSizeMax = 4 << 20;

  struct Memory {
    Buffer expanded;
    ByteWriter delta;
    ByteWriter attempt;
  };
  static Memory& mine() noexcept {
    thread_local Memory memory;
    return memory;
  }

  bool is_kept_;
};

}  // namespace varve
