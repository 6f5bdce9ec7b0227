// Invariants checked: no segment or mark reads out of bounds, allocates more than its size allows
// or makes a walk go on for ever; what a log shows are ticks that rise, up to the latest, with
// payloads that decompress; what is not shown is an error or lies behind the end; and the log can
// be gone on with.
//
// Each input is a segment, and, since no mutation finds a checksum, a segment again with the
// checksums of its header and of what looks like entries made to fit.
#include <algorithm>

#include "base/endian.h"
#include "fuzz_target.h"
#include "io/sim/sim_disk.h"
#include "journal/tick_log.h"
#include "journal/wal_format.h"
#include "journal/wal_walk.h"
#include "varve/checksum.h"

namespace varve::fuzz {
namespace {

using namespace journal;  // NOLINT(google-build-using-namespace)

constexpr TickLogOptions kOptions{.durability = {.kind = Durability::Kind::every_commit},
                                  .segment_size = 16 << 10,
                                  .prepared_size = 1 << 10,
                                  .background = false};

// Makes the header one of segment 1, and everything that may be an entry valid.
void mend(Buffer& file) {
  if (file.size() < kSegmentHeaderSize) return;
  const std::string_view start("RGBWAL\x01\x00\x01\x00\x00\x00\x00\x00\x00\x00", 16);
  std::copy_n(as_byte_view(start).begin(), start.size(), file.data());
  file.span()[24] &= std::byte{0x03};
  file.span()[25] =
      std::byte{static_cast<std::uint8_t>(std::to_integer<int>(file.span()[25]) % 13)};
  file.span()[26] &= std::byte{0x02};
  store_le<std::uint32_t>(file.data() + 60, crc32(file.view().first(60)));
  const std::uint32_t alignment = 1u << std::to_integer<int>(file.span()[25]);
  for (std::uint64_t at = kSegmentHeaderSize; at + kEntryHeaderSize <= file.size();) {
    at = entry_position(at, alignment);
    if (at + kEntryHeaderSize > file.size()) return;
    std::byte* const entry = file.data() + at;
    if (load_le<std::uint32_t>(entry) == kPadding) {
      at = round_up(at + sizeof kPadding, alignment);
      continue;
    }
    auto header = decode_entry_header({entry, kEntryHeaderSize});
    const std::uint64_t room = file.size() - at - kEntryHeaderSize;
    if (!header || header->payload_size > room) return;
    header->checksum = entry_checksum(
        *header, file.view().subspan(at + kEntryHeaderSize, header->payload_size), 1);
    encode_entry_header(*header, entry);
    at += kEntryHeaderSize + header->payload_size;
  }
}

Status check_reading(const TickLog& log) {
  std::optional<std::uint64_t> last;
  const Status status =
      log.read(0, ~std::uint64_t{0}, [&](std::uint64_t tick, const Bytes& payload) -> Result<bool> {
        VARVE_INVARIANT(!last || tick > *last);
        VARVE_INVARIANT(payload.size() <= kPayloadSizeMax);
        last = tick;
        return true;
      });
  VARVE_INVARIANT(status || status.error().code() == ErrorCode::corruption);
  VARVE_INVARIANT(!status || last == log.latest_tick() || !log.report().problems.empty());
  return status;
}

bool check_segment(ByteView file) {
  sim::SimDisk disk;
  disk.set_recording(false);
  VARVE_INVARIANT(disk.create_dir("log"));
  {
    const auto made = disk.open("log/" + segment_name(1), OpenMode::create_new);
    VARVE_INVARIANT(made && (*made)->write_at(0, file));
  }
  const auto reader = TickLog::open_to_read(disk, "log");
  const bool is_read = reader && check_reading(**reader) && (*reader)->latest_tick();
  const auto log = TickLog::open(disk, "log", kOptions);
  if (!log) return false;  // `unsupported`, or a payload that was never one.
  (void)check_reading(**log);
  const std::uint64_t latest = (*log)->latest_tick().value_or(0);
  if (latest == ~std::uint64_t{0}) return is_read;
  VARVE_INVARIANT((*log)->append(latest + 1, as_byte_view("onwards")));
  VARVE_INVARIANT((*log)->latest_tick() == latest + 1);
  VARVE_INVARIANT((*log)->close());
  return is_read;
}

}  // namespace

bool check_input(ByteView in) {
  (void)decode_mark(in);
  bool is_accepted = check_segment(in);
  Buffer file = Bytes::copy_of(in).clone();
  mend(file);
  is_accepted = check_segment(file.view()) || is_accepted;
  return is_accepted;
}

std::vector<std::string> seeds() {
  std::vector<std::string> all;
  for (const std::uint32_t count : {1, 3}) {
    for (const CompressionId codec :
         {CompressionId::none, CompressionId::lz4, CompressionId::zstd}) {
      sim::SimDisk disk;
      TickLogOptions options = kOptions;
      options.durability = {.kind = Durability::Kind::every_n, .count = count};
      options.compression = codec;
      const auto log = TickLog::open(disk, "log", options);
      for (std::uint64_t tick = 3; tick < 9; ++tick) {
        VARVE_INVARIANT((*log)->append(tick, as_byte_view(std::string(tick * 12, 'x'))));
      }
      VARVE_INVARIANT((*log)->close());
      const auto file = disk.open("log/" + segment_name(1), OpenMode::read);
      all.emplace_back((*file)->read_all(1 << 20)->text());
    }
  }
  return all;
}

}  // namespace varve::fuzz
