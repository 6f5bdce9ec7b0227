// codecs: ratio and speed of what a store may compress chunks with, on a 1 MiB
// pixel chunk and on a 36 KB NBT chunk. Speeds count uncompressed bytes. Raw is a
// memcpy. The delta is against a base in which 1 % of the cells differ.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "base/byte_writer.h"
#include "base/try.h"
#include "codec/byte_planes.h"
#include "codec/compression.h"
#include "codec/sparse_delta.h"
#include "codec_data.h"
#include "harness/stopwatch.h"
#include "harness/workload.h"

namespace varve::bench {
namespace {

struct CodecArm {
  std::string name;
  std::function<Status(ByteView in, ByteWriter& out)> compress;
  std::function<Status(ByteView in, std::size_t raw_size, Buffer& out)> decompress;
};

constexpr std::size_t kCopySize = 1024;

CodecArm memcpy_arm() {
  return {kRawArm,
          [](ByteView in, ByteWriter& out) -> Status {
            out.bytes(in);
            return {};
          },
          [](ByteView in, std::size_t raw_size, Buffer& out) -> Status {
            out.resize(raw_size);
            // In pieces: for a large one glibc uses the CPU's string copy, which is
            // twenty times slower on Zen 3 when the addresses differ by 16 modulo 4096.
            for (std::size_t done = 0; done < raw_size; done += kCopySize) {
              std::memcpy(out.data() + done, in.data() + done,
                          std::min(kCopySize, raw_size - done));
            }
            return {};
          }};
}

using SharedCompression = std::shared_ptr<const Compression>;

CodecArm plain_arm(std::string name, SharedCompression codec) {
  return {std::move(name),
          [codec](ByteView in, ByteWriter& out) { return codec->compress(in, out); },
          [codec](ByteView in, std::size_t raw_size, Buffer& out) {
            return codec->decompress_into(in, raw_size, out);
          }};
}

CodecArm planes_arm(std::string name, SharedCompression codec) {
  const auto planes = std::make_shared<Buffer>();
  return {std::move(name),
          [codec, planes](ByteView in, ByteWriter& out) {
            planes->resize(in.size());
            split_byte_planes(in, kPixelSize, planes->span());
            return codec->compress(planes->view(), out);
          },
          [codec, planes](ByteView in, std::size_t raw_size, Buffer& out) -> Status {
            VARVE_TRY(codec->decompress_into(in, raw_size, *planes));
            out.resize(raw_size);
            join_byte_planes(planes->view(), kPixelSize, out.span());
            return {};
          }};
}

CodecArm delta_arm(Bytes base, std::size_t cell_size) {
  return {"delta 1 %",
          [base, cell_size](ByteView in, ByteWriter& out) {
            return encode_sparse_delta(base, in, cell_size, out);
          },
          [base](ByteView in, std::size_t raw_size, Buffer& out) {
            return apply_sparse_delta_into(base, in, raw_size, out);
          }};
}

Result<std::vector<CodecArm>> make_arms(Bytes base, std::size_t cell_size) {
  VARVE_ASSIGN(SharedCompression lz4, make_compression(CompressionId::lz4, 1));
  VARVE_ASSIGN(SharedCompression zstd1, make_compression(CompressionId::zstd, 1));
  VARVE_ASSIGN(SharedCompression zstd3, make_compression(CompressionId::zstd, 3));
  VARVE_ASSIGN(SharedCompression zlib6, make_compression(CompressionId::zlib, 6));
  return std::vector<CodecArm>{memcpy_arm(),
                               plain_arm("lz4", lz4),
                               plain_arm("zstd 1", zstd1),
                               plain_arm("zstd 3", zstd3),
                               plain_arm("zlib 6", zlib6),
                               planes_arm("planes+lz4", lz4),
                               planes_arm("planes+zstd 1", zstd1),
                               delta_arm(std::move(base), cell_size)};
}

double megabytes_per_second(std::size_t size, std::size_t repeat_count, double seconds) {
  return static_cast<double>(size) * static_cast<double>(repeat_count) / seconds / 1e6;
}

// Appends three measurements of `chunk`, whose cells are `cell_size` bytes.
Status measure(const Context& context, const std::string& name, const Bytes& chunk,
               std::size_t cell_size, std::vector<Measurement>& measurements) {
  // The edits are in the base, so that all arms pack the same unspoilt chunk.
  const Bytes base = edit_one_percent(chunk, cell_size, kSeed + 7).freeze();
  VARVE_ASSIGN(const std::vector<CodecArm> arms, make_arms(base, cell_size));
  std::vector<Series> ratios;
  std::vector<Bytes> packed(arms.size());
  for (std::size_t i = 0; i < arms.size(); ++i) {
    ratios.push_back({arms[i].name, {}, {}});
    ByteWriter out;
    Buffer back;
    VARVE_TRY(arms[i].compress(chunk, out));
    packed[i] = out.take();
    VARVE_TRY(arms[i].decompress(packed[i], chunk.size(), back));
    if (!equal(back.view(), chunk)) ratios[i].error = "gave back other bytes than it was given";
    ratios[i].samples = {static_cast<double>(chunk.size()) / static_cast<double>(packed[i].size())};
  }

  std::vector<Series> compressing = ratios;
  for (Series& series : compressing) series.samples.clear();
  std::vector<Series> decompressing = compressing;
  // About 4 MiB a sample: long beside the clock, short beside the neighbours.
  const std::size_t repeat_count = context.quick ? 1 : (std::size_t{4} << 20) / chunk.size();
  ByteWriter out;
  Buffer back;
  interleave(
      compressing, context.rounds(31), [] {},
      [&](std::size_t arm_index) -> Result<double> {
        const Stopwatch watch;
        for (std::size_t i = 0; i < repeat_count; ++i) {
          out.clear();
          VARVE_TRY(arms[arm_index].compress(chunk, out));
        }
        return megabytes_per_second(chunk.size(), repeat_count, watch.seconds());
      });
  interleave(
      decompressing, context.rounds(31), [] {},
      [&](std::size_t arm_index) -> Result<double> {
        const Stopwatch watch;
        for (std::size_t i = 0; i < repeat_count; ++i) {
          VARVE_TRY(arms[arm_index].decompress(packed[arm_index], chunk.size(), back));
        }
        return megabytes_per_second(chunk.size(), repeat_count, watch.seconds());
      });
  measurements.push_back({name + ": ratio", "x", Better::bigger, false, std::move(ratios)});
  measurements.push_back(
      {name + ": compress", "MB/s", Better::bigger, true, std::move(compressing)});
  measurements.push_back(
      {name + ": decompress", "MB/s", Better::bigger, true, std::move(decompressing)});
  return {};
}

Result<std::vector<Measurement>> run_codecs(const Context& context) {
  std::vector<Measurement> measurements;
  const Bytes pixels = make_pixel_chunk(kSeed).freeze();
  VARVE_TRY(measure(context, fmt::format("pixel chunk of {} KiB", pixels.size() >> 10), pixels,
                    kPixelSize, measurements));
  const Bytes nbt = make_nbt_chunk(kSeed);
  VARVE_TRY(
      measure(context, fmt::format("NBT chunk of {} KiB", nbt.size() >> 10), nbt, 1, measurements));
  return measurements;
}

}  // namespace

void add_codecs_workloads(Workloads& workloads) {
  workloads.push_back({.name = "codecs",
                       .summary = "ratio and speed of the compressions on two kinds of chunks",
                       .run = run_codecs});
}

}  // namespace varve::bench
