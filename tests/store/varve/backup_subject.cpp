#include "store/varve/backup_subject.h"

#include "base/try.h"
#include "crash/store_subject.h"
#include "io/sim/sim_disk.h"

namespace varve::test {
namespace {

constexpr std::string_view kWorld = "world";
constexpr std::string_view kTarget = "backup";

BackupDisk backup_disk(Vfs& vfs, const BackupWay& way) {
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
  BackupSession(Vfs& vfs, const BackupWay& way) : way_(way), disk_(backup_disk(vfs, way)) {}

  Status apply(const crash::Step& step) override {
    Progress progress;
    if (step.upkeep == kRestore) {
      VARVE_ASSIGN(const bool is_there, disk_.vfs().exists(kWorld));
      VARVE_ASSIGN(const bool is_kept, disk_.vfs().exists(kept()));
      // Done by the call that was interrupted, as a person would see who goes on playing in it.
      if (is_there && is_kept) {
        VARVE_ASSIGN(const auto world, disk_.saves().open(kWorld));
        return world->close();
      }
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
    if (way_.looks_at_backup_alone) {
      sim::SimDisk copy(dynamic_cast<sim::SimDisk&>(disk_.vfs()).image());
      copy.set_recording(false);
      VARVE_TRY(show_backup(backup_disk(copy, way_), records));
      return records;
    }
    VARVE_TRY(show(disk_, kWorld, kept(), "world/", records));
    VARVE_TRY(show_backup(disk_, records));
    VARVE_ASSIGN(const bool is_there, disk_.vfs().exists(kWorld));
    if (is_there) VARVE_TRY(show(disk_, kept(), kept(), "kept/", records));
    return records;
  }
  Status close() override { return {}; }

 private:
  static Status show_backup(const BackupDisk& disk, crash::Records& records) {
    return show(disk, kTarget, std::string(kTarget) + std::string(kReplacedBackupSuffix), "backup/",
                records);
  }
  static std::string kept() { return std::string(kWorld) + std::string(kBeforeRestoreSuffix); }

  const BackupWay way_;
  const BackupDisk disk_;
};

}  // namespace

Result<std::unique_ptr<crash::Session>> BackupSubject::open(Vfs& vfs) {
  if (auto* sim = dynamic_cast<sim::SimDisk*>(&vfs)) sim->set_links(way_.has_links);
  return std::make_unique<BackupSession>(vfs, way_);
}

Result<BackupScene> make_backup_scene(const BackupWay& way, bool has_backup,
                                      std::string_view upkeep, std::size_t commit_count) {
  sim::SimDisk sim;
  const BackupDisk disk = backup_disk(sim, way);
  VARVE_ASSIGN(const auto world, disk.saves().create(kWorld));
  const crash::Workload steps = crash::store_workload(commit_count, world->capabilities());
  Progress progress;
  crash::Records records;
  BackupScene scene;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    VARVE_ASSIGN(const Commit commit, crash::to_commit(steps[i].changes, 10 * i + 1));
    VARVE_TRY(world->commit(commit, progress));
    records = crash::after(std::move(records), steps[i]);
    if (i + 2 != steps.size() || !has_backup) continue;
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
  if (way.looks_at_backup_alone) {
    const auto is_of_world = [](const auto& entry) { return entry.first.starts_with("world/"); };
    std::erase_if(scene.start.records, is_of_world);
    std::erase_if(scene.step.changes, is_of_world);
  }
  scene.start.image = sim.image();
  return scene;
}

}  // namespace varve::test
