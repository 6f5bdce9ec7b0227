#include "varve/chunk.h"

#include <new>

namespace varve {

void Chunk::mark_changed(ByteView edit) noexcept {
  changed_ = true;
  if (edits_ == nullptr) return;
  try {
    edits_->push_back(Bytes::copy_of(edit));
  } catch (const std::bad_alloc&) {
    // The change was made, and a log without it would tell another past.
    changed_as_whole_ = true;
  }
}

}  // namespace varve
