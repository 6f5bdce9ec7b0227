// A copy made by save_to() on a disk that crashes: it is whole or absent, one that was
// acknowledged is there with every record, and the save it was made from stays as it was.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <string>

#include "base/try.h"
#include "contract/one_file_store.h"
#include "crash/crash_sweep.h"
#include "crash/io_error_sweep.h"
#include "crash/mutants.h"
#include "crash/store_subject.h"
#include "io/sim/disk_op.h"
#include "varve/chunk.h"
#include "world/save_copy.h"

namespace varve::test {
namespace {

using Delta = std::map<std::string, std::optional<Bytes>>;

constexpr std::string_view kSourcePath = "world";
constexpr std::string_view kCopyPath = "copy";
// Before the keys of the copy's records.
constexpr std::string_view kCopyPrefix = "copy/";
constexpr std::string_view kCopy = "copy";
// As a player does who finds no copy after a crash.
constexpr std::string_view kCopyUnlessThere = "copy unless there";

std::uint64_t tick_of(const Delta& changes, std::uint64_t otherwise) {
  const auto found = changes.find("global:tick");
  return found == changes.end() ? otherwise : std::stoull(std::string(found->second->text()));
}

// What must have changed and is not saved yet, so that a copy of `source` becomes `wanted`.
Delta unsaved_between(const crash::Records& source, const crash::Records& wanted) {
  Delta unsaved;
  for (const auto& [key, value] : source)
    if (!wanted.contains(key)) unsaved[key] = std::nullopt;
  for (const auto& [key, value] : wanted)
    if (const auto found = source.find(key); found == source.end() || found->second != value)
      unsaved[key] = value;
  return unsaved;
}

// As the game thread cuts them off.
Changes to_changes(const Commit& commit) {
  Changes changes;
  for (const ChunkChange& change : commit.chunks) {
    changes.chunks.entries.emplace_back(change.pos);
    auto& entry = changes.chunks.entries.back();
    if (change.payload) entry.value = ChunkRef(std::make_unique<RawChunk>(*change.payload));
  }
  for (const EntityChange& change : commit.entities)
    changes.entities.entries.push_back({change.id, change.value});
  for (const NamedChange& change : commit.players)
    changes.players.entries.push_back({change.name, change.data});
  for (const NamedChange& change : commit.globals)
    changes.globals.entries.push_back({change.name, change.data});
  return changes;
}

class CopySession final : public crash::Session {
 public:
  CopySession(Vfs& vfs, std::unique_ptr<Store> source)
      : vfs_(vfs), format_(vfs), source_(std::move(source)) {}

  Status apply(const crash::Step& step) override {
    if (step.upkeep == kCopy) return copy(step);
    if (step.upkeep == kCopyUnlessThere) {
      VARVE_ASSIGN(const bool is_there, format_.detect(kCopyPath));
      return is_there ? Status() : copy(step);
    }
    VARVE_ASSIGN(const Commit commit,
                 crash::to_commit(step.changes, tick_of(step.changes, source_->tick())));
    Progress progress;
    VARVE_TRY(source_->commit(commit, progress));
    return {};
  }
  Result<crash::Records> read_all() override {
    VARVE_ASSIGN(crash::Records records, records_of(*source_));
    // Not asked of the format: a file that is no save would be none to it.
    VARVE_ASSIGN(const bool is_there, vfs_.exists(kCopyPath));
    if (!is_there) return records;
    VARVE_ASSIGN(const auto copy, format_.open(kCopyPath));
    VARVE_ASSIGN(const crash::Records copied, records_of(*copy));
    for (const auto& [key, value] : copied) records.emplace(std::string(kCopyPrefix) + key, value);
    VARVE_TRY(copy->close());
    return records;
  }
  Status close() override { return source_->close(); }

 private:
  static Result<crash::Records> records_of(const StoreView& view) {
    VARVE_ASSIGN(crash::Records records, crash::read_records(view));
    VARVE_TRY(crash::check_tick(records, view.tick()));
    return records;
  }

  Status copy(const crash::Step& step) {
    crash::Records wanted;
    for (const auto& [key, value] : step.changes) wanted[key.substr(kCopyPrefix.size())] = *value;
    VARVE_ASSIGN(const crash::Records source, crash::read_records(*source_));
    const Delta unsaved = unsaved_between(source, wanted);
    SaveJob job{.tick = tick_of(unsaved, source_->tick()),
                .copy_path = std::string(kCopyPath),
                .copy_format = &format_};
    VARVE_ASSIGN(const Commit commit, crash::to_commit(unsaved, job.tick));
    job.changes.push_back(to_changes(commit));
    job.outcome.push_back({.kind = SaveKind::copy, .state = std::make_shared<SaveHandle::State>()});
    // Without threads of its own, so that every run is the same.
    ThreadPool threads("none", 0);
    BufferPool buffers;
    std::atomic<std::uint64_t> encode_count = 0;
    VARVE_ASSIGN(const SaveReport report,
                 save_copy(job, *source_,
                           {.threads = threads, .buffers = buffers, .encode_count = encode_count}));
    if (!report.problems.empty()) return report.problems.front().error;
    return {};
  }

  Vfs& vfs_;
  OneFileFormat format_;
  std::unique_ptr<Store> source_;
};

// Two commits, and a copy with changes of every kind that only it has.
crash::Workload source_steps() { return crash::store_workload(2, {}); }

crash::Step copy_step(std::string_view upkeep = kCopy) {
  crash::Records records;
  for (const crash::Step& step : source_steps()) records = crash::after(std::move(records), step);
  records["chunk:0,0"] = Bytes::copy_of("edited");
  records["chunk:9,9"] = Bytes::copy_of(std::string(900, '*'));
  records["entity:7"] = crash::entity_record(ChunkPos(9, 9), as_byte_view("moved"));
  records["player:bob"] = Bytes::copy_of("came");
  records["global:tick"] = Bytes::copy_of("40");
  records.erase("chunk:2,0");
  records.erase("entity:8");
  records.erase("player:ann");
  crash::Step step{.changes = {}, .upkeep = std::string(upkeep)};
  for (const auto& [key, value] : records) step.changes[std::string(kCopyPrefix) + key] = value;
  return step;
}

class CopySubject final : public crash::Subject {
 public:
  Result<std::unique_ptr<crash::Session>> open(Vfs& vfs) override {
    VARVE_ASSIGN(auto source, OneFileStore::open_or_create(vfs, kSourcePath));
    return std::make_unique<CopySession>(vfs, std::move(source));
  }
  // What an interrupted copy left behind must not stand in the way of the next.
  crash::Step one_more() const override { return copy_step(kCopyUnlessThere); }
};

crash::Workload workload() {
  crash::Workload steps = source_steps();
  steps.push_back(copy_step());
  steps.push_back({.changes = {{"chunk:0,0", Bytes::copy_of("later")}, {"player:ann", {}}}});
  steps.push_back({.changes = {}, .upkeep = "reopen"});
  return steps;
}

TEST(SaveCopyCrash, EveryCrashLeavesTheCopyWholeOrAbsentAndItsSourceAlone) {
  CopySubject subject;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto result =
        crash::sweep_crashes(subject, workload(), {.seed = seed, .recovery_every = 29});
    ASSERT_TRUE(result.ok()) << result.summary();
    EXPECT_GT(result.point_count, 40U) << "crashed too seldom to mean anything";
    EXPECT_GT(result.recovery_state_count, 50U);
  }
}

TEST(SaveCopyCrash, EveryFailedOperationLeavesTheCopyWholeOrAbsentAndItsSourceAlone) {
  CopySubject subject;
  // Each of these runs is crashed at every point, so that it had better be short.
  const crash::Workload steps{source_steps().front(), copy_step()};
  const auto result = crash::sweep_io_errors(subject, steps, {});
  EXPECT_TRUE(result.ok()) << result.summary();
  EXPECT_GT(result.failed_run_count, 100U);
}

// A copy of a source that was there before, so that nothing else is in the log.
Result<crash::RecordedRun> record_copy(crash::Subject& subject) {
  VARVE_ASSIGN(const auto before,
               crash::record_run(subject, source_steps(), {}, {crash::Records{}}, 1));
  sim::DiskImage image;
  for (const sim::DiskOp& op : before.log)
    if (!sim::apply_op(image, op)) return corruption("the log does not replay");
  return crash::record_run(subject, {copy_step()}, image, {before.states.back()}, 1);
}

// "moved operation 3 (write ...) behind 4 (sync ...)": without what is in brackets.
std::string without_details(std::string_view description) {
  std::string text(description.substr(0, description.find(':')));
  for (std::size_t at = 0; (at = text.find(" (")) != std::string::npos;)
    text.erase(at, text.find(')', at) + 1 - at);
  return text;
}

// The operations of a copy, by their numbers:
//   2 create, 3 write, 4 sync, 5 rename, 6 sync the directory: the empty save;
//   7 create, 8 write, 9 sync, 10 rename, 11 sync the directory: the commit of everything;
//   12 rename to the name that was asked for, 13 and 14 sync the directory;
//   15 it is acknowledged.
TEST(SaveCopyCrash, EveryMutantIsCaughtOrExplained) {
  const std::set<std::string> explained = {
      // The empty save is replaced before it gets the name anybody looks for.
      "moved operation 3 behind 4",
      "dropped operation 4",
      "moved operation 5 before 4",
      "swapped the steps 2..4 and 5..6",
      "moved operation 5 behind 6",
      "dropped operation 6",
      "moved operation 7 before 6",
      // Nobody looks for the unfinished name either: the data must be durable before 12,
      // and 13 is for all that happened to names.
      "moved operation 10 before 9",
      "swapped the steps 7..9 and 10..11",
      "moved operation 10 behind 11",
      "dropped operation 11",
      "moved operation 12 before 11",
      // The sample syncs the folder of either name, and here it is one: one sync is enough.
      "moved operation 12 behind 13",
      "dropped operation 13",
      "dropped operation 14",
      "moved operation 15 before 14",
      "swapped the steps 12..13 and 14..14",
  };
  CopySubject subject;
  auto run = record_copy(subject);
  ASSERT_TRUE(run) << run.error().message();
  const auto result = crash::sweep_mutants(subject, *std::move(run), {});
  std::set<std::string> survivors;
  for (const std::string& survivor : result.survivors) survivors.insert(without_details(survivor));
  EXPECT_EQ(survivors, explained) << result.summary();
  // 9 dropped, and 8 behind it; 7..9 after 14; the acknowledgement before 4, 6, 9, 11 and 13.
  EXPECT_EQ(result.caught_count, 8U) << result.summary();
}

TEST(SaveCopyCrash, ACopyWhoseNameIsNeverSyncedIsCaught) {
  CopySubject subject;
  auto run = record_copy(subject);
  ASSERT_TRUE(run) << run.error().message();
  sim::OpLog& log = run->log;
  const auto named = std::find_if(log.rbegin(), log.rend(), [](const sim::DiskOp& op) {
                       return op.kind == sim::OpKind::rename;
                     }).base();
  const auto dropped = std::remove_if(
      named, log.end(), [](const sim::DiskOp& op) { return op.kind == sim::OpKind::sync_dir; });
  ASSERT_EQ(log.end() - dropped, 2);
  log.erase(dropped, log.end());
  EXPECT_FALSE(crash::sweep_run(subject, *run, {}).ok());
}

}  // namespace
}  // namespace varve::test
