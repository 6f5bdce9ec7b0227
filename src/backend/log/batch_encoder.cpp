#include "backend/log/batch_encoder.h"

#include <cstring>

#include "backend/log/index.h"
#include "base/byte_writer.h"
#include "base/endian.h"
#include "io/thread_rank.h"
#include "varve/checksum.h"

namespace varve::log {
namespace {

std::size_t varint_size(std::uint64_t value) noexcept {
  std::size_t size = 1;
  while (value >= 0x80) {
    value >>= 7;
    ++size;
  }
  return size;
}

// memcpy on a null pointer is undefined even for size 0.
void copy_to(std::byte* to, ByteView bytes) noexcept {
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
}

// `value` is what `pieces` are together.
std::uint64_t checksum_of(ByteView key, const ValuePieces& pieces, ByteView value,
                          std::uint64_t salt, std::uint64_t offset) noexcept {
  if (pieces.body_hash && pieces.head.size() == kValueStartSize) {
    return value_checksum(key, pieces.head, *pieces.body_hash, salt, offset);
  }
  return value_checksum(key, value, salt, offset);
}

// Where the fields stand that are known last.
constexpr std::size_t kChecksumOffset = kBatchHeaderSize - 8;

// A block that is used again and again is given up once it is that large: a game that saved its
// whole world once should not pay for it in memory for ever.
constexpr std::size_t kKeptBufferSize = std::size_t{16} << 20;

}  // namespace

void BatchEncoder::clear() noexcept {
  records_.clear();
  offsets_.clear();
  values_size_ = 0;
  if (buffer_.capacity() > kKeptBufferSize) buffer_ = Buffer();
}

void BatchEncoder::add(const BatchRecord& record) {
  records_.push_back(record);
  if (record.value) {
    values_size_ += round_up(kValueHeaderSize + record.value->size(), Location::kUnit);
  }
}

std::uint64_t BatchEncoder::directory_size(std::uint64_t sequence) const noexcept {
  std::uint64_t size = 0;
  for (const BatchRecord& record : records_) {
    size += 2 + record.key.size();
    if (record.version != sequence) size += varint_size(record.version);
    if (record.value) size += varint_size(record.value->size()) + sizeof(std::uint64_t);
  }
  return size;
}

bool BatchEncoder::fits(std::uint64_t sequence) const noexcept {
  constexpr std::uint64_t kDirectorySizeMax = std::uint64_t{1} << 31;
  return directory_size(sequence) <= kDirectorySizeMax;
}

std::uint64_t BatchEncoder::padded_size(std::uint64_t sequence) const noexcept {
  return round_up(
      round_up(kBatchHeaderSize + directory_size(sequence), Location::kUnit) + values_size_,
      kBlockSize);
}

ByteView BatchEncoder::encode(BatchHeader& header, std::uint64_t salt, std::uint64_t batch_offset) {
  header.record_count = static_cast<std::uint32_t>(records_.size());
  header.directory_size = static_cast<std::uint32_t>(directory_size(header.sequence));
  std::uint64_t offset = round_up(kBatchHeaderSize + header.directory_size, Location::kUnit);
  header.size = offset + values_size_;
  const std::uint64_t padded = round_up(header.size, kBlockSize);
  buffer_.resize(static_cast<std::size_t>(padded));
  offsets_.resize(records_.size());

  ByteWriter w;
  w.reserve(kBatchHeaderSize + header.directory_size);
  w.text("VBAT");
  w.u32_le(header.record_count);
  w.u64_le(header.sequence);
  w.u64_le(header.first_sequence);
  w.u64_le(header.durable_sequence);
  w.u64_le(header.chain);
  w.u32_le(header.directory_size);
  w.u32_le(header.again ? 1 : 0);
  w.u64_le(header.size);
  w.u64_le(0);
  std::byte* const to = buffer_.data();
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const BatchRecord& record = records_[i];
    const bool is_copy = record.version != header.sequence;
    w.u8(static_cast<std::uint8_t>((record.value ? 0 : 1) | (is_copy ? 2 : 0)));
    w.u8(static_cast<std::uint8_t>(record.key.size()));
    w.bytes(record.key);
    if (is_copy) w.varint(record.version);
    offsets_[i] = 0;
    if (!record.value) continue;
    offsets_[i] = batch_offset + offset;
    std::byte* const value = to + offset + kValueHeaderSize;
    const std::size_t value_size = record.value->size();
    copy_to(value, record.value->head);
    copy_to(value + record.value->head.size(), record.value->body);
    const std::uint64_t checksum =
        checksum_of(record.key, *record.value, {value, value_size}, salt, offsets_[i]);
    w.varint(value_size);
    w.u64_le(checksum);
    store_le<std::uint64_t>(to + offset, checksum);
    give_way(value_size);
    const std::uint64_t end = offset + kValueHeaderSize + value_size;
    offset = round_up(end, Location::kUnit);
    std::memset(to + end, 0, static_cast<std::size_t>(offset - end));
  }
  header.checksum =
      xxh3(w.view().subspan(kBatchHeaderSize), xxh3(w.view().first(kChecksumOffset), salt));
  w.patch_u64_le(kChecksumOffset, header.checksum);
  std::memcpy(to, w.view().data(), w.size());
  const std::uint64_t values_begin = round_up(w.size(), Location::kUnit);
  std::memset(to + w.size(), 0, static_cast<std::size_t>(values_begin - w.size()));
  // Whole blocks are written, so that the kernel need not read one first to fill it up.
  std::memset(to + header.size, 0, static_cast<std::size_t>(padded - header.size));
  return buffer_.view();
}

}  // namespace varve::log
