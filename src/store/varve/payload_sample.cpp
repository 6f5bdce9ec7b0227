#include "store/varve/payload_sample.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "codec/byte_planes.h"
#include "codec/lz4.h"

namespace varve {
namespace {

constexpr std::size_t kStretchCount = 4;
constexpr std::size_t kSampleSizeMin = 1 << 10;
constexpr std::size_t kSampleSizeMax = 8 << 10;

std::size_t lz4_size(ByteView in, ByteWriter& scratch) {
  scratch.clear();
  const Status done = lz4_compress_block(in, kLz4Levels.standard, scratch);
  return done ? scratch.size() : in.size();
}

// Whether of so many bytes, from one end of the payload to the other, `least` or more are
// different. False if it has fewer.
template <std::size_t kLookCount>
bool has_different(ByteView payload, unsigned least) noexcept {
  if (payload.size() < kLookCount) return false;
  std::array<std::uint8_t, 256> seen = {};
  // By halves, of which a byte holds the sum, so that many are added at a time.
  const auto count_seen = [&] {
    const auto half = seen.begin() + seen.size() / 2;
    return unsigned{std::accumulate(seen.begin(), half, std::uint8_t{0})} +
           unsigned{std::accumulate(half, seen.end(), std::uint8_t{0})};
  };
  // Odd, so that it does not keep step with cells.
  const std::size_t step = (payload.size() / kLookCount - 1) | 1;
  constexpr std::size_t kFirstCount = kLookCount / 2;
  // Counted behind the loop, which then neither branches nor waits for what it has just stored.
  const auto look = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      seen[std::to_integer<std::size_t>(payload[i * step])] = 1;
    }
  };
  look(0, kFirstCount);
  // Most payloads cannot come to as many as 48 of 64 any more.
  if (count_seen() + (kLookCount - kFirstCount) < least) return false;
  look(kFirstCount, kLookCount);
  return count_seen() >= least;
}

}  // namespace

bool looks_like_noise(ByteView payload) noexcept {
  // Of 64 random bytes some 57 are different, and 48 nearly always; most payloads have far fewer.
  // Those that have as many are looked at closely, which takes a twenty-fifth of the time LZ4
  // takes for a small chunk: of 512 random bytes some 221 are different, and 200 nearly always.
  return has_different<64>(payload, 48) && has_different<512>(payload, 200);
}

PayloadSample sample_payload(ByteView payload, std::size_t stride,
                             const PayloadWorkspace& workspace) {
  std::array<std::byte, kSampleSizeMax> sample;
  const std::size_t cell_size = std::max<std::size_t>(stride, 1);
  const std::size_t wanted = std::clamp(payload.size() / 128, kSampleSizeMin, kSampleSizeMax);
  // Whole cells at the places of cells, from one end to the other.
  const std::size_t stretch_size =
      std::min(wanted, payload.size()) / kStretchCount / cell_size * cell_size;
  const std::size_t size = stretch_size * kStretchCount;
  if (size == 0) return {.expected_size = payload.size()};
  for (std::size_t i = 0; i < kStretchCount; ++i) {
    const std::size_t from = (payload.size() - stretch_size) / (kStretchCount - 1) * i;
    std::memcpy(sample.data() + i * stretch_size, payload.data() + from / cell_size * cell_size,
                stretch_size);
  }
  const ByteView view(sample.data(), size);
  std::size_t best_size = lz4_size(view, workspace.attempt());
  PayloadSample result;
  if (stride >= 2) {
    Buffer& planes = workspace.expanded();
    resize_for_overwrite(planes, size);
    split_byte_planes(view, stride, planes.span());
    const std::size_t planes_size = lz4_size(planes.view(), workspace.attempt());
    result.prefers_planes = planes_size < best_size;
    best_size = std::min(best_size, planes_size);
  }
  result.expected_size =
      static_cast<std::size_t>(static_cast<std::uint64_t>(payload.size()) * best_size / size);
  return result;
}

}  // namespace varve
