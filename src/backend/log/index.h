// Where every value lies: the index of a log, in memory.
//
// Keys that agree in all but their last byte form a group. A group is one piece of memory: the part
// they share, then the last bytes in order, then the places. A lone key is a group of one; the
// chunks of a dense region are groups of up to 256, which cost little more than their places.
// Groups are found through a hash table of references and, once somebody asks for order, through a
// tree of the same references.
//
// Thread safety: find(), visit(), append_image() and memory_size() may run beside each other and
// beside mark_verified(), everything else alone. The tree of
// references is made by ensure_order(); visit() and append_image() need it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_writer.h"
#include "varve/bytes.h"
#include "varve/result.h"

namespace varve::log {

// Where a value lies. Kept in 10 bytes.
struct Location {
  static constexpr std::uint32_t kUnit = 16;
  static constexpr std::uint32_t kValueSizeMax = (1u << 30) - 1;

  std::uint16_t slot = 0;         // of the segment, in the engine's table
  std::uint32_t offset_unit = 0;  // of the record in its segment, in units of 16 bytes
  std::uint32_t value_size = 0;   // at most kValueSizeMax
  // The value was read and its checksum fitted. Not part of where it lies, so that == leaves
  // it out.
  bool verified = false;

  std::uint64_t offset() const noexcept { return std::uint64_t{offset_unit} * kUnit; }
  friend bool operator==(const Location& a, const Location& b) noexcept {
    return a.slot == b.slot && a.offset_unit == b.offset_unit && a.value_size == b.value_size;
  }
};

// The entries that lie in one segment.
struct SlotUse {
  std::uint64_t count = 0;
  std::uint64_t byte_count = 0;  // of keys and values
  std::uint64_t cost = 0;        // what they take there: record_cost()

  friend bool operator==(const SlotUse&, const SlotUse&) = default;
};

class Index {
 public:
  Index();
  ~Index();
  Index(Index&&) noexcept;
  Index& operator=(Index&&) noexcept;

  std::size_t count() const noexcept;
  // Bytes of everything allocated here.
  std::size_t memory_size() const noexcept;

  // Keys have 1 to 255 bytes.
  std::optional<Location> find(ByteView key) const noexcept;
  // Both return what was there before. If memory runs out they throw, and nothing has changed.
  std::optional<Location> put(ByteView key, const Location& location);
  std::optional<Location> erase(ByteView key) noexcept;
  // Sets `to` if the key lies at `from` now.
  bool move(ByteView key, const Location& from, const Location& to) noexcept;
  // If the key still lies there.
  void mark_verified(ByteView key, const Location& location) const noexcept;

  bool has_order() const noexcept;
  void ensure_order();
  // Entries with keys not below `from`, rising, until `visit` returns false. It must not change
  // the index. `key` is borrowed for the call.
  void visit(ByteView from,
             const std::function<bool(ByteView key, const Location& location)>& visit) const;

  // --- As bytes, for checkpoints: docs/formats/varve_log_v1.md#index-image.

  // Adds groups from the one that holds `from` or comes after it, until about `size_max` bytes were
  // added. Returns where to go on, as the next call's `from`, or nullopt at the end. The index
  // may change between two calls: every entry that stays is in the image once, with one
  // of the places it had.
  std::optional<std::string> append_image(ByteView from, std::size_t size_max,
                                          ByteWriter& out) const;
  // What append_image() wrote, in one piece. Hostile bytes are `corruption`. Slots must be below
  // `slot_count`. What lies in each is added to `uses`, if that is asked for.
  static Result<Index> from_image(ByteView image, std::size_t slot_count,
                                  std::vector<SlotUse>* uses = nullptr);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace varve::log
