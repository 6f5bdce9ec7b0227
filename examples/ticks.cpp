// A game that keeps every tick: what happened in it is logged, and any earlier moment can be looked
// at again.
//
// A fox walks for 60 ticks; then the game is gone without a word, opened again, and asked where the
// fox was.
#include <varve/storage_engine.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

namespace {

using varve::Bytes, varve::EntityId, varve::Status;

std::string folder() {
  std::string path = std::filesystem::temp_directory_path() / "varve_ticks_XXXXXX";
  return mkdtemp(path.data()) == nullptr ? std::string() : path;
}

// Each tick is durable when commit_tick() returns. A game that can lose 50 ms leaves this out.
varve::StorageConfig config() {
  varve::StorageConfig config;
  config.sync_mode = {.kind = varve::Durability::Kind::every_commit};
  config.snapshot_policy = {.kind = varve::SnapshotPolicy::Kind::every_n_ticks, .ticks = 20};
  return config;
}

Status play(const std::string& path) {
  auto engine = varve::StorageEngine::open(path, config());
  if (!engine) return engine.error();
  const auto position = (*engine)->register_component("position");
  if (!position) return position.error();
  const auto fox = (*engine)->state().next_entity();
  if (!fox) return fox.error();
  varve::TickRecorder recorder;
  recorder.spawn(*fox, varve::ChunkPos(0, 0));
  for (std::uint64_t tick = 1; tick <= 60; ++tick) {
    recorder.insert(*fox, *position, Bytes::copy_of("x = " + std::to_string(2 * tick)));
    if (const Status done = (*engine)->commit_tick(tick, recorder.take()); !done) return done;
  }
  return {};  // Not closed: as if it had crashed here.
}

Status look_back(const std::string& path) {
  auto engine = varve::StorageEngine::open(path, config());
  if (!engine) return engine.error();
  const auto position = (*engine)->component_id("position");
  std::cout << "the latest tick is " << (*engine)->latest_tick().value_or(0) << "\n";
  for (const std::uint64_t tick : {60, 33, 1}) {
    const auto then = (*engine)->recover(tick);
    if (!then) return then.error();
    then->for_each([&](const varve::EntityView& fox) {
      std::cout << "tick " << tick << ": "
                << varve::as_text(*then->component(fox.entity, *position)) << "\n";
      return true;
    });
  }
  if (const auto tomorrow = (*engine)->recover(61); !tomorrow) {
    std::cout << tomorrow.error().message() << "\n";
  }
  return (*engine)->close();
}

}  // namespace

int main() {
  const std::string path = folder();
  Status done = play(path + "/journal");
  if (done) done = look_back(path + "/journal");
  if (!path.empty()) std::filesystem::remove_all(path);
  if (done) return 0;
  std::cerr << "ticks: " << done.error().message() << "\n";
  return 1;
}
