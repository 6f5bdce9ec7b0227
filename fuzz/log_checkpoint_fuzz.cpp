// Invariants checked: no input reads out of bounds; a refusal is corruption or a version of the
// future; and what was read is written as something that is read as the same. For the head of a
// checkpoint, the record of a writer and the pin of a reader.
//
// Each input is also checked with its checksum made to fit, which no mutation finds.
#include <algorithm>

#include "backend/log/log_format.h"
#include "base/byte_writer.h"
#include "fuzz_target.h"
#include "varve/checksum.h"

namespace varve::fuzz {
namespace {

using namespace log;  // NOLINT(google-build-using-namespace)

void check_refusal(const Error& error) {
  VARVE_INVARIANT(error.code() == ErrorCode::corruption || error.code() == ErrorCode::unsupported);
}

bool check_head(ByteView in) {
  const auto head = decode_checkpoint_head(in);
  if (!head) {
    check_refusal(head.error());
    return false;
  }
  VARVE_INVARIANT(head->head_size <= in.size());
  VARVE_INVARIANT(head->image_size == in.size() - head->head_size);
  ByteWriter again;
  again.bytes(encode_checkpoint_head(*head));
  again.bytes(in.subspan(static_cast<std::size_t>(head->head_size)));
  const auto same = decode_checkpoint_head(again.view());
  VARVE_INVARIANT(same && same->segments.size() == head->segments.size());
  VARVE_INVARIANT(same->log_id == head->log_id && same->sequence == head->sequence);
  VARVE_INVARIANT(same->needed_sequence == head->needed_sequence);
  VARVE_INVARIANT(same->tail_segment_id == head->tail_segment_id);
  VARVE_INVARIANT(same->tail_offset == head->tail_offset && same->tail_chain == head->tail_chain);
  VARVE_INVARIANT(same->image_checksum == head->image_checksum);
  for (std::size_t i = 0; i < head->segments.size(); ++i) {
    VARVE_INVARIANT(same->segments[i].id == head->segments[i].id);
    VARVE_INVARIANT(same->segments[i].slot == head->segments[i].slot);
    VARVE_INVARIANT(same->segments[i].used_end == head->segments[i].used_end);
  }
  return true;
}

bool check_control(ByteView in) {
  const auto record = decode_control(in);
  if (!record) {
    check_refusal(record.error());
    return false;
  }
  const auto same = decode_control(encode_control(*record));
  VARVE_INVARIANT(same && same->log_id == record->log_id && same->counter == record->counter);
  VARVE_INVARIANT(same->durable_sequence == record->durable_sequence);
  VARVE_INVARIANT(same->horizon == record->horizon && same->clean == record->clean);
  return true;
}

bool check_pin(ByteView in) {
  const auto record = decode_pin(in);
  if (!record) return false;
  const auto same = decode_pin(encode_pin(*record));
  VARVE_INVARIANT(same && same->sequence == record->sequence);
  VARVE_INVARIANT(same->generation == record->generation);
  return true;
}

// The first `size` bytes of the input, zeros where it ends, with their checksum behind them.
Bytes mended(ByteView in, std::size_t size, ByteView rest = {}) {
  ByteWriter out;
  out.bytes(in.first(std::min(in.size(), size)));
  out.zeros(size - out.size());
  out.u64_le(xxh3(out.view()));
  out.bytes(rest);
  return out.take();
}

// As many segments as the input has room for, and the rest as the image.
Bytes mended_head(ByteView in) {
  constexpr std::size_t kFixedSize = 104;
  constexpr std::size_t kSegmentSize = 56;
  constexpr std::size_t kCountOffset = 12;
  constexpr std::size_t kHeadSizeOffset = 80;
  const std::size_t room = in.size() > kFixedSize ? in.size() - kFixedSize : 0;
  const std::size_t wanted =
      in.size() > kCountOffset ? static_cast<std::size_t>(in[kCountOffset]) : 0;
  const std::size_t count = std::min(wanted, room / kSegmentSize);
  const std::size_t size = kFixedSize + count * kSegmentSize;
  const ByteView rest = in.subspan(std::min(in.size(), size));
  ByteWriter out;
  out.bytes(in.first(std::min(in.size(), size)));
  out.zeros(size - out.size());
  out.patch_u32_le(kCountOffset, static_cast<std::uint32_t>(count));
  out.patch_u64_le(kHeadSizeOffset, size + 8);
  out.patch_u64_le(kHeadSizeOffset + 8, rest.size());
  return mended(out.view(), size, rest);
}

}  // namespace

bool check_input(ByteView in) {
  const bool is_head = check_head(in);
  const bool is_control = check_control(in);
  const bool is_pin = check_pin(in);
  const bool is_mended_head = check_head(mended_head(in));
  const bool is_mended_control = check_control(mended(in, kControlRecordSize - 8));
  const bool is_mended_pin = check_pin(mended(in, 24));
  return is_head || is_control || is_pin || is_mended_head || is_mended_control || is_mended_pin;
}

std::vector<std::string> seeds() {
  CheckpointHead head{.log_id = 1,
                      .generation = 2,
                      .sequence = 30,
                      .needed_sequence = 31,
                      .tail_segment_id = 4,
                      .tail_offset = 8192,
                      .tail_chain = 5,
                      .next_segment_id = 6,
                      .head_size = 512};
  head.segments.push_back({.id = 3, .salt = 7, .kind = SegmentKind::moved, .used_end = 4096});
  head.segments.push_back({.id = 4, .salt = 8, .slot = 1, .used_end = 8192});
  const auto text = [](const Bytes& bytes) { return std::string(bytes.text()); };
  return {text(encode_checkpoint_head(head)),
          text(encode_control({.log_id = 1, .counter = 2, .durable_sequence = 3, .clean = true})),
          text(encode_pin({.sequence = 9, .generation = 2}))};
}

}  // namespace varve::fuzz
