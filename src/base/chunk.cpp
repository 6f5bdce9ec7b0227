#include "varve/chunk.h"

namespace varve {

void Chunk::mark_changed(ByteView edit) {
  changed_ = true;
  if (edits_ != nullptr) edits_->push_back(Bytes::copy_of(edit));
}

}  // namespace varve
