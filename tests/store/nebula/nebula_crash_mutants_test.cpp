// Every mutant of the nebula store's protocol is caught or explained; and the swap of the
// format's design document, which is no mutant of ours, is caught too.
#include <gtest/gtest.h>

#include "base/try.h"
#include "crash/crash_sweep.h"
#include "crash/expected_mutants.h"
#include "store/nebula/crash_subject.h"
#include "store/nebula/save_files.h"
#include "store/save_folder.h"

namespace varve::nebula::test {
namespace {

using crash::Step;
using crash::Workload;

Step change(std::uint64_t tick) {
  Step step = tick_only(tick);
  step.changes["chunk:0,0,0,0"] = Bytes::copy_of(std::string(600, static_cast<char>('a' + tick)));
  // Comes with one commit and goes with the next, each time another.
  const auto player = [](std::uint64_t n) { return "player:" + std::to_string(n); };
  step.changes[player(tick)] = Bytes::copy_of("here");
  if (tick > 1) step.changes[player(tick - 1)] = std::nullopt;
  return step;
}

void sweep(std::string_view what, const Workload& workload, const crash::Start& start,
           const crash::ExpectedMutants& expected) {
  NebulaCrashSubject subject;
  crash::expect_mutants(what, subject, workload, start, expected);
}

// 0..6 make the folders, 7..12 world.ron and entities.bin, 13 syncs the save; 14..18 its
// catalog, 19 and 20 the mark that it is closed; 21 and 22 give it its name. 23 and 24 sync
// the folders when it is opened; the commit is 27..37; 39..45 close it.
TEST(NebulaCrashMutants, OfCreation) {
  sweep(
      "creation", {change(1)}, {},
      {.caught_count = 55,
       .infeasible_count = 17,
       .survivor_count = 69,
       // 16: 20 syncs the same file. 20: a save without the mark is opened as after a crash.
       // 23, 24: the folders were there. 39 to 45: see below.
       .dropped = {16, 20, 23, 24, 39, 40, 41, 42, 43, 45},
       .explained = {// Nobody looks for it before 21 gives it its name; by then all is durable but
                     // empty folders, which are made again when it is opened.
                     // What 13 and 18 sync, 23 and 24 sync again.
                     {0, 24},
                     // In which order two files and the folder of both become durable.
                     {31, 33},
                     // Other programs know nothing of staged files: for them all is in place.
                     {39, 45}}});
}

// 0 and 1 sync the folders; a commit is 4..15, another 18..29; 31..37 close the save.
TEST(NebulaCrashMutants, OfCommits) {
  sweep("commits", {change(2), change(3)}, start_after({change(1)}),
        {.caught_count = 67,
         .infeasible_count = 4,
         .survivor_count = 27,
         .dropped = {0, 1, 31, 33, 34, 35, 37},
         .explained = {// The folders are there.
                       {0, 1},
                       // In which order two files and the folder of both become durable.
                       {8, 10},
                       {22, 24},
                       // For other programs, and for the removal of a player: that one is caught.
                       {31, 37}}});
}

// 18 syncs the folder a player was erased from; 19..23 replace the catalog.
TEST(NebulaCrashMutants, OfCompaction) {
  sweep("compaction", {change(2), {.changes = {}, .upkeep = "compact"}}, start_after({change(1)}),
        {.caught_count = 37,
         .infeasible_count = 5,
         .survivor_count = 38,
         .dropped = {0, 1, 23, 25, 26, 27, 28, 29, 31},
         .explained = {{0, 1},
                       {8, 10},
                       // Either catalog says the same: when the new one takes over does not matter,
                       // so long as it is whole and the player is gone by then.
                       {18, 24},
                       {25, 31}}});
}

// 8..14 stage the commit. 15..21 open backup 1, 22..28 backup 2; 29..36 bring up the second,
// 37..44 the first; 45..49 make the commit.
TEST(NebulaCrashMutants, OfARotation) {
  const auto start = start_after(with_backups({change(1), change(2), change(3)}));
  sweep("rotation", with_backups({change(4)}, start.records), start,
        {.caught_count = 215,
         .infeasible_count = 120,
         .survivor_count = 129,
         .dropped = {0, 1, 15, 16, 22, 23, 51, 53, 54, 55, 57},
         .explained = {{0, 1},
                       // New names in folders nobody reads before a catalog says so, and steps of
                       // three saves that do not wait for each other: only the records at 32, 40
                       // and 45 do. What opening wrote into a catalog is also what was there.
                       {12, 41},
                       {51, 57}}});
}

// 13..32 make the backup, 33 and 34 give it its name.
TEST(NebulaCrashMutants, OfAFirstBackup) {
  const auto start = start_after({change(1)});
  sweep("first backup", with_backups({change(2)}, start.records), start,
        {.caught_count = 121,
         .infeasible_count = 58,
         .survivor_count = 55,
         // 26: no global lies in that folder.
         .dropped = {0, 1, 26, 41, 43, 44, 45, 47},
         .explained = {{0, 1},
                       // Nobody looks for it before 33; nor does it wait for what is staged.
                       {10, 34},
                       {41, 47}}});
}

// The document's way to save: all of it beside the save, then two renames. Here with every
// sync it could wish for.
class TwoRenames final : public crash::Subject {
 public:
  Result<std::unique_ptr<crash::Session>> open(Vfs& vfs) override {
    auto session = std::make_unique<TwoRenamesSession>(vfs);
    VARVE_TRY(session->load());
    return session;
  }

 private:
  class TwoRenamesSession final : public crash::Session {
   public:
    explicit TwoRenamesSession(Vfs& vfs) : vfs_(vfs) {}

    Status load() {
      VARVE_ASSIGN(const bool is_there, vfs_.exists("world"));
      if (!is_there) return {};
      VARVE_ASSIGN(const auto entries, vfs_.list("world"));
      for (const DirEntry& entry : entries) {
        VARVE_ASSIGN(const auto file, vfs_.open("world/" + entry.name, OpenMode::read));
        VARVE_ASSIGN(records_[entry.name], file->read_all(1 << 20));
      }
      return {};
    }
    Status apply(const Step& step) override {
      crash::Records next = crash::after(records_, step);
      VARVE_TRY(remove_tree(vfs_, "world.tmp"));
      VARVE_TRY(vfs_.create_dir("world.tmp"));
      for (const auto& [key, value] : next) {
        VARVE_ASSIGN(const auto file, vfs_.open("world.tmp/" + key, OpenMode::create));
        VARVE_TRY(file->write_at(0, value));
        VARVE_TRY(file->sync_data());
      }
      VARVE_TRY(vfs_.sync_dir("world.tmp"));
      VARVE_TRY(remove_tree(vfs_, "world.backup"));
      VARVE_ASSIGN(const bool is_there, vfs_.exists("world"));
      if (is_there) VARVE_TRY(vfs_.rename("world", "world.backup"));
      VARVE_TRY(vfs_.rename("world.tmp", "world"));
      VARVE_TRY(vfs_.sync_dir("."));
      records_ = std::move(next);
      return {};
    }
    Result<crash::Records> read_all() override { return records_; }
    Status close() override { return {}; }

   private:
    Vfs& vfs_;
    crash::Records records_;
  };
};

TEST(NebulaCrashMutants, TheTwoRenamesOfTheDesignAreCaught) {
  TwoRenames store;
  const Workload workload = {{.changes = {{"a", Bytes::copy_of("first")}}},
                             {.changes = {{"a", Bytes::copy_of("second")}}}};
  const auto result = crash::sweep_crashes(store, workload, {});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.violations.front().find("'a' is missing"), std::string::npos)
      << result.summary();
}

}  // namespace
}  // namespace varve::nebula::test
