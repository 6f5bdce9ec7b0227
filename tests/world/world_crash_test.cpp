// A world on a disk that crashes: what a handle called stored is there, and a save that was
// under way is there whole or not at all.
#include <gtest/gtest.h>

#include <iostream>

#include "backend/log/small_log.h"
#include "base/try.h"
#include "contract/one_file_store.h"
#include "crash/crash_sweep.h"
#include "crash/store_subject.h"
#include "store/varve/varve_format.h"
#include "varve/world.h"

namespace varve::test {
namespace {

Status put(World& world, const Commit& changes) {
  for (const ChunkChange& change : changes.chunks)
    VARVE_TRY(change.payload ? world.put(change.pos, std::make_unique<RawChunk>(*change.payload))
                             : world.erase(change.pos));
  for (const EntityChange& change : changes.entities)
    VARVE_TRY(change.value
                  ? world.put_entity(
                        {.id = change.id, .owner = change.value->owner, .data = change.value->data})
                  : world.erase_entity(change.id));
  for (const NamedChange& change : changes.players)
    VARVE_TRY(change.data ? world.put_player(change.name, *change.data)
                          : world.erase_player(change.name));
  for (const NamedChange& change : changes.globals)
    VARVE_TRY(change.data ? world.put_global(change.name, *change.data)
                          : world.erase_global(change.name));
  return {};
}

// The saver is the only one who writes, and the game waits for it, so that every run makes
// the same operations.
class WorldSession final : public crash::Session {
 public:
  explicit WorldSession(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  Status apply(const crash::Step& step) override {
    if (store_) {
      VARVE_ASSIGN(world_, World::on(std::move(store_)));
    }
    std::uint64_t tick = world_->current_tick();
    if (const auto found = step.changes.find("global:tick"); found != step.changes.end())
      tick = std::stoull(std::string(found->second->text()));
    VARVE_ASSIGN(const Commit changes, crash::to_commit(step.changes, tick));
    VARVE_TRY(put(*world_, changes));
    while (world_->current_tick() < tick) world_->tick();
    world_->update(1);
    VARVE_TRY(world_->save().wait());
    return {};
  }
  Result<crash::Records> read_all() override {
    return crash::read_records(store_ ? *store_ : world_->store());
  }
  Status close() override { return store_ ? store_->close() : world_->close(); }

 private:
  // Until the first change there is only the store: most disks are just looked at.
  std::unique_ptr<Store> store_;
  std::unique_ptr<World> world_;
};

class WorldSubject final : public crash::Subject {
 public:
  explicit WorldSubject(crash::OpenOrCreate open) : open_(std::move(open)) {}
  Result<std::unique_ptr<crash::Session>> open(Vfs& vfs) override {
    VARVE_ASSIGN(std::unique_ptr<Store> store, open_(vfs));
    return std::make_unique<WorldSession>(std::move(store));
  }
  crash::Step one_more() const override {
    return {.changes = {{"chunk:77,-77", Bytes::copy_of("still taking saves")}}};
  }

 private:
  crash::OpenOrCreate open_;
};

void sweep(const crash::OpenOrCreate& open, std::uint64_t recovery_every) {
  WorldSubject subject(open);
  crash::Workload steps = crash::store_workload(4, {});
  steps.insert(steps.begin() + 2, {.changes = {}, .upkeep = "reopen"});
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const auto result =
        crash::sweep_crashes(subject, steps, {.seed = seed, .recovery_every = recovery_every});
    std::cout << result.summary() << "\n";
    ASSERT_TRUE(result.ok()) << result.summary();
    EXPECT_GT(result.point_count, 30U) << "crashed too seldom to mean anything";
  }
}

TEST(WorldCrash, EveryCrashLeavesWhatWasStoredOrTheSaveUnderWay) {
  sweep([](Vfs& vfs) { return OneFileStore::open_or_create(vfs, "world"); }, 97);
}

TEST(WorldCrash, SoItDoesInTheVarveFormat) {
  sweep(
      [](Vfs& vfs) -> Result<std::unique_ptr<Store>> {
        const auto format =
            make_varve_format(vfs, "varve", SaveBackend::file, {}, small_log_options());
        auto store = format->open("world");
        if (!store && store.error().code() == ErrorCode::not_found) return format->create("world");
        return store;
      },
      997);
}

}  // namespace
}  // namespace varve::test
