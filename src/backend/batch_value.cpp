#include "varve/backend.h"

namespace varve {

Bytes BatchValue::joined() const { return head_.empty() ? body_ : Bytes::copy_of(head_, body_); }

}  // namespace varve
