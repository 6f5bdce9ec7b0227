// payload: what the frames of the varve store cost beside the bare codec, and how small they are.
//
// Times: raw is the codec alone, on the same bytes: an LZ4 block, or planes and an LZ4 block. A
// frame adds the choice of the encoding, the head and the checksum. The line below each table is
// the median, over the rounds, of one round's time with frames to its time without: closer than the
// table, since both met the same neighbours. The goal is at most 3 %.
//
// Data: a 1 MiB pixel chunk (landscape in section), a 34 KB NBT chunk, small chunks (the first 8
// KiB of NBT chunks, which is a section), and noise. The delta is of the pixel chunk with 1 % of
// its pixels changed, against the unchanged one. The dictionary is learned from 300 small chunks,
// and the sizes are those of 100 others.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "base/byte_writer.h"
#include "base/endian.h"
#include "base/try.h"
#include "codec/byte_planes.h"
#include "codec/lz4.h"
#include "codec_data.h"
#include "harness/random.h"
#include "harness/stopwatch.h"
#include "harness/workload.h"
#include "store/varve/payload.h"

namespace varve::bench {
namespace {

const ByteView kKey = as_byte_view("chunk 3,-2");
constexpr std::size_t kSmallSize = 8 << 10;

struct Arm {
  std::string name;
  std::function<Status(ByteView in, ByteWriter& out)> encode;
  std::function<Result<Bytes>(const Bytes& in, std::size_t size)> decode;
};

// The block without anything around it; `stride` 0 is without planes.
Arm bare_arm(std::size_t stride) {
  const auto planes = std::make_shared<Buffer>();
  return {kRawArm,
          [=](ByteView in, ByteWriter& out) {
            if (stride == 0) return lz4_compress_block(in, kLz4Levels.standard, out);
            planes->resize(in.size());
            split_byte_planes(in, stride, planes->span());
            return lz4_compress_block(planes->view(), kLz4Levels.standard, out);
          },
          [=](const Bytes& in, std::size_t size) -> Result<Bytes> {
            Buffer out(size);
            if (stride == 0) {
              VARVE_TRY(lz4_decompress_block(in, out.span()));
            } else {
              planes->resize(size);
              VARVE_TRY(lz4_decompress_block(in, planes->span()));
              join_byte_planes(planes->view(), stride, out.span());
            }
            return std::move(out).freeze();
          }};
}

Result<Arm> frame_arm(std::string name, PayloadEncoder::Settings settings,
                      PayloadSources sources = {}) {
  VARVE_ASSIGN(PayloadEncoder made, PayloadEncoder::make(std::move(settings)));
  const auto encoder = std::make_shared<const PayloadEncoder>(std::move(made));
  return Arm{
      std::move(name),
      [encoder](ByteView in, ByteWriter& out) { return encoder->encode(kKey, in, nullptr, out); },
      [sources](const Bytes& in, std::size_t) { return decode_payload(kKey, in, sources); }};
}

// "frames: 1.3 % more time", of rates that were sampled in the same rounds.
std::string overhead_note(const std::vector<Series>& series) {
  const std::vector<double>& bare = series[0].samples;
  std::string note;
  for (std::size_t arm = 1; arm < series.size(); ++arm) {
    const std::vector<double>& framed = series[arm].samples;
    std::vector<double> ratios;
    for (std::size_t i = 0; i < std::min(bare.size(), framed.size()); ++i) {
      ratios.push_back(bare[i] / framed[i]);
    }
    if (ratios.empty()) continue;
    std::nth_element(ratios.begin(), ratios.begin() + static_cast<long>(ratios.size() / 2),
                     ratios.end());
    note += fmt::format("{}: {:+.1f} % time over {}\n", series[arm].arm,
                        (ratios[ratios.size() / 2] - 1) * 100, series[0].arm);
  }
  return note;
}

Status measure_times(const Context& context, const std::string& name, const Bytes& chunk,
                     const std::vector<Arm>& arms, std::vector<Measurement>& measurements) {
  std::vector<Series> encoding;
  std::vector<Bytes> packed;
  for (const Arm& arm : arms) {
    ByteWriter out;
    VARVE_TRY(arm.encode(chunk, out));
    packed.push_back(Bytes::copy_of(out.view()));
    VARVE_ASSIGN(const Bytes back, arm.decode(packed.back(), chunk.size()));
    encoding.push_back({arm.name, {}, {}});
    if (back != chunk) encoding.back().error = "gave back other bytes than it was given";
  }
  std::vector<Series> decoding = encoding;
  const std::size_t repeat_count =
      context.quick ? 1 : std::max<std::size_t>((std::size_t{4} << 20) / chunk.size(), 1);
  const auto rate = [&](const Stopwatch& watch) {
    return static_cast<double>(chunk.size() * repeat_count) / watch.seconds() / 1e6;
  };
  ByteWriter out;
  interleave(
      encoding, context.rounds(101), [] {},
      [&](std::size_t arm_index) -> Result<double> {
        const Stopwatch watch;
        for (std::size_t i = 0; i < repeat_count; ++i) {
          out.clear();
          VARVE_TRY(arms[arm_index].encode(chunk, out));
        }
        return rate(watch);
      });
  interleave(
      decoding, context.rounds(101), [] {},
      [&](std::size_t arm_index) -> Result<double> {
        const Stopwatch watch;
        for (std::size_t i = 0; i < repeat_count; ++i) {
          VARVE_TRY(arms[arm_index].decode(packed[arm_index], chunk.size()));
        }
        return rate(watch);
      });
  std::string encoding_note = overhead_note(encoding);
  std::string decoding_note = overhead_note(decoding);
  measurements.push_back({name + ": save", "MB/s", Better::bigger, true, std::move(encoding),
                          std::move(encoding_note)});
  measurements.push_back({name + ": read", "MB/s", Better::bigger, true, std::move(decoding),
                          std::move(decoding_note)});
  return {};
}

// --- Sizes ---------------------------------------------------------------------------

struct SizeArm {
  std::string name;
  PayloadEncoder::Settings settings;
};

// The mean size of the frames of `chunks`; with a base as deltas, where those are smaller.
Status measure_sizes(const std::string& name, std::span<const Bytes> chunks,
                     const PayloadBase* base, const std::vector<SizeArm>& arms,
                     std::vector<Measurement>& measurements) {
  Measurement measurement{.title = name,
                          .unit = "bytes",
                          .better = Better::smaller,
                          .compared = true,
                          .series = {{"lz4", {}, {}}}};
  ByteWriter out;
  std::size_t sum = 0;
  for (const Bytes& chunk : chunks) {
    out.clear();
    VARVE_TRY(lz4_compress_block(chunk, kLz4Levels.standard, out));
    sum += out.size();
  }
  const auto mean = [&] { return static_cast<double>(sum) / static_cast<double>(chunks.size()); };
  measurement.series[0].samples = {mean()};
  for (const SizeArm& arm : arms) {
    VARVE_ASSIGN(const PayloadEncoder encoder, PayloadEncoder::make(arm.settings));
    sum = 0;
    for (const Bytes& chunk : chunks) {
      out.clear();
      VARVE_TRY(encoder.encode(kKey, chunk, base, out));
      sum += out.size();
    }
    measurement.series.push_back({arm.name, {mean()}, {}});
  }
  measurements.push_back(std::move(measurement));
  return {};
}

std::vector<Bytes> small_chunks(std::uint64_t first, std::size_t count) {
  std::vector<Bytes> chunks;
  for (std::size_t i = 0; i < count; ++i) {
    chunks.push_back(make_nbt_chunk(kSeed + first + i).slice(0, kSmallSize));
  }
  return chunks;
}

Status measure_all_sizes(const Bytes& pixels, std::vector<Measurement>& measurements) {
  VARVE_TRY(measure_sizes("pixel chunk of 1 MiB: size", {&pixels, 1}, nullptr,
                          {{"fast, no cells", {.speed = SpeedClass::fast}},
                           {"fast", {.speed = SpeedClass::fast, .cell_size = kPixelSize}},
                           {"balanced", {.speed = SpeedClass::balanced, .cell_size = kPixelSize}},
                           {"small", {.speed = SpeedClass::small, .cell_size = kPixelSize}}},
                          measurements));
  const Bytes edited = edit_one_percent(pixels, kPixelSize, kSeed + 7).freeze();
  const PayloadBase base{.generator_number = 1, .payload = pixels};
  VARVE_TRY(measure_sizes("the same with 1 % edited, as a delta: size", {&edited, 1}, &base,
                          {{"fast", {.speed = SpeedClass::fast, .cell_size = kPixelSize}},
                           {"balanced", {.speed = SpeedClass::balanced, .cell_size = kPixelSize}},
                           {"small", {.speed = SpeedClass::small, .cell_size = kPixelSize}}},
                          measurements));
  const std::vector<Bytes> learned = small_chunks(100, 300);
  VARVE_ASSIGN(const Bytes bytes,
               train_payload_dictionary(std::vector<ByteView>(learned.begin(), learned.end())));
  VARVE_ASSIGN(const auto dictionary, PayloadDictionary::make(1, bytes));
  return measure_sizes(
      "small chunks of 8 KiB: size", small_chunks(400, 100), nullptr,
      {{"fast", {.speed = SpeedClass::fast}},
       {"balanced", {.speed = SpeedClass::balanced}},
       {"balanced, dictionary", {.speed = SpeedClass::balanced, .dictionary = dictionary}},
       {"small", {.speed = SpeedClass::small}},
       {"small, dictionary", {.speed = SpeedClass::small, .dictionary = dictionary}}},
      measurements);
}

// --- Times ---------------------------------------------------------------------------

Bytes make_noise(std::size_t size) {
  Buffer noise(size);
  Random random(kSeed);
  for (std::size_t i = 0; i + 8 <= size; i += 8) {
    store_le<std::uint64_t>(noise.data() + i, random.next());
  }
  return std::move(noise).freeze();
}

Result<std::vector<Measurement>> run_payload(const Context& context) {
  std::vector<Measurement> measurements;
  const Bytes pixels = make_pixel_chunk(kSeed).freeze();
  const Bytes nbt = make_nbt_chunk(kSeed);
  VARVE_TRY(measure_all_sizes(pixels, measurements));

  VARVE_ASSIGN(const Arm plain, frame_arm("frames", {.speed = SpeedClass::fast}));
  VARVE_ASSIGN(const Arm trusting,
               frame_arm("frames, verified", {.speed = SpeedClass::fast}, {.is_verified = true}));
  const std::vector<Arm> arms = {bare_arm(0), plain, trusting};
  VARVE_TRY(measure_times(context, "pixel chunk of 1 MiB, LZ4", pixels, arms, measurements));
  VARVE_TRY(measure_times(context, fmt::format("NBT chunk of {} KiB, LZ4", nbt.size() >> 10), nbt,
                          arms, measurements));
  VARVE_TRY(measure_times(context, "small chunk of 8 KiB, LZ4", nbt.slice(0, kSmallSize), arms,
                          measurements));
  VARVE_ASSIGN(const Arm split,
               frame_arm("frames", {.speed = SpeedClass::fast, .cell_size = kPixelSize}));
  VARVE_TRY(measure_times(context, "pixel chunk of 1 MiB, planes and LZ4", pixels,
                          {bare_arm(kPixelSize), split}, measurements));
  VARVE_TRY(measure_times(context, "noise of 1 MiB, stored as it is", make_noise(1 << 20), arms,
                          measurements));
  return measurements;
}

}  // namespace

void add_payload_workloads(Workloads& workloads) {
  workloads.push_back({.name = "payload",
                       .summary = "size and cost of the frames the varve store keeps payloads in",
                       .run = run_payload});
}

}  // namespace varve::bench
