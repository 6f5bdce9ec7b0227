#include "backend/log/batch_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/endian.h"
#include "base/try.h"

namespace varve::log {
namespace {

Result<std::optional<Batch>> read_within(const File& file, std::uint64_t file_size,
                                         std::uint64_t offset, std::uint64_t salt,
                                         FindBudget* budget) {
  if (offset >= file_size) return std::nullopt;
  const std::uint64_t room = file_size - offset;
  Buffer head(static_cast<std::size_t>(std::min<std::uint64_t>(room, kBlockSize)));
  VARVE_ASSIGN(const std::size_t got, file.read_at(offset, head.span()));
  head.resize(got);
  const auto header = decode_batch_header(head.view(), room);
  if (!header) return std::nullopt;
  // The header's size fits into the file, so this is no larger than what is there.
  const std::size_t head_size = kBatchHeaderSize + header->directory_size;
  if (head_size > got) {
    if (budget != nullptr && !budget->take(head_size)) return std::nullopt;
    head.resize(head_size);
    VARVE_ASSIGN(const std::size_t more, file.read_at(offset + got, head.span().subspan(got)));
    if (got + more < head_size) return std::nullopt;
  }
  if (!has_good_head(*header, head.view(), salt)) return std::nullopt;
  Batch batch{.header = *header, .offset = offset, .entries = {}, .head = std::move(head).freeze()};
  auto entries = decode_directory(*header, batch.head, offset);
  if (!entries && entries.error().code() == ErrorCode::corruption) return std::nullopt;
  if (!entries) return entries.error();
  batch.entries = *std::move(entries);
  return batch;
}

}  // namespace

Result<std::optional<Batch>> read_batch(const File& file, std::uint64_t file_size,
                                        std::uint64_t offset, std::uint64_t salt) {
  return read_within(file, file_size, offset, salt, nullptr);
}

Result<std::optional<Batch>> find_batch(const File& file, std::uint64_t file_size,
                                        std::uint64_t offset, std::uint64_t salt,
                                        FindBudget& budget) {
  for (; offset < file_size; offset += kBlockSize) {
    VARVE_ASSIGN(std::optional<Batch> batch, read_within(file, file_size, offset, salt, &budget));
    if (batch) return batch;
  }
  return std::nullopt;
}

Result<Bytes> read_value(const File& file, ByteView key, std::uint64_t offset,
                         std::uint32_t value_size, std::uint64_t salt) {
  Buffer record(kValueHeaderSize + value_size);
  VARVE_TRY(file.read_exactly(offset, record.span()));
  Bytes value = std::move(record).freeze().slice(kValueHeaderSize);
  const std::uint64_t stored = load_le<std::uint64_t>(value.data() - kValueHeaderSize);
  const std::uint64_t found = value_checksum(key, value, salt, offset);
  if (stored == found) return value;
  return corruption(
      fmt::format("{}: the value of {} bytes at offset {} is damaged: its checksum is "
                  "{:016x}, and {:016x} was expected",
                  file.path(), value_size, offset, found, stored));
}

Result<bool> has_value(const File& file, const DirectoryEntry& entry, std::uint64_t salt) {
  const auto value = read_value(file, entry.key, entry.offset, entry.value_size, salt);
  if (!value && value.error().code() != ErrorCode::corruption) return value.error();
  // A stale value with a checksum that fits itself is not the one of this batch.
  return value && value_checksum(entry.key, *value, salt, entry.offset) == entry.checksum;
}

Result<bool> has_all_values(const File& file, const Batch& batch, std::uint64_t salt) {
  for (const DirectoryEntry& entry : batch.entries) {
    if (entry.erases) continue;
    VARVE_ASSIGN(const bool is_there, has_value(file, entry, salt));
    if (!is_there) return false;
  }
  return true;
}

}  // namespace varve::log
