// The index of one stretch as bytes: docs/formats/history_index_v1.md. Looked up where it lies.
//
// Thread safety: any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "journal/touched.h"
#include "varve/bytes.h"
#include "varve/history.h"
#include "varve/result.h"

namespace varve::journal {

// No stretch is longer, so that a tick in it fits in 32 bits.
inline constexpr std::uint64_t kStretchTicksMax = std::uint64_t{1} << 31;

struct Stretch {
  std::uint64_t first_tick = 0;
  std::uint64_t tick_count = 0;
  // The last stretch of all ends with the last number there is.
  std::uint64_t last_tick() const noexcept {
    const std::uint64_t after = tick_count - 1;
    return after > ~std::uint64_t{0} - first_tick ? ~std::uint64_t{0} : first_tick + after;
  }
  friend bool operator==(const Stretch&, const Stretch&) = default;
};

// invalid_argument if it would have 4 GiB.
Result<Bytes> encode_history(const Stretch& stretch, const Touched& touched);

class HistoryBlob {
 public:
  // Checks the head. corruption if it is not the index of this stretch; unsupported for a later
  // version.
  static Result<HistoryBlob> open(Bytes bytes, const Stretch& stretch);

  // Appends the ticks of the range that speak of `key`. What is looked at is checked: corruption if
  // it is not as it was made. `out` is as it was then.
  Status ticks_of(const TouchedKey& key, const TickRange& range,
                  std::vector<std::uint64_t>& out) const;

  // Rows of a kind, by rising key.
  std::size_t count(TouchedKind kind) const noexcept { return directory(kind).row_count; }
  Result<TouchedKey> key_at(TouchedKind kind, std::size_t row) const;
  Status ticks_at(TouchedKind kind, std::size_t row, const TickRange& range,
                  std::vector<std::uint64_t>& out) const;

  // Everything.
  Status check() const;

 private:
  struct Directory {
    std::size_t offset = 0;
    std::size_t row_count = 0;
    std::size_t row_size = 0;
  };
  const Directory& directory(TouchedKind kind) const noexcept {
    return directories_[static_cast<std::size_t>(kind)];
  }
  const std::byte* row(const Directory& directory, std::size_t i) const noexcept {
    return bytes_.data() + directory.offset + i * directory.row_size;
  }
  std::uint32_t postings_offset(const Directory& directory, std::size_t i) const noexcept;
  // The name at an offset of the names; the offset behind it in `end`.
  Result<std::string_view> name_at(std::uint32_t offset, std::size_t& end) const;
  Result<std::string_view> name_of(const Directory& directory, std::size_t i) const;
  // The row with this name; row_count if there is none.
  Result<std::size_t> find_name(const Directory& directory, std::string_view name) const;
  Result<std::size_t> find(const TouchedKey& key) const;
  std::size_t find_chunk(std::uint32_t space, const ChunkPos& pos) const;
  // Reads a list of ticks. Where it ends in `end`.
  Status read_ticks(std::uint32_t offset, const TickRange& range, std::vector<std::uint64_t>& out,
                    std::size_t& end) const;
  Status check_names(const Directory& directory, bool may_be_empty, std::size_t& end) const;
  Status check_spaces() const;
  Status check_rows(TouchedKind kind, std::size_t& postings_end) const;

  Bytes bytes_;
  Stretch stretch_;
  Directory spaces_;
  std::array<Directory, kTouchedKindCount> directories_;
  ByteView names_;
  ByteView postings_;
};

// By kind, then as directories rise: positions, numbers, names.
bool comes_before(const TouchedKey& a, const TouchedKey& b) noexcept;

}  // namespace varve::journal
