// frames: a loop at 60 Hz that makes 2,000 edits a frame over 20 chunks, without saving, and
// while one save follows the other. What counts is the longest frame.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <random>
#include <thread>

#include "base/try.h"
#include "harness/interleave.h"
#include "harness/thread_stopwatch.h"
#include "harness/workload.h"
#include "world_data.h"

namespace varve::bench {
namespace {

constexpr std::int32_t kChunkCount = 20;
constexpr int kEditsPerFrame = 2'000;
constexpr double kFrame_s = 1.0 / 60;

struct Frames {
  std::vector<double> wall_ms;
  std::vector<double> own_ms;
  std::vector<double> cpu_ms;
};

struct Arm {
  std::string name;
  std::unique_ptr<World> world;
  bool saves = false;
};

// One second of play. Sleeping until the next frame is not part of a frame.
Status play(Arm& arm, int frame_count, bool paced, std::mt19937& random, std::uint32_t& value,
            Frames& frames) {
  auto next = std::chrono::steady_clock::now();
  for (int frame = 0; frame < frame_count; ++frame) {
    const ThreadStopwatch watch;
    arm.world->update(kFrame_s);
    for (int edit = 0; edit < kEditsPerFrame; ++edit) {
      const auto chunk = static_cast<std::int32_t>(random() % kChunkCount);
      VARVE_TRY(edit_chunk(*arm.world, chunk, random() % (kWorldChunkSize - 4), ++value));
    }
    arm.world->tick();
    if (arm.saves && !arm.world->is_saving()) arm.world->save();
    const ThreadTimes times = watch.times();
    frames.wall_ms.push_back(times.wall_ms);
    frames.own_ms.push_back(times.own_ms());
    frames.cpu_ms.push_back(times.computed_ms);
    next += std::chrono::microseconds(16'667);
    if (paced) std::this_thread::sleep_until(next);
  }
  return {};
}

// Bars side by side: how many frames took how long.
std::string histogram_of(const std::vector<Series>& series) {
  constexpr std::array kBounds = {0.1, 0.2, 0.3, 0.4, 0.5,  0.75, 1.0,
                                  1.5, 2.0, 3.0, 5.0, 10.0, 1e9};
  std::string text = fmt::format("{:>16}", "frames up to");
  for (const Series& arm : series) text += fmt::format("{:>16}", arm.arm);
  text += '\n';
  double from = 0;
  for (const double to : kBounds) {
    text += to < 1e9 ? fmt::format("{:>13} ms", to) : fmt::format("{:>16}", "longer");
    for (const Series& arm : series)
      text +=
          fmt::format("{:>16}", std::count_if(arm.samples.begin(), arm.samples.end(),
                                              [&](double ms) { return ms > from && ms <= to; }));
    text += '\n';
    from = to;
  }
  return text;
}

Result<std::vector<Measurement>> run_frames(const Context& context) {
  std::vector<Arm> arms(3);
  arms[0].name = "no saving";
  arms[1].name = "saving, memory";
  arms[2].name = "saving, disk";
  std::vector<Series> wall;
  std::vector<Series> own;
  std::vector<Series> cpu;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const auto kind = i == 2 ? WorldStore::one_file : WorldStore::memory;
    VARVE_ASSIGN(arms[i].world, make_world(kind, context.dir, kChunkCount));
    arms[i].saves = i != 0;
    wall.push_back({arms[i].name, {}, {}});
    own.push_back({arms[i].name, {}, {}});
    cpu.push_back({arms[i].name, {}, {}});
  }
  std::mt19937 random(static_cast<std::uint32_t>(kSeed));
  std::uint32_t value = 0;
  const int frame_count = context.quick ? 5 : 60;
  const Rounds rounds = context.rounds(30);
  for (std::size_t round = 0; round < rounds.warm_up_count + rounds.count; ++round) {
    for (const std::size_t arm : turns_of_round(arms.size(), round)) {
      Frames frames;
      VARVE_TRY(play(arms[arm], frame_count, !context.quick, random, value, frames));
      // Nobody else's frames shall see the end of this arm's last save.
      while (arms[arm].world->is_saving()) arms[arm].world->update(0);
      if (round < rounds.warm_up_count) continue;
      const auto append = [](std::vector<double>& to, const std::vector<double>& more) {
        to.insert(to.end(), more.begin(), more.end());
      };
      append(wall[arm].samples, frames.wall_ms);
      append(own[arm].samples, frames.own_ms);
      append(cpu[arm].samples, frames.cpu_ms);
    }
  }
  std::string note = histogram_of(wall);
  for (const Arm& arm : arms) {
    note += fmt::format("{}: {} saves\n", arm.name, arm.world->telemetry().save_count);
    VARVE_TRY(arm.world->close(World::Unsaved::discard));
  }
  return std::vector<Measurement>{
      {.title = "frames of 2,000 edits over 20 chunks at 60 Hz (goal: max with saving <= max "
                "without + 1 ms)",
       .unit = "ms",
       .series = std::move(wall),
       .note = std::move(note)},
      {.title = "the same frames without what the host of a virtual machine took of them",
       .unit = "ms",
       .series = std::move(own),
       .note = {}},
      {.title = "the same frames, time the game thread computed",
       .unit = "ms",
       .series = cpu,
       .note = histogram_of(cpu)}};
}

}  // namespace

void add_frames_workloads(Workloads& workloads) {
  workloads.push_back({.name = "frames",
                       .summary = "a 60 Hz loop of edits, with and without saves running",
                       .run = run_frames});
}

}  // namespace varve::bench
