// Every mutant of how a backup is made is caught or explained.
#include <gtest/gtest.h>

#include "crash/expected_mutants.h"
#include "store/varve/backup_subject.h"

namespace varve::test {
namespace {

constexpr crash::SweepOptions kManyStates{.limits = {.all_subsets_atom_count = 4,
                                                     .position_count_max = 6,
                                                     .sample_count = 4,
                                                     .garbage_count_max = 1}};
// For runs with many mutants in which there is always a backup to look at.
constexpr crash::SweepOptions kFewStates{.limits = {.all_subsets_atom_count = 3,
                                                    .position_count_max = 1,
                                                    .sample_count = 1,
                                                    .garbage_count_max = 0}};
// Where a third of them catch the same.
constexpr crash::SweepOptions kFewerStates{.limits = kFewStates.limits, .state_every = 3};

void sweep(std::string_view what, BackupWay way, bool has_backup,
           const crash::SweepOptions& options, const crash::ExpectedMutants& expected) {
  way.looks_at_backup_alone = true;
  const auto scene = make_backup_scene(way, has_backup, kBackUp, 2);
  ASSERT_TRUE(scene) << scene.error().message();
  BackupSubject subject(way, scene->step);
  crash::expect_mutants(what, subject, {scene->step}, scene->start, expected, options);
}

// 4..41 make a save at a name that ends in .unfinished-backup, as VarveCrashMutants.OfCreation
// has it; 42..50 are the log's batch with the records, 51..55 the one with the header, 56..62 its
// checkpoint, 63..65 close it; 66 and 67 give it the name of the backup. 68 is of the save.
TEST(VarveBackupMutants, OfTheFirst) {
  sweep("first", {}, false, kManyStates,
        {.caught_count = 40,
         .infeasible_count = 370,
         .survivor_count = 363,
         // 7: what is in the mark is for people. 9, 10, 37: one of them is enough. 14, 33, 50: 55
         // syncs the same file. 16, 21, 32, 45, 49, 62: one of them is enough. 19, 60: without a
         // checkpoint all is found in the segments. 30, 47: of a segment with nothing in it. 39,
         // 65: that the log was closed is nice to know. 41: the name goes again, and 67 syncs
         // the same folder.
         .dropped = {7, 9, 10, 14, 16, 19, 21, 30, 32, 33, 37, 39, 41, 45, 47, 49, 50, 60, 62, 65},
         .explained =
             {// Nobody looks for it before 66 gives it its name. That 66 waits for the
              // batch at 55 and for the name of its segment is caught.
              {2, 65},
              // A checkpoint that need not be, and a control file that may say less than
              // is true. That the acknowledgement waits for 67 is caught.
              {56, 67}},
         .irrelevant = {68}});
}

// 7 syncs the folder the backup is in; 9..14 make a segment, 15 and 16 are the batch that is the
// backup. 17..41 are the log's upkeep, 42..44 close it. 45 is of the save.
TEST(VarveBackupMutants, OfAnIncrementalOne) {
  sweep("incremental", {}, true, kManyStates,
        {.caught_count = 70,
         .infeasible_count = 119,
         .survivor_count = 135,
         // 7: for what a process left that was killed, which is swept for by itself. 12: 16 syncs
         // the same file. 14, 19, 23: 29 syncs the same folder before the acknowledgement. 21, 27:
         // of segments with nothing in them yet. 36: a torn checkpoint is not believed. 41: a
         // segment that comes back is cleared away. 44: that the log was closed is nice to know.
         .dropped = {7, 12, 14, 19, 21, 23, 27, 36, 41, 44},
         .explained =
             {// One batch is all there is to it, and nobody was promised it yet. What its
              // segment and the upkeep behind it need is swept in tests/backend/log/.
              {2, 44},
              // Upkeep. That the acknowledgement waits for 16 is caught.
              {19, 46}},
         .irrelevant = {45}});
}

// 9..72 make the copy, as above, and close the old backup. 73 swaps their names and 74 makes that
// durable; 75..85 remove the old one.
TEST(VarveBackupMutants, OfOneThatTakesTheOldOnesPlace) {
  sweep("in its place", {.change_size_max = 16}, true, kFewerStates,
        {.caught_count = 138,
         .infeasible_count = 507,
         .survivor_count = 528,
         // Up to 70 they are those of the first, five operations on. 72: that the old one was
         // closed is nice to know. 74, 76: one of them is enough. 85: what comes back of a name
         // that ends in .removing-varve is cleared away by the next call that needs it.
         .dropped = {7,  12, 14, 15, 19, 21, 24, 26, 35, 37, 38, 42, 44,
                     46, 50, 52, 54, 55, 65, 67, 70, 72, 74, 76, 85},
         .explained =
             {// Nobody looks for it before 73 gives it the name. That 73 waits for the batch
              // at 60 and for the name of its segment is caught.
              {2, 72},
              // A checkpoint that need not be, and control files that may say less than is
              // true.
              {61, 74},
              // The old one has lost its name with 74 or 76, whichever comes first. That
              // its values at 77 wait for one of them, and the acknowledgement, is caught.
              {73, 87}},
         // Of the old one: a segment with nothing in it, its checkpoint, and files for those
         // who have it open. 86 is of the save.
         .irrelevant = {78, 79, 80, 81, 86}});
}

// Where names cannot be swapped. 73 and 74 put the old backup aside, 75 and 76 give the copy its
// name; 77..87 remove the old one.
TEST(VarveBackupMutants, OfOneThatIsRenamedInItsPlace) {
  sweep("renamed", {.change_size_max = 16, .has_links = false}, true, kFewStates,
        {.caught_count = 149,
         .infeasible_count = 527,
         .survivor_count = 560,
         // As above, but for these. 74: the copy takes the name or does not, and the old one is
         // found under either of its names. 78: 76 made the new one durable. 87 is what 85 was.
         .dropped = {7,  12, 14, 15, 19, 21, 24, 26, 35, 37, 38, 42, 44,
                     46, 50, 52, 54, 55, 65, 67, 70, 72, 74, 78, 87},
         .explained =
             {// As above. The old one may be put aside at any time: it is found under either name.
              {2, 74},
              {61, 76},
              // That the old one goes only when the new one has its name for good, and
              // that the acknowledgement waits for it, is caught.
              {73, 89}},
         .irrelevant = {80, 81, 82, 83, 88}});
}

}  // namespace
}  // namespace varve::test
