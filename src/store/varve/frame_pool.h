// Memory for frames on their way to a backend, used again from commit to commit.
//
// The allocator gives freed memory back to the system, and the first touch of fresh pages costs a
// small commit more than the copying into them does.
//
// Thread safety: any thread; frames that were shared come back on whichever lets go of them last.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "base/byte_writer.h"
#include "varve/bytes.h"

namespace varve {

class FramePool {
 public:
  // One that is not `used` keeps nothing: for a backend that keeps the memory it is given.
  explicit FramePool(bool used);

  // Empty, with memory if there is any.
  ByteWriter take();
  // A frame that is not needed, of a payload of this size: so much memory it may have taken,
  // however small it has become.
  void give_back(ByteWriter frame, std::size_t payload_size) noexcept;
  // What was written, without a copy. Its memory comes back once nobody holds it.
  Bytes share(ByteWriter frame, std::size_t payload_size);

 private:
  struct Blocks {
    void give_back(ByteWriter frame) noexcept;

    std::mutex mutex;
    std::vector<ByteWriter> free;  // has room for all that are kept
  };
  struct Lent;

  std::shared_ptr<Blocks> blocks_;  // also of frames that outlive the pool
  bool is_used_;
};

}  // namespace varve
