// checksums: how fast each checksum goes through warm bytes. Raw adds up the same
// bytes as 64-bit words, which is about as fast as memory can be looked at.
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <utility>

#include "base/endian.h"
#include "harness/random.h"
#include "harness/stopwatch.h"
#include "harness/workload.h"
#include "varve/checksum.h"

namespace varve::bench {
namespace {

std::uint64_t sum_words(ByteView data) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i + 8 <= data.size(); i += 8) {
    sum += load_le<std::uint64_t>(data.data() + i);
  }
  return sum;
}

using Checksum = std::uint64_t (*)(ByteView);

constexpr std::array<std::pair<const char*, Checksum>, 6> kArms = {{
    {kRawArm, sum_words},
    {"crc8", [](ByteView data) -> std::uint64_t { return crc8(data); }},
    {"crc32", [](ByteView data) -> std::uint64_t { return crc32(data); }},
    {"crc32c", [](ByteView data) -> std::uint64_t { return crc32c(data); }},
    {"xxh3", [](ByteView data) -> std::uint64_t { return xxh3(data); }},
    {"xxh32", [](ByteView data) -> std::uint64_t { return xxh32(data); }},
}};

// Stored to after each sample, so that no compiler may leave the work out.
std::atomic<std::uint64_t> consumed;

double gigabytes_per_second(Checksum checksum, ByteView data, std::size_t repeat_count) {
  std::uint64_t sum = 0;
  const Stopwatch watch;
  for (std::size_t i = 0; i < repeat_count; ++i) sum += checksum(data);
  const double seconds = watch.seconds();
  consumed.store(sum, std::memory_order_relaxed);
  return static_cast<double>(data.size()) * static_cast<double>(repeat_count) / seconds / 1e9;
}

Result<std::vector<Measurement>> run_checksums(const Context& context) {
  constexpr std::size_t kSizeMax = std::size_t{1} << 20;
  std::vector<std::byte> data(kSizeMax);
  Random random(kSeed);
  for (std::size_t i = 0; i < data.size(); i += 8) {
    store_le<std::uint64_t>(data.data() + i, random.next());
  }
  const std::size_t sample_size = context.quick ? kSizeMax : 16 * kSizeMax;

  std::vector<Measurement> measurements;
  for (const auto& [name, size] : {std::pair{"64 B", std::size_t{64}},
                                   {"4 KiB", 4096},
                                   {"64 KiB", 65536},
                                   {"1 MiB", kSizeMax}}) {
    Measurement measurement{.title = fmt::format("checksums of {}", name),
                            .unit = "GB/s",
                            .better = Better::bigger,
                            .compared = true,
                            .series = {}};
    for (const auto& [arm, checksum] : kArms) measurement.series.push_back({arm, {}, {}});
    const ByteView part = ByteView(data).first(size);
    interleave(
        measurement.series, context.rounds(31), [] {},
        [&](std::size_t arm_index) -> Result<double> {
          return gigabytes_per_second(kArms[arm_index].second, part, sample_size / part.size());
        });
    measurements.push_back(std::move(measurement));
  }
  return measurements;
}

}  // namespace

void add_checksums_workloads(Workloads& workloads) {
  workloads.push_back({.name = "checksums",
                       .summary = "crc8, crc32, crc32c, xxh3 and xxh32 at four sizes",
                       .run = run_checksums});
}

}  // namespace varve::bench
