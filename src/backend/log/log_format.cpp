#include "backend/log/log_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "backend/log/index.h"
#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/chained_hash.h"
#include "base/endian.h"
#include "base/try.h"
#include "varve/checksum.h"

namespace varve::log {
namespace {

constexpr std::string_view kSegmentMagic = "VARVELOG";
constexpr std::string_view kBatchMagic = "VBAT";
constexpr std::string_view kControlMagic = "VCTL";
constexpr std::string_view kPinMagic = "VPIN";
constexpr std::string_view kCheckpointMagic = "VARVECHK";
constexpr std::string_view kSegmentSuffix = ".log";
constexpr std::size_t kSegmentDigitCount = 16;
constexpr std::size_t kCheckpointSegmentSize = 56;
constexpr std::uint32_t kSlotCountMax = 1u << 16;

// The checksum of `head` if its version, which stands at `version_offset`, were ours. So a flipped
// bit in the version is told from a newer program, whose fields may mean anything.
std::uint64_t checksum_as_ours(ByteView head, std::size_t version_offset) {
  Buffer copy = Bytes::copy_of(head).clone();
  if (version_offset + 4 > copy.size()) return 0;
  store_le<std::uint32_t>(copy.data() + version_offset, kFormatVersion);
  return xxh3(copy.view());
}

Status check_version(std::uint32_t version, std::string_view what) {
  if (version == kFormatVersion) return {};
  if (version == 0) return corruption(fmt::format("{}: format version 0", what));
  return unsupported(fmt::format(
      "{}: written in format version {}, and this program knows {} at the most; open it "
      "with a newer one",
      what, version, kFormatVersion));
}

}  // namespace

// --- Segments ------------------------------------------------------------------------

Bytes encode_segment_header(const SegmentHeader& header) {
  ByteWriter w;
  w.text(kSegmentMagic);
  w.u32_le(kFormatVersion);
  w.u32_le(static_cast<std::uint32_t>(header.kind));
  w.u64_le(header.log_id);
  w.u64_le(header.segment_id);
  w.u64_le(header.salt);
  w.u64_le(xxh3(w.view()));
  w.align(kBlockSize);
  return w.take();
}

Result<SegmentHeader> decode_segment_header(ByteView block) {
  constexpr std::string_view kWhat = "segment header";
  ByteReader r(block);
  r.expect(kSegmentMagic);
  const std::uint32_t version = r.u32_le();
  const std::uint32_t kind = r.u32_le();
  SegmentHeader header{.log_id = r.u64_le(),
                       .segment_id = r.u64_le(),
                       .salt = r.u64_le(),
                       .kind = static_cast<SegmentKind>(kind)};
  const ByteView checked = block.first(r.offset());
  const bool is_ours = r.u64_le() == checksum_as_ours(checked, kSegmentMagic.size());
  VARVE_TRY(r.status(kWhat));
  if (!is_ours) {
    VARVE_TRY(check_version(version, kWhat));
    r.fail("checksum");
  }
  if (kind > 1) r.fail("unknown kind");
  VARVE_TRY(r.status(kWhat));
  return header;
}

std::string segment_name(std::uint64_t segment_id) {
  return fmt::format("{:016x}{}", segment_id, kSegmentSuffix);
}

std::optional<std::uint64_t> parse_segment_name(std::string_view name) {
  if (!name.ends_with(kSegmentSuffix)) return std::nullopt;
  const std::string_view digits = name.substr(0, name.size() - kSegmentSuffix.size());
  std::uint64_t id = 0;
  const auto [end, failure] = std::from_chars(digits.begin(), digits.end(), id, 16);
  // Only as we write it: "1.log" and "01.log" would be two files of one number.
  if (digits.size() != kSegmentDigitCount || failure != std::errc() || segment_name(id) != name) {
    return std::nullopt;
  }
  return id;
}

// --- Batches -------------------------------------------------------------------------

std::uint64_t value_checksum(ByteView key, ByteView value, std::uint64_t salt,
                             std::uint64_t offset) noexcept {
  const ByteView start = value.first(std::min(value.size(), kValueStartSize));
  return value_checksum(key, start, xxh3(value.subspan(start.size())), salt, offset);
}

std::uint64_t value_checksum(ByteView key, ByteView start, std::uint64_t rest_hash,
                             std::uint64_t salt, std::uint64_t offset) noexcept {
  static_assert(kValueStartSize <= kChainedHeadSizeMax);
  return chained_hash(start, rest_hash, xxh3(key, salt + offset));
}

std::optional<BatchHeader> decode_batch_header(ByteView in, std::uint64_t room) noexcept {
  ByteReader r(in);
  r.expect(kBatchMagic);
  BatchHeader h{};
  h.record_count = r.u32_le();
  h.sequence = r.u64_le();
  h.first_sequence = r.u64_le();
  h.durable_sequence = r.u64_le();
  h.chain = r.u64_le();
  h.directory_size = r.u32_le();
  h.again = (r.u32_le() & 1) != 0;
  h.size = r.u64_le();
  h.checksum = r.u64_le();
  if (!r.ok() || h.size > room) return std::nullopt;
  if (h.size < kBatchHeaderSize || h.directory_size > h.size - kBatchHeaderSize)
    return std::nullopt;
  return h;
}

bool has_good_head(const BatchHeader& header, ByteView in, std::uint64_t salt) noexcept {
  constexpr std::size_t kCheckedSize = kBatchHeaderSize - sizeof(header.checksum);
  if (in.size() < kBatchHeaderSize + header.directory_size) return false;
  const ByteView directory = in.subspan(kBatchHeaderSize, header.directory_size);
  return header.checksum == xxh3(directory, xxh3(in.first(kCheckedSize), salt));
}

Result<std::vector<DirectoryEntry>> decode_directory(const BatchHeader& header, ByteView in,
                                                     std::uint64_t batch_offset) {
  ByteReader r(in.subspan(kBatchHeaderSize, header.directory_size));
  // A record takes three bytes at least: flags, the key's size and one byte of it.
  std::vector<DirectoryEntry> entries(r.count(header.record_count, 3));
  std::uint64_t offset = round_up(kBatchHeaderSize + header.directory_size, Location::kUnit);
  for (DirectoryEntry& entry : entries) {
    const std::uint8_t flags = r.u8();
    entry.erases = (flags & 1) != 0;
    entry.key = r.bytes(r.u8());
    entry.version = (flags & 2) != 0 ? r.varint() : header.sequence;
    if (entry.key.empty() || flags > 3 || entry.version > header.sequence) r.fail("bad record");
    if (entry.erases) continue;
    entry.value_size = static_cast<std::uint32_t>(r.varint(Location::kValueSizeMax));
    entry.checksum = r.u64_le();
    entry.offset = batch_offset + offset;
    offset += round_up(kValueHeaderSize + entry.value_size, Location::kUnit);
    if (!r.ok()) break;
  }
  VARVE_TRY(r.finish("directory of a batch"));
  if (header.size != offset) {
    return corruption("directory of a batch: the values end elsewhere than the batch");
  }
  return entries;
}

// --- Control and pins ----------------------------------------------------------------

Bytes encode_control(const ControlRecord& record) {
  ByteWriter w;
  w.text(kControlMagic);
  w.u32_le(kFormatVersion);
  w.u64_le(record.log_id);
  w.u64_le(record.counter);
  w.u64_le(record.durable_sequence);
  w.u64_le(record.horizon);
  w.u32_le(record.clean ? 1 : 0);
  w.u32_le(static_cast<std::uint32_t>(record.active_size / kBlockSize));
  w.u64_le(record.active_segment_id);
  w.u64_le(record.boot_id);
  w.u64_le(xxh3(w.view()));
  return w.take();
}

Result<ControlRecord> decode_control(ByteView in) {
  constexpr std::string_view kWhat = "control record";
  ByteReader r(in);
  r.expect(kControlMagic);
  const std::uint32_t version = r.u32_le();
  ControlRecord record{.log_id = r.u64_le(),
                       .counter = r.u64_le(),
                       .durable_sequence = r.u64_le(),
                       .horizon = r.u64_le(),
                       .clean = r.u32_le() == 1};
  record.active_size = std::uint64_t{r.u32_le()} * kBlockSize;
  record.active_segment_id = r.u64_le();
  record.boot_id = r.u64_le();
  const std::size_t checked_size = r.offset();
  if (r.u64_le() != xxh3(in.first(std::min(in.size(), checked_size)))) r.fail("checksum");
  VARVE_TRY(r.status(kWhat));
  // After the checksum: unlike other headers this one may be torn.
  VARVE_TRY(check_version(version, kWhat));
  return record;
}

Bytes encode_pin(const PinRecord& record) {
  ByteWriter w;
  w.text(kPinMagic);
  w.u32_le(kFormatVersion);
  w.u64_le(record.sequence);
  w.u64_le(record.generation);
  w.u64_le(xxh3(w.view()));
  w.align(kPinRecordSize);
  return w.take();
}

std::optional<PinRecord> decode_pin(ByteView in) {
  ByteReader r(in);
  r.expect(kPinMagic);
  r.skip(4);
  const PinRecord record{.sequence = r.u64_le(), .generation = r.u64_le()};
  const std::size_t checked_size = r.offset();
  if (r.u64_le() != xxh3(in.first(std::min(in.size(), checked_size))) || !r.ok()) {
    return std::nullopt;
  }
  return record;
}

// --- Checkpoints ---------------------------------------------------------------------

std::uint64_t image_checksum(ByteView image) noexcept {
  std::uint64_t checksum = 0;
  while (!image.empty()) {
    const std::size_t size = std::min(image.size(), kImagePieceSize);
    checksum = xxh3(image.first(size), checksum);
    image = image.subspan(size);
  }
  return checksum;
}

Bytes encode_checkpoint_head(const CheckpointHead& head) {
  ByteWriter w;
  w.text(kCheckpointMagic);
  w.u32_le(kFormatVersion);
  w.u32_le(static_cast<std::uint32_t>(head.segments.size()));
  for (const std::uint64_t field :
       {head.log_id, head.generation, head.sequence, head.needed_sequence, head.tail_segment_id,
        head.tail_offset, head.tail_chain, head.next_segment_id, head.head_size, head.image_size,
        head.image_checksum}) {
    w.u64_le(field);
  }
  for (const CheckpointSegment& segment : head.segments) {
    w.u64_le(segment.id);
    w.u64_le(segment.salt);
    w.u16_le(segment.slot);
    w.u16_le(static_cast<std::uint16_t>(segment.kind));
    w.u32_le(0);
    w.u64_le(segment.used_end);
    w.u64_le(segment.first_sequence);
    w.u64_le(segment.punched_size);
    w.u64_le(segment.erasure_size);
  }
  w.u64_le(xxh3(w.view()));
  if (w.size() < head.head_size) w.zeros(static_cast<std::size_t>(head.head_size) - w.size());
  return w.take();
}

Status check_checkpoint_start(ByteView start, std::uint64_t file_size) {
  ByteReader r(start);
  r.expect(kCheckpointMagic);
  const std::uint32_t version = r.u32_le();
  r.skip(4 + 8 * sizeof(std::uint64_t));
  const std::uint64_t head_size = r.u64_le();
  const std::uint64_t image_size = r.u64_le();
  VARVE_TRY(r.status("checkpoint"));
  // Those of another version stand elsewhere; its checksum tells what to say of it.
  if (version != kFormatVersion) return {};
  if (head_size <= file_size && image_size == file_size - head_size) return {};
  return corruption(fmt::format("checkpoint: {} bytes, but its head takes {} and its image {}",
                                file_size, head_size, image_size));
}

Result<CheckpointHead> decode_checkpoint_head(ByteView file) {
  constexpr std::string_view kWhat = "checkpoint";
  ByteReader r(file);
  r.expect(kCheckpointMagic);
  const std::uint32_t version = r.u32_le();
  VARVE_TRY(r.status(kWhat));
  const std::size_t segment_count = r.count(r.u32_le(), kCheckpointSegmentSize);
  CheckpointHead head{};
  for (std::uint64_t* field :
       {&head.log_id, &head.generation, &head.sequence, &head.needed_sequence,
        &head.tail_segment_id, &head.tail_offset, &head.tail_chain, &head.next_segment_id,
        &head.head_size, &head.image_size, &head.image_checksum}) {
    *field = r.u64_le();
  }
  if (segment_count > kSlotCountMax) r.fail("too many segments");
  for (std::size_t i = 0; i < segment_count && r.ok(); ++i) {
    CheckpointSegment segment{};
    segment.id = r.u64_le();
    segment.salt = r.u64_le();
    segment.slot = r.u16_le();
    segment.kind = static_cast<SegmentKind>(r.u16_le() & 1);
    r.skip(4);
    segment.used_end = r.u64_le();
    segment.first_sequence = r.u64_le();
    segment.punched_size = r.u64_le();
    segment.erasure_size = r.u64_le();
    head.segments.push_back(segment);
  }
  const ByteView checked = file.first(r.offset());
  if (r.u64_le() != checksum_as_ours(checked, kCheckpointMagic.size()) || !r.ok()) {
    VARVE_TRY(check_version(version, kWhat));
    r.fail("checksum");
  }
  VARVE_TRY(r.status(kWhat));
  if (head.tail_offset % kBlockSize != 0 || head.tail_offset < kBlockSize) {
    return corruption("checkpoint: the log goes on where no batch can begin");
  }
  if (head.head_size < r.offset() || head.head_size > file.size() ||
      head.image_size != file.size() - head.head_size) {
    return corruption(fmt::format("checkpoint: {} bytes, but its head takes {} and its image {}",
                                  file.size(), head.head_size, head.image_size));
  }
  return head;
}

}  // namespace varve::log
