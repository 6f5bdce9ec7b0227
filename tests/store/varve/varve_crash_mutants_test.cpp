// Every mutant of how a varve save is made, renamed and removed is caught or explained.
//
// A commit is one batch of the log, whose own mutants are swept in tests/backend/log/.
#include <gtest/gtest.h>

#include "backend/log/log_workloads.h"
#include "crash/expected_mutants.h"
#include "store/varve/crash_subject.h"

namespace varve::test {
namespace {

void sweep(std::string_view what, const crash::Workload& workload, const crash::Start& start,
           const crash::ExpectedMutants& expected) {
  FolderSubject folder;
  crash::expect_mutants(what, folder, workload, start, expected);
}

crash::Start with_a_save() {
  FolderSubject folder;
  return start_after(folder, {create_step("world"), commit_step("world", "x")});
}

// 2 makes the folder, 3..5 the mark; 6..8 the folder of the log, 9..14 its first segment, 15..19
// its checkpoint, 20..23 the files beside; 24 and 25 are the batch with the first header; 26..34
// are the log's upkeep, 35 syncs the folder, 36 and 37 close the log; 38 and 39 give the save its
// name. 40..42 open and close it.
TEST(VarveCrashMutants, OfCreation) {
  sweep("creation", {create_step("world")}, {},
        {.caught_count = 42,
         .infeasible_count = 141,
         .survivor_count = 137,
         // 5: what is in the mark is for people. 7, 8, 35: one of them is enough; 35 is for
         // backends that do not sync the folder they are in. 12: 25 syncs the same file. 14, 19,
         // 32: one of them is enough, and without a checkpoint all is found in the segments. 37,
         // 42: that the log was closed is nice to know.
         .dropped = {5, 7, 8, 12, 14, 19, 32, 35, 37, 42},
         .explained = {// Nobody looks for it before 38 gives it its name. That 38 waits for the
                       // batch at 25 and for the name of its segment is caught.
                       {0, 37},
                       // A checkpoint that need not be, a segment with nothing in it, and a control
                       // file that may say less than is true. That the acknowledgement waits for 39
                       // is caught.
                       {18, 43}}});
}

TEST(VarveCrashMutants, OfRenaming) {
  sweep("renaming", {rename_step("world", "other", "x")}, with_a_save(), {.caught_count = 3});
}

// 2 takes its name away and 3 makes that durable; 4..11 remove what is in it, 12 syncs.
TEST(VarveCrashMutants, OfRemoving) {
  sweep("removing", {remove_step("world")}, with_a_save(),
        {.caught_count = 6,
         .survivor_count = 9,
         // Without it the name of the folder that was being removed may come back, with what is
         // in it; the next call that needs the name clears it away.
         .dropped = {12},
         .explained = {// A save without its mark is none; without what else goes behind 4 it is
                       // whole. That the values at 4 wait for 3 is caught.
                       {3, 13}}});
}

}  // namespace
}  // namespace varve::test
