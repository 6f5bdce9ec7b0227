// A save crashed while the backups beside it are copied, renamed and removed.
//
// Invariants checked, for each crash state, beside those of varve_crash_test.cpp: every backup
// opens, verify() finds nothing in it, and it holds exactly one generation of the save; which
// generations there are is what was kept before the commit under way or what is kept with it, and
// on the way from more backups to fewer the oldest go first, and none before the new one is there.
// Once a commit was acknowledged each has its number.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <set>

#include "base/try.h"
#include "crash/crash_sweep.h"
#include "crash/io_error_sweep.h"
#include "io/sim/sim_disk.h"
#include "store/save_folder.h"
#include "store/varve/backup.h"
#include "store/varve/crash_subject.h"

namespace varve::test {
namespace {

using crash::Records;

constexpr std::string_view kOneMore = "chunk:77,-77";
constexpr std::uint32_t kOneMoreCount = 2;

// Which generations are kept, the newest first.
using Kept = std::vector<std::uint64_t>;

Kept first_of(Kept kept, std::size_t count) {
  kept.resize(std::min(kept.size(), count));
  return kept;
}

// What a commit leaves that keeps so many, where `generation` is what it finds in the save.
Kept with(std::uint64_t generation, Kept kept, std::uint32_t count) {
  if (kept.empty() || kept.front() != generation) kept.insert(kept.begin(), generation);
  return first_of(std::move(kept), count);
}

// What there may be while such a commit is under way.
void add_all_on_the_way(std::uint64_t generation, const Kept& kept, std::uint32_t count,
                        std::set<Kept>& to) {
  to.insert(kept);
  // None goes before the new one is there, but the one that becomes it.
  const std::size_t count_meanwhile = std::max<std::size_t>(count, kept.size());
  const Kept renewed =
      count == 0 ? kept : with(generation, kept, static_cast<std::uint32_t>(count_meanwhile));
  to.insert(renewed);
  for (std::size_t left = count; left < renewed.size(); ++left) to.insert(first_of(renewed, left));
}

// What the save and its backups hold after each commit; the first one keeps none.
class RotationModel {
 public:
  RotationModel(const crash::Workload& commits, std::vector<std::uint32_t> counts)
      : counts_(std::move(counts)) {
    records_.emplace_back();
    kept_.emplace_back();
    for (std::size_t i = 0; i < commits.size(); ++i) {
      kept_.push_back(with(i, kept_.back(), counts_[i]));
      records_.push_back(crash::after(records_.back(), commits[i]));
    }
  }

  std::uint32_t count_for(std::uint64_t generation) const { return counts_.at(generation - 1); }
  const Records& records(std::uint64_t generation) const { return records_.at(generation); }
  const Kept& kept(std::uint64_t generation) const { return kept_.at(generation); }
  bool has(std::uint64_t generation) const { return generation < records_.size(); }

  // What may be beside a save at this generation: its commit is made, the next one may have begun,
  // and one that a recovered save takes may have begun after that was given up.
  std::set<Kept> allowed(std::uint64_t generation) const {
    std::set<Kept> all = {kept(generation)};
    if (has(generation + 1)) {
      add_all_on_the_way(generation, kept(generation), count_for(generation + 1), all);
    }
    for (const Kept& kept : std::set<Kept>(all)) {
      add_all_on_the_way(generation, kept, kOneMoreCount, all);
    }
    return all;
  }
  // And beside one that took a commit more after this one.
  std::set<Kept> allowed_after_one_more(std::uint64_t generation) const {
    std::set<Kept> all;
    for (const Kept& kept : allowed(generation)) all.insert(with(generation, kept, kOneMoreCount));
    return all;
  }

 private:
  std::vector<std::uint32_t> counts_;
  std::vector<Records> records_;
  std::vector<Kept> kept_;
};

std::string to_text(const Kept& kept) {
  std::string text = "[";
  for (const std::uint64_t generation : kept) text += " " + std::to_string(generation);
  return text + " ]";
}

bool is_under_way(std::string_view name) {
  for (const std::string_view suffix :
       {kUnfinishedBackupSuffix, kReplacedBackupSuffix, kUnfinishedSuffix, kRemovingSuffix}) {
    if (name.ends_with(suffix)) return true;
  }
  return false;
}

class RotationSession final : public crash::Session {
 public:
  RotationSession(sim::SimDisk& disk, const RotationModel& model, std::unique_ptr<Store> store)
      : disk_(disk), model_(model), store_(std::move(store)) {}

  Status apply(const crash::Step& step) override {
    const bool is_one_more = step.changes.contains(std::string(kOneMore));
    std::uint64_t tick = store_->tick();
    if (!is_one_more) tick = std::stoull(std::string(step.changes.at("global:tick")->text()));
    // Made by a process that was killed before it could say so.
    if (!is_one_more && tick == store_->tick() && store_->generation() != 0) return {};
    VARVE_ASSIGN(Commit commit, crash::to_commit(step.changes, tick));
    commit.backup_count = is_one_more ? kOneMoreCount : model_.count_for(store_->generation() + 1);
    Progress progress;
    VARVE_TRY(store_->commit(commit, progress));
    has_committed_ = true;
    return {};
  }
  Result<Records> read_all() override {
    VARVE_ASSIGN(Records records, crash::read_records(*store_));
    VARVE_TRY(crash::check_tick(records, store_->tick()));
    VARVE_TRY(check_backups(records.contains(std::string(kOneMore))));
    return records;
  }
  Status close() override { return store_->close(); }

 private:
  Status check_backups(bool has_one_more) const {
    VARVE_ASSIGN(const auto found, read_backups());
    Kept kept;
    for (const auto& [name, generation] : found) kept.push_back(generation);
    std::sort(kept.rbegin(), kept.rend());
    const std::uint64_t generation = store_->generation() - (has_one_more ? 1 : 0);
    const std::set<Kept> allowed =
        has_one_more ? model_.allowed_after_one_more(generation) : model_.allowed(generation);
    if (!allowed.contains(kept)) {
      return corruption("beside generation " + std::to_string(store_->generation()) +
                        " are the backups " + to_text(kept));
    }
    if (!has_committed_) return {};
    for (std::uint32_t number = 1; number <= kept.size(); ++number) {
      const auto it = found.find(backup_path("world", number));
      if (it == found.end() || it->second != kept[number - 1]) {
        return corruption("the backups " + to_text(kept) + " are not in their order");
      }
    }
    return {};
  }

  // The generation of each, by its name. On a copy of the disk, so that looking changes nothing.
  Result<std::map<std::string, std::uint64_t>> read_backups() const {
    sim::SimDisk copy(disk_.image());
    copy.set_recording(false);
    const auto format = small_format(copy);
    VARVE_ASSIGN(const auto entries, copy.list("/"));
    std::map<std::string, std::uint64_t> found;
    for (const DirEntry& entry : entries) {
      if (!entry.name.starts_with("world.backup") || is_under_way(entry.name)) continue;
      const auto backup = open_checked(*format, entry.name);
      if (!backup) return backup.error().with_context(entry.name);
      const std::uint64_t generation = (*backup)->generation();
      if (!model_.has(generation)) return corruption(entry.name + ": no generation of this save");
      VARVE_ASSIGN(const Records records, crash::read_records(**backup));
      VARVE_TRY(crash::check_tick(records, (*backup)->tick()));
      if (const auto wrong = crash::difference(model_.records(generation), records)) {
        return corruption(entry.name + ": " + *wrong);
      }
      VARVE_TRY((*backup)->close());
      found.emplace(entry.name, generation);
    }
    return found;
  }

  sim::SimDisk& disk_;
  const RotationModel& model_;
  std::unique_ptr<Store> store_;
  bool has_committed_ = false;
};

class RotationSubject final : public crash::Subject {
 public:
  explicit RotationSubject(RotationModel model) : model_(std::move(model)) {}

  Result<std::unique_ptr<crash::Session>> open(Vfs& vfs) override {
    VARVE_ASSIGN(auto store, open_or_create_save(vfs));
    return std::make_unique<RotationSession>(dynamic_cast<sim::SimDisk&>(vfs), model_,
                                             std::move(store));
  }
  crash::Step one_more() const override {
    return {.changes = {{std::string(kOneMore), Bytes::copy_of("still taking commits")}}};
  }

 private:
  const RotationModel model_;
};

void sweep(std::string_view what, const std::vector<std::uint32_t>& counts) {
  const crash::Workload commits = crash::store_workload(counts.size(), {});
  RotationSubject subject(RotationModel(commits, counts));
  const auto run = crash::record_run(subject, commits, {}, {Records{}}, 1);
  ASSERT_TRUE(run) << run.error().message();
  const auto result = crash::sweep_run(subject, *run,
                                       {.limits = {.all_subsets_atom_count = 4,
                                                   .position_count_max = 5,
                                                   .sample_count = 4,
                                                   .garbage_count_max = 1},
                                        .recovery_every = 1999});
  std::cout << what << ": " << result.summary() << "\n";
  EXPECT_TRUE(result.ok()) << what;
  EXPECT_GT(result.state_count, 5 * result.point_count);
  EXPECT_GT(result.recovery_state_count, 300u);
}

// Killed processes, whose successors find what was not durable yet; then the power goes.
void sweep_killed(std::string_view what, const std::vector<std::uint32_t>& counts) {
  const crash::Workload commits = crash::store_workload(counts.size(), {});
  RotationSubject subject(RotationModel(commits, counts));
  const auto result = crash::sweep_killed_processes(subject, commits,
                                                    {.limits = {.all_subsets_atom_count = 2,
                                                                .position_count_max = 2,
                                                                .sample_count = 2,
                                                                .garbage_count_max = 0},
                                                     .state_every = 97});
  std::cout << what << ": " << result.summary() << "\n";
  EXPECT_TRUE(result.ok()) << what;
  EXPECT_GT(result.failed_run_count, 200u);
  EXPECT_GT(result.state_count, result.run_count);
}

// The first ones are made, then the oldest becomes the newest.
TEST(VarveRotationCrash, BackupsHoldTheGenerationsTheyAreOf) { sweep("two", {0, 2, 2, 2, 2}); }

TEST(VarveRotationCrash, OfManyThatBecomeFewTheOldestGo) { sweep("fewer", {0, 3, 3, 3, 1, 0}); }

TEST(VarveRotationCrash, ProcessesAreKilledAndThenThePowerGoes) {
  sweep_killed("killed", {0, 2, 2, 2});
}

}  // namespace
}  // namespace varve::test
