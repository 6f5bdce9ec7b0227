#include "base/byte_writer.h"
#include "varve/backend.h"

namespace varve {

Bytes BatchValue::joined() const {
  if (head_.empty()) return body_;
  ByteWriter whole;
  whole.reserve(head_.size() + body_.size());
  whole.bytes(head_);
  whole.bytes(body_);
  return whole.take();
}

}  // namespace varve
