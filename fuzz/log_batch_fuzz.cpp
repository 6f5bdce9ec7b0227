// Invariants checked: no segment reads out of bounds or makes a walk go on for ever; what is taken
// in are batches whose records lie inside them; and a value that is returned has its checksum.
//
// Batches begin on blocks, which are larger than most inputs. So every slice of an input is the
// beginning of a block of its own. Each input is also checked with the checksums and the
// chain of its batches made to fit, which no mutation finds.
#include <algorithm>
#include <cstring>

#include "backend/log/batch_encoder.h"
#include "backend/log/index.h"
#include "backend/log/log_walk.h"
#include "base/endian.h"
#include "fuzz_target.h"
#include "io/sim/sim_disk.h"
#include "varve/checksum.h"

namespace varve::fuzz {
namespace {

using namespace log;  // NOLINT(google-build-using-namespace)

constexpr std::size_t kSliceSize = 512;
constexpr SegmentHeader kHeader{.log_id = 1, .segment_id = 1, .salt = 77};

// The segment's header and the slices, each at the beginning of a block.
Buffer as_segment(ByteView in) {
  const std::size_t slice_count = (in.size() + kSliceSize - 1) / kSliceSize;
  Buffer file((1 + slice_count) * kBlockSize);
  std::memset(file.data(), 0, file.size());
  const Bytes header = encode_segment_header(kHeader);
  std::memcpy(file.data(), header.data(), header.size());
  for (std::size_t i = 0; i < slice_count; ++i) {
    const ByteView slice = in.subspan(i * kSliceSize);
    std::memcpy(file.data() + (1 + i) * kBlockSize, slice.data(),
                std::min(slice.size(), kSliceSize));
  }
  return file;
}

void mend(Buffer& file) {
  std::uint64_t chain = kHeader.salt;
  for (std::size_t offset = kBlockSize; offset + kBlockSize <= file.size(); offset += kBlockSize) {
    std::byte* const batch = file.data() + offset;
    const std::uint64_t room = file.size() - offset;
    const std::uint64_t size =
        std::clamp<std::uint64_t>(load_le<std::uint64_t>(batch + 48), kBatchHeaderSize, room);
    const auto directory_size = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(load_le<std::uint32_t>(batch + 40), size - kBatchHeaderSize));
    store_le<std::uint64_t>(batch + 32, chain);
    store_le<std::uint32_t>(batch + 40, directory_size);
    store_le<std::uint64_t>(batch + 48, size);
    chain = xxh3(ByteView(batch + kBatchHeaderSize, directory_size),
                 xxh3(ByteView(batch, kBatchHeaderSize - 8), kHeader.salt));
    store_le<std::uint64_t>(batch + 56, chain);
  }
}

void check_batch(const Segment& segment, const Batch& batch) {
  VARVE_INVARIANT(batch.offset % kBlockSize == 0 && batch.end() > batch.offset);
  VARVE_INVARIANT(batch.offset + batch.header.size <= segment.file_size);
  for (const DirectoryEntry& entry : batch.entries) {
    VARVE_INVARIANT(!entry.key.empty() && entry.key.size() <= 255);
    VARVE_INVARIANT(entry.version <= batch.header.sequence);
    if (entry.erases) continue;
    VARVE_INVARIANT(entry.offset % Location::kUnit == 0 && entry.offset > batch.offset);
    VARVE_INVARIANT(entry.offset + kValueHeaderSize + entry.value_size <=
                    round_up(batch.offset + batch.header.size, Location::kUnit));
    const auto value =
        read_value(*segment.file, entry.key, entry.offset, entry.value_size, segment.salt);
    VARVE_INVARIANT(value || value.error().code() == ErrorCode::corruption);
    VARVE_INVARIANT(!value || value->size() == entry.value_size);
  }
}

bool check_segment(ByteView file, bool over_gaps, std::optional<std::uint64_t> published) {
  sim::SimDisk disk;
  disk.set_recording(false);
  {
    const auto made = disk.open("segment", OpenMode::create_new);
    VARVE_INVARIANT(made && (*made)->write_at(0, file));
  }
  const auto segment = open_segment(disk, "segment", OpenMode::read, kHeader.segment_id);
  VARVE_INVARIANT(segment);
  std::size_t count = 0;
  std::uint64_t last_sequence = 0;
  LogWalk walk(0, 0, published, over_gaps, [&](const SegmentRef& in, const Batch& batch) {
    ++count;
    check_batch(*in, batch);
    last_sequence = batch.header.sequence;
  });
  const auto in_order = walk.segment(*segment, kBlockSize, (*segment)->salt);
  VARVE_INVARIANT(in_order || in_order.error().code() == ErrorCode::corruption);
  const Status finished = walk.finish();
  VARVE_INVARIANT(finished || finished.error().code() == ErrorCode::corruption);
  VARVE_INVARIANT(count < file.size() / kBlockSize && walk.batch_count() == count);
  VARVE_INVARIANT(walk.durable_sequence() <= walk.sequence());
  // Beside a writer what nobody vouches for does not count.
  VARVE_INVARIANT(!published || last_sequence <= walk.known_durable());
  VARVE_INVARIANT(walk.end() <= round_up((*segment)->file_size, kBlockSize));
  return count != 0;
}

}  // namespace

bool check_input(ByteView in) {
  (void)decode_segment_header(in);
  Buffer file = as_segment(in);
  bool is_accepted = check_segment(file.view(), false, std::nullopt);
  mend(file);
  for (const bool over_gaps : {false, true}) {
    is_accepted = check_segment(file.view(), over_gaps, std::nullopt) || is_accepted;
    check_segment(file.view(), over_gaps, 1);
  }
  return is_accepted;
}

std::vector<std::string> seeds() {
  const auto batch = [](BatchHeader header, const std::vector<BatchRecord>& records) {
    BatchEncoder encoder;
    for (const BatchRecord& record : records) encoder.add(record);
    const ByteView bytes = encoder.encode(header, kHeader.salt, kBlockSize);
    return std::string(as_text(bytes.first(kSliceSize)));
  };
  const auto view = [](std::string_view text) { return as_byte_view(text); };
  const BatchHeader first{.sequence = 1, .first_sequence = 1, .chain = kHeader.salt};
  const BatchHeader again{.sequence = 1, .first_sequence = 1, .chain = kHeader.salt, .again = true};
  const BatchHeader second{.sequence = 2, .first_sequence = 2, .durable_sequence = 1};
  const std::string a = batch(first, {{view("key"), view("value"), 1}});
  const std::string b = batch(second, {{view("key"), std::nullopt, 2},
                                       {view("other"), view(""), 1},
                                       {view("k"), view("longer than one unit"), 2}});
  return {a, a + b, batch(again, {{view("key"), view("value"), 1}}), a + std::string(512, 'x') + b};
}

}  // namespace varve::fuzz
