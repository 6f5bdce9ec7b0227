#include "varve/bytes.h"

#include <algorithm>
#include <cstring>

namespace varve {

bool equal(ByteView a, ByteView b) noexcept {
  // memcmp on a null pointer is undefined even for size 0.
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

Buffer::Buffer(std::size_t size) { resize(size); }

void Buffer::grow(std::size_t capacity) {
  auto block = std::make_shared_for_overwrite<std::byte[]>(capacity);
  if (size_ != 0) std::memcpy(block.get(), block_.get(), size_);
  block_ = std::move(block);
  capacity_ = capacity;
}

Bytes Buffer::freeze() && {
  const ByteView shown = view();
  capacity_ = size_ = 0;
  return Bytes::pinning(std::shared_ptr<const void>(std::move(block_)), shown);
}

Bytes::~Bytes() = default;
Bytes::Bytes(const Bytes& other) noexcept = default;
Bytes& Bytes::operator=(const Bytes& other) noexcept = default;

Bytes& Bytes::operator=(Bytes&& other) noexcept {
  owner_ = std::move(other.owner_);
  view_ = std::exchange(other.view_, {});
  return *this;
}

Bytes Bytes::copy_of(ByteView view) {
  Buffer copy(view.size());
  if (!view.empty()) std::memcpy(copy.data(), view.data(), view.size());
  return std::move(copy).freeze();
}

Bytes Bytes::copy_of(ByteView first, ByteView second) {
  Buffer copy(first.size() + second.size());
  if (!first.empty()) std::memcpy(copy.data(), first.data(), first.size());
  if (!second.empty()) std::memcpy(copy.data() + first.size(), second.data(), second.size());
  return std::move(copy).freeze();
}

Bytes Bytes::slice(std::size_t offset, std::size_t size) const {
  offset = std::min(offset, view_.size());
  size = std::min(size, view_.size() - offset);
  return {owner_, view_.subspan(offset, size)};
}

Buffer Bytes::clone() const {
  Buffer copy(size());
  if (!empty()) std::memcpy(copy.data(), data(), size());
  return copy;
}

}  // namespace varve
