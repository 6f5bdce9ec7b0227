// replay: ticks of 200 mutations over 10,000 entities, read back and applied, and how small they
// are.
//
// Speed: each tick has 150 positions (three floats) and 50 rotations (four), of random entities. An
// arm decodes and applies all ticks to a state that has the entities; `with lz4` decompresses each
// first. Raw copies values from fixed-width records (entity u64, component u32, length u32, value)
// into an array by index: it checks nothing, and nothing could share or look back at what it makes.
// Times are what the thread computed. The goal is 2,000,000 mutations a second.
//
// Snapshot: of the same state, to bytes and back; raw copies the bytes.
//
// Size: an hour is 72,000 ticks. Entities walk, in a world 4,000 across: whoever is in a tick has
// moved up to 0.2 along each axis since it last was. The mixed hour has 160 positions, 25 healths
// (float, whole halves), 10 timers (u32) and 5 targets (u64) a tick; the other one 200 positions.
// Each tick is encoded and compressed by itself as the log does it, a u32 for the raw size
// included; then with the heads of entries, and with the padding of a log that syncs each of them.
// The percentage is of the same mutations in fixed-width fields, uncompressed. The goal is 40 % for
// the whole of the mixed hour, with heads and padding, each tick synced by itself. The head of a
// segment, a sector for 64 MiB, is left out. Of a position about 74 bits of 96 are noise: with
// their entities, 200 are some 2,040 bytes whatever packs them, so that an entry never fits into
// four sectors, and a padded hour of nothing else is 45.7 % without a base to take differences to.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/byte_writer.h"
#include "base/endian.h"
#include "base/try.h"
#include "codec/compression.h"
#include "harness/random.h"
#include "harness/stopwatch.h"
#include "harness/workload.h"
#include "journal/wal_format.h"
#include "varve/entity_state.h"

namespace varve::bench {
namespace {

constexpr std::size_t kEntityCount = 10'000;
constexpr std::size_t kMutationCount = 200;
constexpr std::size_t kFixedHeadSize = 16;

enum Component : ComponentId { kPosition = 1, kRotation, kHealth, kTimer, kTarget, kEnd };

struct Mix {
  const char* name;
  std::array<std::size_t, kEnd> counts;  // by component
};
constexpr Mix kSpeedMix{"12 to 16 bytes", {0, 150, 50, 0, 0, 0}};
constexpr Mix kMixedHour{"mixed", {0, 160, 0, 25, 10, 5}};
constexpr Mix kWalkingHour{"positions", {0, 200, 0, 0, 0, 0}};

EntityId entity_of(std::size_t i) { return make_entity(static_cast<std::uint32_t>(i + 1), 0); }

// Ten thousand that walk about.
class Herd {
 public:
  explicit Herd(std::uint64_t seed) : random_(seed), positions_(kEntityCount) {
    for (auto& position : positions_) {
      position = {between(-2'000, 2'000), between(60, 90), between(-2'000, 2'000)};
    }
  }

  TickMutations spawn_all() {
    TickRecorder recorder;
    for (std::size_t i = 0; i < kEntityCount; ++i) {
      const auto& at = positions_[i];
      recorder.spawn(entity_of(i), ChunkPos(static_cast<std::int32_t>(at[0]) >> 4,
                                            static_cast<std::int32_t>(at[2]) >> 4));
      for (ComponentId c = kPosition; c < kEnd; ++c) recorder.insert(entity_of(i), c, value(i, c));
    }
    return recorder.take();
  }

  TickMutations tick(const Mix& mix) {
    TickRecorder recorder;
    for (ComponentId c = kPosition; c < kEnd; ++c) {
      // Each entity once, or the tick would have fewer mutations than it says.
      is_in_.assign(kEntityCount, false);
      for (std::size_t left = mix.counts[c]; left != 0;) {
        const std::size_t i = random_.below(kEntityCount);
        if (is_in_[i]) continue;
        is_in_[i] = true;
        --left;
        if (c == kPosition) walk(i);
        recorder.insert(entity_of(i), c, value(i, c));
      }
    }
    return recorder.take();
  }

 private:
  float between(float low, float high) {
    return low + (high - low) * static_cast<float>(random_.below(1 << 24)) / (1 << 24);
  }
  void walk(std::size_t i) {
    for (float& coordinate : positions_[i]) coordinate += between(-0.2F, 0.2F);
  }
  Bytes value(std::size_t i, ComponentId component) {
    ByteWriter out;
    switch (component) {
      case kPosition:
        for (const float coordinate : positions_[i]) out.f32_le(coordinate);
        break;
      case kRotation:
        for (int part = 0; part < 4; ++part) out.f32_le(between(-1, 1));
        break;
      case kHealth:
        out.f32_le(static_cast<float>(random_.below(41)) / 2);
        break;
      case kTimer:
        out.u32_le(static_cast<std::uint32_t>(random_.below(600)));
        break;
      default:
        out.u64_le(entity_of(random_.below(kEntityCount)));
    }
    return out.take();
  }

  Random random_;
  std::vector<std::array<float, 3>> positions_;
  std::vector<bool> is_in_;
};

void write_fixed(const TickMutations& tick, ByteWriter& out) {
  for (const InsertMutation& insert : tick.inserts) {
    out.u64_le(insert.entity);
    out.u32_le(insert.component);
    out.u32_le(static_cast<std::uint32_t>(insert.value.size()));
    out.bytes(insert.value);
  }
}

struct Recording {
  std::vector<Bytes> fixed;
  std::vector<Bytes> encoded;
  std::vector<Bytes> compressed;
};

Result<Recording> record(Herd& herd, std::size_t tick_count) {
  Recording out;
  for (std::size_t i = 0; i < tick_count; ++i) {
    const TickMutations tick = herd.tick(kSpeedMix);
    ByteWriter fixed;
    write_fixed(tick, fixed);
    out.fixed.push_back(fixed.take());
    VARVE_ASSIGN(Bytes encoded, encode_mutations(tick));
    ByteWriter compressed;
    VARVE_TRY(compression(CompressionId::lz4).compress(encoded, compressed));
    out.encoded.push_back(std::move(encoded));
    out.compressed.push_back(compressed.take());
  }
  return out;
}

// The sum keeps the copies from being left out.
std::uint64_t replay_fixed(const std::vector<Bytes>& ticks, Buffer& values) {
  constexpr std::size_t kCellSize = 16;
  values.resize(2 * kEntityCount * kCellSize);
  std::uint64_t sum = 0;
  for (const Bytes& tick : ticks) {
    for (const std::byte* at = tick.data(); at != tick.data() + tick.size();) {
      const std::size_t index = load_le<std::uint64_t>(at) - 1;
      const std::size_t component = load_le<std::uint32_t>(at + 8) - kPosition;
      const std::size_t size = load_le<std::uint32_t>(at + 12);
      std::memcpy(values.data() + (component * kEntityCount + index) * kCellSize,
                  at + kFixedHeadSize, size);
      sum += size;
      at += kFixedHeadSize + size;
    }
  }
  return sum;
}

Status replay(const std::vector<Bytes>& ticks, const Compression* codec, EntityState& state) {
  for (const Bytes& tick : ticks) {
    Bytes payload = tick;
    if (codec != nullptr) {
      VARVE_ASSIGN(payload, codec->decompress(tick, std::size_t{1} << 20));
    }
    VARVE_ASSIGN(const TickMutations mutations, decode_mutations(payload));
    VARVE_TRY(state.apply(mutations));
  }
  return {};
}

Result<Measurement> measure_speed(const Context& context) {
  Herd herd(kSeed);
  EntityState spawned;
  VARVE_TRY(spawned.apply(herd.spawn_all()));
  VARVE_ASSIGN(const Recording recording, record(herd, context.quick ? 20 : 1'200));
  EntityState expected = spawned;
  VARVE_TRY(replay(recording.encoded, nullptr, expected));
  const std::uint64_t digest = expected.digest();
  Measurement measurement{
      .title = fmt::format("replay: {} ticks of {} inserts, {} entities", recording.encoded.size(),
                           kMutationCount, kEntityCount),
      .unit = "million mutations/s",
      .better = Better::bigger,
      .compared = true,
      .series = {{kRawArm, {}, {}}, {"decode and apply", {}, {}}, {"with lz4", {}, {}}},
      .note = "goal: 2 million mutations/s, of CPU time\n"};
  const double count = static_cast<double>(recording.encoded.size() * kMutationCount);
  Buffer values;
  interleave(
      measurement.series, context.rounds(15), [] {},
      [&](std::size_t arm_index) -> Result<double> {
        EntityState state = spawned;
        const CpuStopwatch watch;
        if (arm_index == 0) {
          if (replay_fixed(recording.fixed, values) == 0) return corruption("no values");
        } else if (arm_index == 1) {
          VARVE_TRY(replay(recording.encoded, nullptr, state));
        } else {
          VARVE_TRY(replay(recording.compressed, &compression(CompressionId::lz4), state));
        }
        const double rate = count / watch.milliseconds() / 1e3;
        if (arm_index != 0 && state.digest() != digest) return corruption("another state");
        return rate;
      });
  return measurement;
}

Result<Measurement> measure_snapshot(const Context& context) {
  Herd herd(kSeed);
  EntityState state;
  VARVE_TRY(state.apply(herd.spawn_all()));
  VARVE_ASSIGN(const Bytes snapshot, encode_snapshot(1, state));
  Measurement measurement{.title = fmt::format("replay: a snapshot of {} entities, {} bytes",
                                               kEntityCount, snapshot.size()),
                          .unit = "ms",
                          .better = Better::smaller,
                          .compared = true,
                          .series = {{kRawArm, {}, {}}, {"encode", {}, {}}, {"decode", {}, {}}}};
  interleave(
      measurement.series, context.rounds(15), [] {},
      [&](std::size_t arm_index) -> Result<double> {
        const CpuStopwatch watch;
        if (arm_index == 2) {
          VARVE_ASSIGN(const Snapshot back, decode_snapshot(snapshot));
          const double milliseconds = watch.milliseconds();
          if (!(back.state == state)) return corruption("another state");
          return milliseconds;
        }
        Bytes made;
        if (arm_index == 0) {
          made = Bytes::copy_of(snapshot.view());
        } else {
          VARVE_ASSIGN(made, encode_snapshot(1, state));
        }
        const double milliseconds = watch.milliseconds();
        if (made != snapshot) return corruption("other bytes");
        return milliseconds;
      });
  return measurement;
}

Result<Measurement> measure_size(const Context& context, const Mix& mix) {
  const std::size_t tick_count = context.quick ? 50 : 72'000;
  Herd herd(kSeed);
  std::uint64_t fixed_size = 0;
  std::uint64_t encoded_size = 0;
  std::uint64_t compressed_size = 0;
  std::uint64_t log_size = 0;
  std::uint64_t synced_log_size = 0;
  ByteWriter out;
  for (std::size_t i = 0; i < tick_count; ++i) {
    const TickMutations tick = herd.tick(mix);
    for (const InsertMutation& insert : tick.inserts) {
      fixed_size += kFixedHeadSize + insert.value.size();
    }
    VARVE_ASSIGN(const Bytes encoded, encode_mutations(tick));
    encoded_size += encoded.size();
    out.clear();
    VARVE_TRY(compression(CompressionId::lz4).compress(encoded, out));
    compressed_size += out.size();
    // As in the log: what does not become smaller is stored as it is.
    const std::uint64_t entry_size =
        journal::kEntryHeaderSize + std::min(encoded.size(), out.size());
    log_size += entry_size;
    synced_log_size += journal::round_up(entry_size, journal::kSectorSize);
  }
  const auto percent = [&](std::uint64_t size) {
    return static_cast<double>(size) * 100 / static_cast<double>(fixed_size);
  };
  return Measurement{
      .title = fmt::format("replay: size of {} ticks, {}", tick_count, mix.name),
      .unit = "% of fixed width",
      .better = Better::smaller,
      .compared = false,
      .series = {{"fixed width", {100}, {}},
                 {"encoded", {percent(encoded_size)}, {}},
                 {"encoded, lz4", {percent(compressed_size)}, {}},
                 {"in the log", {percent(log_size)}, {}},
                 {"in the log, a sync a tick", {percent(synced_log_size)}, {}}},
      .note = fmt::format(
          "{} bytes in fixed-width fields (entity u64, component u32, length u32, value), {} "
          "encoded, {} after LZ4 of each tick with its u32 size, {} with the heads of entries, {} "
          "with "
          "each entry on a sector of its own, as when each is synced: 50 ms is a tick at 20 Hz\n",
          fixed_size, encoded_size, compressed_size, log_size, synced_log_size)};
}

Result<std::vector<Measurement>> run_replay(const Context& context) {
  std::vector<Measurement> measurements;
  VARVE_ASSIGN(Measurement speed, measure_speed(context));
  measurements.push_back(std::move(speed));
  VARVE_ASSIGN(Measurement snapshot, measure_snapshot(context));
  measurements.push_back(std::move(snapshot));
  for (const Mix* mix : {&kMixedHour, &kWalkingHour}) {
    VARVE_ASSIGN(Measurement size, measure_size(context, *mix));
    measurements.push_back(std::move(size));
  }
  return measurements;
}

}  // namespace

void add_replay_workloads(Workloads& workloads) {
  workloads.push_back({.name = "replay",
                       .summary = "ticks read back and applied, and how small they are",
                       .run = run_replay});
}

}  // namespace varve::bench
