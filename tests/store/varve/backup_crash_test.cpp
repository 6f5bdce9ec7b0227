// Backups and restores on a disk that crashes and fails.
//
// Invariants checked, in every state a crash or a failed operation can leave: the target is absent,
// or the older backup, or the new one, every record compared; the save it is made from is as it
// was; and the next call does its work whatever the last one left.
#include <gtest/gtest.h>

#include "backend/log/small_log.h"
#include "base/try.h"
#include "crash/crash_sweep.h"
#include "crash/io_error_sweep.h"
#include "crash/store_subject.h"
#include "io/sim/sim_disk.h"
#include "store/varve/backup.h"

namespace varve::test {
namespace {

constexpr std::string_view kWorld = "world";
constexpr std::string_view kTarget = "backup";
constexpr std::string_view kBackUp = "back up";
constexpr std::string_view kRestore = "restore";

struct Way {
  std::uint64_t change_size_max = std::uint64_t{1} << 20;
  bool has_links = true;
};

BackupDisk backup_disk(Vfs& vfs, const Way& way) {
  return BackupDisk(vfs, small_log_options(),
                    {.change_size_max = way.change_size_max, .page_size = 1 << 10});
}

Result<crash::Records> records_at(const BackupDisk& disk, const std::string& path) {
  VARVE_ASSIGN(const auto store, disk.saves().open(path));
  VARVE_ASSIGN(crash::Records records, crash::read_records(*store));
  VARVE_TRY(crash::check_tick(records, store->tick()));
  Progress progress;
  VARVE_ASSIGN(const VerifyReport verified, store->verify(progress));
  if (!verified.clean()) return verified.problems.front().error;
  VARVE_TRY(store->close());
  return records;
}

void add_records(crash::Records& to, std::string_view prefix, const crash::Records& records) {
  for (const auto& [key, value] : records) to.emplace(std::string(prefix) + key, value);
}

// What is at `path`, or at `otherwise` if nothing is.
Status show(const BackupDisk& disk, std::string_view path, std::string_view otherwise,
            std::string_view prefix, crash::Records& to) {
  for (const std::string_view each : {path, otherwise}) {
    // Not asked of the format: a folder that is no save would be none to it.
    VARVE_ASSIGN(const bool is_there, disk.vfs().exists(each));
    if (!is_there) continue;
    VARVE_ASSIGN(const crash::Records records, records_at(disk, std::string(each)));
    add_records(to, prefix, records);
    return {};
  }
  return {};
}

class BackupSession final : public crash::Session {
 public:
  BackupSession(Vfs& vfs, const Way& way) : disk_(backup_disk(vfs, way)) {}

  Status apply(const crash::Step& step) override {
    Progress progress;
    if (step.upkeep == kRestore) {
      VARVE_ASSIGN(const bool is_there, disk_.vfs().exists(kWorld));
      VARVE_ASSIGN(const bool is_kept, disk_.vfs().exists(kept()));
      // Done by the call that was interrupted, as a person would see.
      if (is_there && is_kept) return {};
      VARVE_TRY(restore_backup(kTarget, kWorld, progress, disk_));
      return {};
    }
    VARVE_ASSIGN(const auto world, disk_.saves().open_to_read(kWorld));
    Status done;
    {
      VARVE_ASSIGN(const BackupSource held, pin_for_backup(*world));
      const auto report = back_up(held, kTarget, {}, progress, disk_);
      if (!report) done = report.error();
    }
    const Status closed = world->close();
    return done ? closed : done;
  }

  Result<crash::Records> read_all() override {
    crash::Records records;
    VARVE_TRY(show(disk_, kWorld, kept(), "world/", records));
    VARVE_TRY(show(disk_, kTarget, std::string(kTarget) + std::string(kReplacedBackupSuffix),
                   "backup/", records));
    VARVE_ASSIGN(const bool is_there, disk_.vfs().exists(kWorld));
    if (is_there) VARVE_TRY(show(disk_, kept(), kept(), "kept/", records));
    return records;
  }
  Status close() override { return {}; }

 private:
  static std::string kept() { return std::string(kWorld) + std::string(kBeforeRestoreSuffix); }

  const BackupDisk disk_;
};

class BackupSubject final : public crash::Subject {
 public:
  BackupSubject(const Way& way, crash::Step step) : way_(way), step_(std::move(step)) {}

  Result<std::unique_ptr<crash::Session>> open(Vfs& vfs) override {
    if (auto* sim = dynamic_cast<sim::SimDisk*>(&vfs)) sim->set_links(way_.has_links);
    return std::make_unique<BackupSession>(vfs, way_);
  }
  // What an interrupted call left must not stand in the way of the next.
  crash::Step one_more() const override { return step_; }

 private:
  const Way way_;
  const crash::Step step_;
};

// The disk before, and what the step makes of it.
struct Scene {
  crash::Start start;
  crash::Step step;
};

// A world of two generations, and its backup of the first where there is one.
Result<Scene> make_scene(const Way& way, bool has_backup, std::string_view upkeep) {
  sim::SimDisk sim;
  const BackupDisk disk = backup_disk(sim, way);
  VARVE_ASSIGN(const auto world, disk.saves().create(kWorld));
  const crash::Workload steps = crash::store_workload(3, world->capabilities());
  Progress progress;
  crash::Records records;
  Scene scene;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    VARVE_ASSIGN(const Commit commit, crash::to_commit(steps[i].changes, 10 * i + 1));
    VARVE_TRY(world->commit(commit, progress));
    records = crash::after(std::move(records), steps[i]);
    if (i != 1 || !has_backup) continue;
    VARVE_ASSIGN(const BackupSource held, pin_for_backup(*world));
    VARVE_TRY(back_up(held, kTarget, {}, progress, disk));
    add_records(scene.start.records, "backup/", records);
  }
  VARVE_TRY(world->close());
  crash::Records after = scene.start.records;
  add_records(scene.start.records, "world/", records);
  if (upkeep == kBackUp) {
    after.clear();
    add_records(after, "world/", records);
    add_records(after, "backup/", records);
  } else {
    for (const auto& [key, value] : crash::Records(after)) {
      after.emplace("world/" + key.substr(std::string_view("backup/").size()), value);
    }
    add_records(after, "kept/", records);
  }
  scene.step.upkeep = upkeep;
  for (const auto& [key, value] : scene.start.records) {
    if (!after.contains(key)) scene.step.changes[key] = std::nullopt;
  }
  for (const auto& [key, value] : after) scene.step.changes[key] = value;
  scene.start.image = sim.image();
  return scene;
}

void expect_every_crash_is_survived(const Way& way, bool has_backup, std::string_view upkeep) {
  const auto scene = make_scene(way, has_backup, upkeep);
  ASSERT_TRUE(scene) << scene.error().message();
  BackupSubject subject(way, scene->step);
  const auto run =
      crash::record_run(subject, {scene->step}, scene->start.image, {scene->start.records}, 1);
  ASSERT_TRUE(run) << run.error().message();
  const auto result = crash::sweep_run(subject, *run, {.recovery_every = 1499});
  EXPECT_TRUE(result.ok()) << result.summary();
  EXPECT_GT(result.state_count, 1000U) << "crashed too seldom to mean anything";
  EXPECT_GT(result.recovery_state_count, 1000U);
  testing::Test::RecordProperty("sweep", result.summary());
}

// Fails the Nth operation for N = 1, 2, 3 ... until a run stays untouched. Each run ends with the
// disk as the program sees it; then the disk is well, and the next call does the work.
void expect_every_error_is_survived(const Way& way, bool has_backup, std::string_view upkeep) {
  const auto scene = make_scene(way, has_backup, upkeep);
  ASSERT_TRUE(scene) << scene.error().message();
  const crash::Records& old = scene->start.records;
  const crash::Records done = crash::after(old, scene->step);
  BackupSubject subject(way, scene->step);
  std::size_t failed_count = 0;
  for (const bool from_then_on : {false, true}) {
    for (const sim::Effect effect : {sim::Effect::none, sim::Effect::all}) {
      bool is_untouched = false;
      for (std::uint64_t number = 1; !is_untouched; ++number) {
        sim::SimDisk sim(scene->start.image, number);
        sim.set_recording(false);
        const auto session = subject.open(sim);
        ASSERT_TRUE(session);
        sim.set_fault(sim::Fault{
            .op_number = sim.op_count() + number, .from_then_on = from_then_on, .effect = effect});
        const std::uint64_t last = sim.op_count() + number;
        const Status applied = (*session)->apply(scene->step);
        is_untouched = sim.op_count() < last;
        sim.set_fault(std::nullopt);
        if (!applied) ++failed_count;
        const auto found = (*session)->read_all();
        ASSERT_TRUE(found) << "operation " << number << ": " << found.error().message();
        ASSERT_TRUE(*found == done || (!applied && *found == old)) << "operation " << number;
        const Status again = (*session)->apply(scene->step);
        ASSERT_TRUE(again) << "operation " << number << ": " << again.error().message();
        const auto after = (*session)->read_all();
        ASSERT_TRUE(after && *after == done) << "operation " << number;
      }
    }
  }
  EXPECT_GT(failed_count, 100U);
  testing::Test::RecordProperty("failed_runs", std::to_string(failed_count));
}

TEST(VarveBackupCrash, ANewOneIsWholeOrAbsent) {
  expect_every_crash_is_survived({}, false, kBackUp);
}
TEST(VarveBackupCrash, AnIncrementalOneIsTheOldOneOrTheNew) {
  expect_every_crash_is_survived({}, true, kBackUp);
}
TEST(VarveBackupCrash, OneThatTakesTheOldOnesPlaceIsTheOldOneOrTheNew) {
  expect_every_crash_is_survived({.change_size_max = 16}, true, kBackUp);
}
TEST(VarveBackupCrash, WithoutASwapTheOldOneIsWhereTheNextCallFindsIt) {
  expect_every_crash_is_survived({.change_size_max = 16, .has_links = false}, true, kBackUp);
}
TEST(VarveBackupCrash, ARestoreLeavesTheOldSaveOrTheRestoredOneAndTheOld) {
  expect_every_crash_is_survived({}, true, kRestore);
}

TEST(VarveBackupErrors, ANewOneIsWholeOrAbsent) {
  expect_every_error_is_survived({}, false, kBackUp);
}
TEST(VarveBackupErrors, AnIncrementalOneIsTheOldOneOrTheNew) {
  expect_every_error_is_survived({}, true, kBackUp);
}
TEST(VarveBackupErrors, OneThatTakesTheOldOnesPlaceIsTheOldOneOrTheNew) {
  expect_every_error_is_survived({.change_size_max = 16}, true, kBackUp);
}
TEST(VarveBackupErrors, WithoutASwapTheOldOneIsWhereTheNextCallFindsIt) {
  expect_every_error_is_survived({.change_size_max = 16, .has_links = false}, true, kBackUp);
}
TEST(VarveBackupErrors, ARestoreLeavesTheOldSaveOrTheRestoredOneAndTheOld) {
  expect_every_error_is_survived({}, true, kRestore);
}

}  // namespace
}  // namespace varve::test
