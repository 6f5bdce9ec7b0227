#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "varve/telemetry.h"

namespace varve {
namespace {

// Where bucket 1 starts; bucket 0 is everything faster.
constexpr double kFinest = 0.25;
// The powers of 2 in quarters: where the four buckets of a doubling start.
constexpr std::array<double, 4> kQuarters = {1, 1.1892071150027210667, 1.4142135623730950488,
                                             1.6817928305074290861};
constexpr std::size_t kLast = Histogram::kBucketCount - 1;
constexpr double kLastStart =
    kFinest * kQuarters[(kLast - 1) % 4] * static_cast<double>(std::uint64_t{1} << (kLast - 1) / 4);

// What a double is made of, where it is not below 1. The functions of the C library for it are far
// from everything else a save runs through.
constexpr int kFractionBits = 52;
constexpr std::uint64_t kFractionMask = (std::uint64_t{1} << kFractionBits) - 1;
constexpr std::uint64_t kExponentOfOne = 1023;

std::size_t bucket_of(double microseconds) noexcept {
  if (microseconds < kFinest) return 0;
  if (microseconds >= kLastStart) return kLast;
  // Compared with the very numbers bucket_start() is made of, so that the two agree to the
  // last bit, which a logarithm would not.
  const auto bits = std::bit_cast<std::uint64_t>(microseconds / kFinest);
  const std::size_t doublings = static_cast<std::size_t>(bits >> kFractionBits) - kExponentOfOne;
  const auto fraction =
      std::bit_cast<double>((bits & kFractionMask) | kExponentOfOne << kFractionBits);
  const int quarter =
      (fraction >= kQuarters[1]) + (fraction >= kQuarters[2]) + (fraction >= kQuarters[3]);
  return 1 + 4 * doublings + static_cast<std::size_t>(quarter);
}

}  // namespace

double Histogram::bucket_start(std::size_t index) noexcept {
  if (index == 0) return 0;
  if (index > kLast) return std::numeric_limits<double>::infinity();
  return std::ldexp(kFinest * kQuarters[(index - 1) % 4], static_cast<int>((index - 1) / 4));
}

void Histogram::add(double microseconds) noexcept {
  // A clock that went backwards gives a negative duration. It happened all the same.
  if (!(microseconds > 0)) microseconds = 0;
  ++buckets_[bucket_of(microseconds)];
  ++count_;
  sum_ += microseconds;
  max_ = std::max(max_, microseconds);
}

double Histogram::percentile(double p) const noexcept {
  if (count_ == 0) return 0;
  // Written so that NaN comes out as 0.
  const double wanted = p > 0 ? std::ceil(std::min(p, 1.0) * static_cast<double>(count_)) : 0;
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kLast; ++i) {
    seen += buckets_[i];
    // The end of the bucket, since the result is what so many did not exceed.
    if (seen != 0 && static_cast<double>(seen) >= wanted)
      return std::min(bucket_start(i + 1), max_);
  }
  return max_;
}

}  // namespace varve
