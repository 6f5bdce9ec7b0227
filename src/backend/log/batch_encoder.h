// Puts records together into the bytes of one batch.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backend/log/log_format.h"
#include "varve/backend.h"
#include "varve/bytes.h"

namespace varve::log {

// One piece, or two that follow each other.
struct ValuePieces {
  ValuePieces(ByteView whole) : body(whole) {}  // NOLINT(google-explicit-constructor)
  explicit ValuePieces(const BatchValue& value)
      : head(value.head()), body(value.body()), body_hash(value.body_hash()) {}
  std::size_t size() const noexcept { return head.size() + body.size(); }

  ByteView head;
  ByteView body;
  std::optional<std::uint64_t> body_hash;  // if it is known
};

struct BatchRecord {
  ByteView key;
  std::optional<ValuePieces> value;  // nullopt erases
  std::uint64_t version = 0;         // the batch that first wrote it
};

// Its size is known before the segment it goes to is chosen, which the bytes depend on.
class BatchEncoder {
 public:
  // Starts anew; memory is kept.
  void clear() noexcept;
  // The bytes are borrowed until encode().
  void add(const BatchRecord& record);

  std::size_t count() const noexcept { return records_.size(); }
  // Whether its directory can be written: its size has 32 bits.
  bool fits(std::uint64_t sequence) const noexcept;
  // Of a batch whose number is `sequence`; a multiple of kBlockSize.
  std::uint64_t padded_size(std::uint64_t sequence) const noexcept;

  // `header` says what the batch is; counts, sizes and the checksum are filled in. The bytes are
  // valid until the next call.
  ByteView encode(BatchHeader& header, std::uint64_t salt, std::uint64_t batch_offset);
  // After encode(): the offset of record `i` in its segment. 0 for an erasure.
  std::uint64_t offset(std::size_t i) const noexcept { return offsets_[i]; }
  const BatchRecord& record(std::size_t i) const noexcept { return records_[i]; }

 private:
  std::uint64_t directory_size(std::uint64_t sequence) const noexcept;

  std::vector<BatchRecord> records_;
  std::vector<std::uint64_t> offsets_;
  std::uint64_t values_size_ = 0;
  Buffer buffer_;
};

}  // namespace varve::log
