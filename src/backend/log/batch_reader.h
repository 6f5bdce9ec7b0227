// Reads batches back from a segment. What is there may be anything.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "backend/log/log_format.h"
#include "io/file.h"

namespace varve::log {

struct Batch {
  BatchHeader header;
  std::uint64_t offset = 0;
  std::vector<DirectoryEntry> entries;
  Bytes head;  // what the keys are borrowed from

  std::uint64_t end() const noexcept { return round_up(offset + header.size, kBlockSize); }
  bool erases() const noexcept {
    return std::any_of(entries.begin(), entries.end(),
                       [](const auto& entry) { return entry.erases; });
  }
};

// The batch at `offset`, with a header and a directory that have their checksum; nullopt if
// there is none, whatever else may be there. An error if it cannot be read.
Result<std::optional<Batch>> read_batch(const File& file, std::uint64_t file_size,
                                        std::uint64_t offset, std::uint64_t salt);

// What looking for batches in one file may read of directories. A segment may be full of headers
// that each claim the rest of it for theirs; real ones, and those of logs somebody keeps as values,
// take less than twice the file.
class FindBudget {
 public:
  explicit FindBudget(std::uint64_t file_size) : left_(4 * file_size) {}
  bool take(std::uint64_t size) noexcept {
    is_spent_ = is_spent_ || size > left_;
    if (size > left_) return false;
    left_ -= size;
    return true;
  }
  // Batches were passed over because of it.
  bool is_spent() const noexcept { return is_spent_; }

 private:
  std::uint64_t left_;
  bool is_spent_ = false;
};

// The first batch at or behind `offset`: for going on behind a damaged one.
Result<std::optional<Batch>> find_batch(const File& file, std::uint64_t file_size,
                                        std::uint64_t offset, std::uint64_t salt,
                                        FindBudget& budget);

// Reads a value and compares it with its checksum.
Result<Bytes> read_value(const File& file, ByteView key, std::uint64_t offset,
                         std::uint32_t value_size, std::uint64_t salt);

// Whether the value of a put is there as its batch says.
Result<bool> has_value(const File& file, const DirectoryEntry& entry, std::uint64_t salt);
// Whether all values of a batch have their checksums: whether it was written to its end.
Result<bool> has_all_values(const File& file, const Batch& batch, std::uint64_t salt);

}  // namespace varve::log
