// time_travel: an hour of 72,000 ticks, played as fast as it goes and then looked back at.
//
// Each tick has 200 mutations of 10,000 entities: 150 positions (three floats), 49 healths (a
// float) and a singleton, the time. Configuration is the default: a snapshot every 1,200 ticks,
// LZ4, an hour of history. Pages of the log and the snapshots are in the system's cache, as they
// are after they were written; nothing of them is in ours. A sample is one question about a random
// tick, from at_tick() to the first answer, checked against what the game was; or the history of
// one component of a random entity over the hour. What a question costs in entries of the log that
// were decoded is counted beside it. At the end the journal is opened again, and the first question
// of each kind asked once: then the log has to find its entries first.
//
// Goals: at_tick() and a first read 100 ms in the median and 150 ms at worst; a history 20 ms.
#include <fmt/format.h>

#include <map>

#include "base/byte_writer.h"
#include "base/try.h"
#include "harness/random.h"
#include "harness/stopwatch.h"
#include "harness/workload.h"
#include "io/path.h"
#include "varve/storage_engine.h"

namespace varve::bench {
namespace {

constexpr std::size_t kEntityCount = 10'000;
constexpr std::size_t kPositionCount = 150;
constexpr std::size_t kHealthCount = 49;
constexpr std::uint64_t kHourTicks = 72'000;
// Whose positions are noted down, to compare answers with.
constexpr std::size_t kWitnessCount = 100;

EntityId entity_of(std::size_t i) { return make_entity(static_cast<std::uint32_t>(i + 1), 0); }

class Game {
 public:
  explicit Game(std::uint64_t hour_ticks) : hour_ticks_(hour_ticks) {}

  Status open(const std::string& path) {
    VARVE_ASSIGN(engine_, StorageEngine::open(path, {}));
    VARVE_ASSIGN(position_, engine_->register_component("position"));
    VARVE_ASSIGN(health_, engine_->register_component("health"));
    VARVE_ASSIGN(time_, engine_->register_component("time"));
    return {};
  }
  Status close() {
    Status closed = engine_->close();
    engine_.reset();
    return closed;
  }

  Status play() {
    for (std::uint64_t tick = 1; tick <= latest_tick(); ++tick) {
      TickRecorder recorder;
      if (tick == 1) {
        for (std::size_t i = 0; i < kEntityCount; ++i) {
          recorder.spawn(entity_of(i), ChunkPos(static_cast<std::int32_t>(i % 100),
                                                static_cast<std::int32_t>(i / 100)));
          insert(recorder, tick, i, position_, 12);
          insert(recorder, tick, i, health_, 4);
        }
      } else {
        for (std::size_t n = 0; n < kPositionCount; ++n)
          insert(recorder, tick, random_.below(kEntityCount), position_, 12);
        for (std::size_t n = 0; n < kHealthCount; ++n)
          insert(recorder, tick, random_.below(kEntityCount), health_, 4);
      }
      ByteWriter now;
      now.u64_le(tick);
      recorder.set_singleton(time_, now.take());
      const Stopwatch watch;
      VARVE_TRY(engine_->commit_tick(tick, recorder.take()));
      commit_seconds_ += watch.seconds();
    }
    return engine_->sync();
  }
  double commit_us() const { return commit_seconds_ * 1e6 / static_cast<double>(latest_tick()); }

  std::uint64_t latest_tick() const { return hour_ticks_ + hour_ticks_ / 30 + 1; }
  std::uint64_t some_tick() { return latest_tick() - 1 - random_.below(hour_ticks_); }

  // From asking for the tick to the answer, in milliseconds.
  Result<double> ask_component() {
    const std::uint64_t tick = some_tick();
    const std::size_t i = random_.below(kWitnessCount);
    const Stopwatch watch;
    VARVE_ASSIGN(const auto past, engine_->at_tick(tick));
    VARVE_ASSIGN(const auto found, past->component(entity_of(i), position_));
    const double milliseconds = watch.milliseconds();
    if (found != std::prev(positions_[i].upper_bound(tick))->second) {
      return corruption(fmt::format("tick {}: another position", tick));
    }
    return milliseconds;
  }
  Result<double> ask_singleton() {
    const std::uint64_t tick = some_tick();
    const Stopwatch watch;
    VARVE_ASSIGN(const auto past, engine_->at_tick(tick));
    VARVE_ASSIGN(const auto found, past->singleton(time_));
    const double milliseconds = watch.milliseconds();
    ByteWriter then;
    then.u64_le(tick);
    if (found != then.take()) return corruption(fmt::format("tick {}: another time", tick));
    return milliseconds;
  }
  Result<double> ask_all() {
    const std::uint64_t tick = some_tick();
    const std::size_t i = random_.below(kWitnessCount);
    const Stopwatch watch;
    VARVE_ASSIGN(const auto past, engine_->at_tick(tick));
    VARVE_ASSIGN(const auto found, past->find(entity_of(i)));
    const double milliseconds = watch.milliseconds();
    const Bytes& expected = std::prev(positions_[i].upper_bound(tick))->second;
    if (!found || found->components.empty() || !equal(found->components[0].value, expected)) {
      return corruption(fmt::format("tick {}: another entity", tick));
    }
    return milliseconds;
  }
  Result<double> ask_history() {
    const std::size_t i = random_.below(kWitnessCount);
    const TickRange hour{latest_tick() - hour_ticks_, latest_tick()};
    const Stopwatch watch;
    VARVE_ASSIGN(const auto found, engine_->entity_history(entity_of(i), position_, hour));
    const double milliseconds = watch.milliseconds();
    auto expected = positions_[i].lower_bound(hour.from);
    for (const ComponentChange& change : found) {
      if (expected == positions_[i].end() || change.tick != expected->first ||
          change.value != expected->second) {
        return corruption("another history");
      }
      ++expected;
    }
    if (expected != positions_[i].lower_bound(hour.to)) return corruption("a shorter history");
    return milliseconds;
  }

  Result<double> ask(std::size_t arm_index) {
    switch (arm_index) {
      case 0:
        return ask_component();
      case 1:
        return ask_singleton();
      case 2:
        return ask_all();
      default:
        return ask_history();
    }
  }
  std::uint64_t decoded_count() const { return engine_->decoded_count(); }
  const StorageEngine& engine() const { return *engine_; }

 private:
  void insert(TickRecorder& recorder, std::uint64_t tick, std::size_t i, ComponentId component,
              std::size_t size) {
    ByteWriter out;
    // Of a float the high bytes say little and the low ones are noise.
    for (std::size_t at = 0; at < size; at += 4) {
      out.f32_le(static_cast<float>(random_.below(1 << 24)) / 4'096.0F);
    }
    const Bytes value = out.take();
    recorder.insert(entity_of(i), component, value);
    if (component == position_ && i < kWitnessCount) positions_[i][tick] = value;
  }

  const std::uint64_t hour_ticks_;
  Random random_{kSeed};
  std::unique_ptr<StorageEngine> engine_;
  ComponentId position_ = 0;
  ComponentId health_ = 0;
  ComponentId time_ = 0;
  double commit_seconds_ = 0;
  std::vector<std::map<std::uint64_t, Bytes>> positions_ =
      std::vector<std::map<std::uint64_t, Bytes>>(kWitnessCount);
};

const std::vector<Series> kArms = {{"at_tick, one component", {}, {}},
                                   {"at_tick, a singleton", {}, {}},
                                   {"at_tick, everything", {}, {}},
                                   {"entity_history", {}, {}}};

Result<std::vector<Measurement>> run_time_travel(const Context& context) {
  Game game(context.quick ? 300 : kHourTicks);
  const std::string path = path_join(context.dir, "journal");
  VARVE_TRY(game.open(path));
  VARVE_TRY(game.play());
  Measurement times{.title = fmt::format("time_travel: an hour of {} ticks, {} entities, 200 "
                                         "mutations a tick",
                                         context.quick ? 300 : kHourTicks, kEntityCount),
                    .unit = "ms",
                    .better = Better::smaller,
                    .compared = false,
                    .series = kArms};
  Measurement counts{.title = "time_travel: entries of the log decoded for a question",
                     .unit = "entries",
                     .better = Better::smaller,
                     .compared = false,
                     .series = kArms};
  interleave(
      times.series, context.rounds(40), [] {},
      [&](std::size_t arm_index) -> Result<double> {
        const std::uint64_t before = game.decoded_count();
        VARVE_ASSIGN(const double milliseconds, game.ask(arm_index));
        counts.series[arm_index].samples.push_back(
            static_cast<double>(game.decoded_count() - before));
        return milliseconds;
      });
  times.note = fmt::format(
      "goals: 100 ms in the median and 150 ms at worst to a first read, 20 ms for a history\n"
      "commit_tick() took {:.1f} us in the mean; {} snapshots; oldest tick {}\n",
      game.commit_us(), game.engine().snapshots().size(), game.engine().oldest_tick().value_or(0));
  VARVE_TRY(game.close());

  Measurement first{.title = "time_travel: the first question after opening",
                    .unit = "ms",
                    .better = Better::smaller,
                    .compared = false,
                    .series = kArms};
  for (std::size_t i = 0; i < first.series.size(); ++i) {
    VARVE_TRY(game.open(path));
    VARVE_ASSIGN(const double milliseconds, game.ask(i));
    first.series[i].samples.push_back(milliseconds);
    VARVE_TRY(game.close());
  }
  return std::vector<Measurement>{std::move(times), std::move(counts), std::move(first)};
}

}  // namespace

void add_time_travel_workloads(Workloads& workloads) {
  workloads.push_back({.name = "time_travel",
                       .summary = "an hour of ticks, and questions about any of them",
                       .run = run_time_travel});
}

}  // namespace varve::bench
