// The bytes Varve hands out and takes in.
//
// ByteView is a borrowed look at bytes somebody else keeps alive. Bytes owns
// what it shows: it is an immutable, reference-counted buffer, cheap to copy and
// to slice, which may pin anything (a heap block, a mapped file) for as long as
// a copy of it exists. Buffer is the writable, unshared form a Bytes is made of.
//
// Thread safety: Bytes may be copied, read and destroyed from several threads at
// once, like a shared_ptr to const. Buffer belongs to one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace varve {

using ByteView = std::span<const std::byte>;

// Text as bytes, and bytes as text, without copying.
inline ByteView as_byte_view(std::string_view text) noexcept {
  return std::as_bytes(std::span(text.data(), text.size()));
}
inline std::string_view as_text(ByteView bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// True if both show the same bytes.
bool equal(ByteView a, ByteView b) noexcept;

class Bytes;

// A writable block of a fixed capacity. Its bytes are *not* zeroed: who asks for
// a block is about to fill it. Allocation failure throws std::bad_alloc, which
// the API turns into an error at its edge.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t size);
  Buffer(Buffer&& other) noexcept
      : block_(std::move(other.block_)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    block_ = std::move(other.block_);
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() noexcept { return block_.get(); }
  const std::byte* data() const noexcept { return block_.get(); }
  std::size_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept { return capacity_; }
  bool empty() const noexcept { return size_ == 0; }
  std::span<std::byte> span() noexcept { return {data(), size_}; }
  ByteView view() const noexcept { return {data(), size_}; }

  // Changes the size; bytes that come into view are indeterminate. Growing past
  // the capacity moves the contents to a larger block.
  void resize(std::size_t size) {
    reserve(size);
    size_ = size;
  }
  void reserve(std::size_t capacity) {
    if (capacity > capacity_) [[unlikely]]
      grow(capacity);
  }

  // Gives up the right to write and shares the block, without copying it.
  Bytes freeze() &&;

 private:
  void grow(std::size_t capacity);

  std::shared_ptr<std::byte[]> block_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

// Immutable shared bytes.
class Bytes {
 public:
  // No bytes at all. An empty Bytes is a value ("empty"), never "missing".
  Bytes() = default;
  // One that was moved from is empty. Most of these are not inline: in each place that copies or
  // lets go of one they would be more code than all else.
  ~Bytes();
  Bytes(const Bytes& other) noexcept;
  Bytes& operator=(const Bytes& other) noexcept;
  Bytes& operator=(Bytes&& other) noexcept;
  Bytes(Bytes&& other) noexcept
      : owner_(std::move(other.owner_)), view_(std::exchange(other.view_, {})) {}

  // A copy of `view` in a block of its own.
  static Bytes copy_of(ByteView view);
  static Bytes copy_of(std::string_view text) { return copy_of(as_byte_view(text)); }
  // Of two, one behind the other.
  static Bytes copy_of(ByteView first, ByteView second);

  // `view` without a copy; `owner` is kept until the last Bytes that shares it
  // is gone. This is how a mapping is handed out.
  static Bytes pinning(std::shared_ptr<const void> owner, ByteView view) {
    return Bytes(std::move(owner), view);
  }

  // `view` without a copy and without an owner: for literals and other bytes
  // that outlive everything.
  static Bytes of_static(ByteView view) { return Bytes(nullptr, view); }

  const std::byte* data() const noexcept { return view_.data(); }
  std::size_t size() const noexcept { return view_.size(); }
  bool empty() const noexcept { return view_.empty(); }
  ByteView view() const noexcept { return view_; }
  operator ByteView() const noexcept { return view_; }  // NOLINT(google-explicit-constructor)
  std::string_view text() const noexcept { return as_text(view_); }

  // The part [offset, offset + size), sharing and pinning the same owner. Both
  // are clamped to what is there, so a slice never reaches outside.
  Bytes slice(std::size_t offset, std::size_t size = std::size_t(-1)) const;

  // A private copy to write into.
  Buffer clone() const;

  // How many Bytes share the owner, this one included; 0 where there is none.
  // Exact only while no other thread copies or drops one.
  long owner_count() const noexcept { return owner_.use_count(); }

  friend bool operator==(const Bytes& a, const Bytes& b) noexcept {
    return equal(a.view_, b.view_);
  }

 private:
  Bytes(std::shared_ptr<const void> owner, ByteView view) : owner_(std::move(owner)), view_(view) {}

  std::shared_ptr<const void> owner_;
  ByteView view_;
};

}  // namespace varve
