#include "store/nebula/crash_subject.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/try.h"
#include "crash/store_subject.h"
#include "store/nebula/save_files.h"
#include "varve/nebula.h"

namespace varve::nebula::test {
namespace {

constexpr std::uint32_t kBackupCount = 2;
constexpr std::string_view kWaits = "waits";
constexpr std::string_view kKeep = "keep ";
constexpr std::string_view kTick = "tick";

std::string prefix_of(std::uint32_t number) { return fmt::format("backup{}/", number); }
bool is_of_backup(std::string_view key) { return key.starts_with("backup"); }

// Everything a store holds, after asking it whether that is all right.
Result<crash::Records> checked_records(const Store& store) {
  VARVE_ASSIGN(crash::Records records, crash::read_records(store));
  VARVE_TRY(crash::check_tick(records, store.tick()));
  if (store.tick() != 0) {
    records.emplace(kTick, Bytes::copy_of(std::to_string(store.tick())));
  }
  Progress progress;
  VARVE_ASSIGN(const VerifyReport report, store.verify(progress));
  if (report.clean()) return records;
  return report.problems.front().error.with_context("verify");
}

// What the backup holds, as whoever needs it would find it; nullopt if there is none.
Result<std::optional<crash::Records>> backup_records(const sim::SimDisk& disk,
                                                     std::uint32_t number) {
  sim::SimDisk copy(disk.image());
  copy.set_recording(false);
  const std::string path = backup_path(kSavePath, number);
  VARVE_ASSIGN(const bool is_there, copy.exists(path));
  if (!is_there) return std::nullopt;
  VARVE_ASSIGN(const auto store, NebulaStore::open(copy, path));
  VARVE_ASSIGN(const crash::Records found, checked_records(*store));
  crash::Records records = {{prefix_of(number), Bytes()}};
  for (const auto& [key, value] : found) records.emplace(prefix_of(number) + key, value);
  VARVE_TRY(store->close());
  return records;
}

class NebulaCrashSession final : public crash::Session {
 public:
  NebulaCrashSession(sim::SimDisk& disk, std::unique_ptr<Store> store)
      : disk_(disk), store_(std::move(store)) {}

  Status apply(const crash::Step& step) override {
    if (step.upkeep == kWaits) {
      waiting_.push_back(step);
      return {};
    }
    Progress progress;
    if (step.upkeep == "compact") VARVE_TRY(store_->compact(progress));
    if (step.upkeep == "pin") VARVE_TRY(pin());
    if (step.upkeep == "unpin") pinned_ = {};
    if (step.changes.empty()) return {};
    VARVE_ASSIGN(Commit commit, to_commit(step));
    VARVE_TRY(store_->commit(commit, progress));
    waiting_.clear();
    return {};
  }
  std::size_t unsynced_count() const override { return waiting_.size(); }

  Result<crash::Records> read_all() override {
    VARVE_ASSIGN(crash::Records records, checked_records(*store_));
    for (std::uint32_t number = 1; number <= kBackupCount; ++number) {
      VARVE_ASSIGN(auto backup, backup_records(disk_, number));
      if (backup) records.merge(*backup);
    }
    if (pinned_.view != nullptr) {
      VARVE_ASSIGN(const crash::Records seen, crash::read_records(*pinned_.view));
      if (seen != pinned_.records) return corruption("a pinned view changed");
    }
    for (const crash::Step& step : waiting_) records = crash::after(std::move(records), step);
    return records;
  }
  Status close() override {
    pinned_ = {};
    return store_->close();
  }

 private:
  struct Pinned {
    std::unique_ptr<StoreView> view;
    crash::Records records;
  };

  Result<Commit> to_commit(const crash::Step& step) const {
    auto changes = step.changes;
    std::uint64_t tick = store_->tick();
    if (const auto it = changes.find(std::string(kTick)); it != changes.end()) {
      tick = std::stoull(std::string(it->second->text()));
      changes.erase(it);
    }
    std::erase_if(changes, [](const auto& change) { return is_of_backup(change.first); });
    VARVE_ASSIGN(Commit commit, crash::to_commit(changes, tick));
    if (step.upkeep.starts_with(kKeep)) {
      commit.backup_count =
          static_cast<std::uint32_t>(std::stoul(step.upkeep.substr(kKeep.size())));
    }
    return commit;
  }

  Status pin() {
    VARVE_ASSIGN(pinned_.view, store_->pin());
    VARVE_ASSIGN(pinned_.records, crash::read_records(*pinned_.view));
    return {};
  }

  sim::SimDisk& disk_;
  std::unique_ptr<Store> store_;
  Pinned pinned_;  // goes before the store
  std::vector<crash::Step> waiting_;
};

Bytes payload(RecordKind kind, std::string_view text) {
  if (kind != RecordKind::entity) return Bytes::copy_of(text);
  EntityRecord record;
  record.components.push_back({"text", Bytes::copy_of(text)});
  return encode_entity(record).value();
}

// Steps one after the other, and what they come to.
class WorkloadMaker {
 public:
  explicit WorkloadMaker(crash::Records start) : records_(std::move(start)) {}

  void add(crash::Step step) {
    records_ = crash::after(std::move(records_), step);
    steps.push_back(std::move(step));
  }
  bool has_backup(std::uint32_t number) const { return records_.contains(prefix_of(number)); }
  // Backup `number` becomes what is in front of it.
  void take_over(std::uint32_t number) {
    const std::string to = prefix_of(number);
    const std::string from = number == 1 ? "" : prefix_of(number - 1);
    crash::Step step{.changes = erasure_of(number), .upkeep = std::string(kWaits)};
    step.changes[to] = Bytes();
    for (const auto& [key, value] : records_) {
      const bool is_wanted = number == 1 ? !is_of_backup(key) : key.starts_with(from);
      if (is_wanted) step.changes[to + key.substr(from.size())] = value;
    }
    add(std::move(step));
  }
  std::map<std::string, std::optional<Bytes>> erasure_of(std::uint32_t number) const {
    std::map<std::string, std::optional<Bytes>> changes;
    for (const auto& [key, value] : records_) {
      if (key.starts_with(prefix_of(number))) changes[key] = std::nullopt;
    }
    return changes;
  }

  crash::Workload steps;

 private:
  crash::Records records_;
};

}  // namespace

Result<std::unique_ptr<crash::Session>> NebulaCrashSubject::open(Vfs& vfs) {
  auto& disk = dynamic_cast<sim::SimDisk&>(vfs);
  if (make_disk_) make_disk_(disk);
  auto store = NebulaStore::open(vfs, kSavePath);
  if (!store && store.error().code() == ErrorCode::not_found) {
    store = NebulaStore::create(vfs, kSavePath);
  }
  if (!store) return store.error();
  return std::make_unique<NebulaCrashSession>(disk, *std::move(store));
}

crash::Step NebulaCrashSubject::one_more() const {
  return {.changes = {{"chunk:5,77,-77,0", Bytes::copy_of("still taking commits")}}};
}

crash::Workload small_commits(std::size_t count) {
  crash::Workload workload = crash::store_workload(count, NebulaStore::what_it_can(), payload);
  for (crash::Step& step : workload) {
    step.changes[std::string(kTick)] = step.changes.at("global:tick");
  }
  return workload;
}

crash::Step tick_only(std::uint64_t tick) {
  return {.changes = {{std::string(kTick), Bytes::copy_of(std::to_string(tick))}}};
}

crash::Workload with_backups(const crash::Workload& steps, crash::Records start) {
  WorkloadMaker maker(std::move(start));
  for (crash::Step step : steps) {
    if (!step.changes.empty()) {
      if (maker.has_backup(1)) maker.take_over(2);
      maker.take_over(1);
      step.upkeep = fmt::format("{}{}", kKeep, kBackupCount);
    }
    maker.add(std::move(step));
  }
  return std::move(maker.steps);
}

crash::Workload with_fewer_backups(const crash::Step& step, std::uint32_t kept_count,
                                   crash::Records start) {
  WorkloadMaker maker(std::move(start));
  for (std::uint32_t number = kept_count; number >= 1; --number) maker.take_over(number);
  crash::Step commit{.changes = step.changes, .upkeep = std::string(kWaits)};
  maker.add(commit);
  for (std::uint32_t number = kept_count + 1; number <= kBackupCount; ++number) {
    commit.changes.merge(maker.erasure_of(number));
    if (number < kBackupCount) maker.add(commit);
  }
  commit.upkeep = fmt::format("{}{}", kKeep, kept_count);
  maker.add(std::move(commit));
  return std::move(maker.steps);
}

crash::Start start_after(const crash::Workload& workload, crash::Start start) {
  NebulaCrashSubject subject;
  sim::SimDisk disk(start.image);
  disk.set_recording(false);
  const auto session = subject.open(disk).value();
  for (const crash::Step& step : workload) EXPECT_TRUE(session->apply(step));
  EXPECT_TRUE(session->close());
  start.image = disk.image();
  start.records = subject.open(disk).value()->read_all().value();
  return start;
}

crash::Start another_programs_save() {
  sim::SimDisk disk;
  const auto write = [&](std::string_view name, ByteView contents) {
    const auto file = disk.open(SaveLayout(kSavePath).in(name), OpenMode::create).value();
    EXPECT_TRUE(file->write_at(0, contents));
  };
  EXPECT_TRUE(disk.create_dir(kSavePath));
  EXPECT_TRUE(disk.create_dir(SaveLayout(kSavePath).in("chunks")));
  write("world.ron", as_byte_view(encode_meta({.display_name = "theirs"}).value()));
  write("entities.bin", encode_scene({}).value());
  for (const std::string_view chunk : {"0_0_0_0", "0_1_0_0", "3_-7_2_1"}) {
    write("chunks/" + std::string(chunk) + ".chunk",
          encode_file(RecordKind::chunk, Bytes::copy_of(chunk)).value());
  }
  crash::Start start{.image = disk.image()};
  NebulaCrashSubject subject;
  start.records = subject.open(disk).value()->read_all().value();
  return start;
}

}  // namespace varve::nebula::test
