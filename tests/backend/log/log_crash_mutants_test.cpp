// Every mutant of the log's protocol is caught or explained.
//
// What comes behind the sync of a batch is upkeep: the batch does not wait for it, though the
// driver sees its acknowledgement only afterwards. The control file is never synced before the end,
// since it may say less than is true.
#include <gtest/gtest.h>

#include "backend/log/log_subject.h"
#include "backend/log/log_workloads.h"
#include "backend/log/small_log.h"
#include "crash/expected_mutants.h"

namespace varve::test {
namespace {

using crash::Workload;

void sweep(std::string_view what, const Workload& workload, const crash::Start& start,
           const crash::ExpectedMutants& expected) {
  LogSubject log(small_log_options());
  log.set_reading_first(false);
  crash::expect_mutants(what, log, workload, start, expected);
}

// 0..2 make the folder, 3..8 the first segment, 9..13 the checkpoint, 14..17 the files beside; 20
// and 21 are the batch; 23..28 prepare the next segment; 32 and 33 close the log.
TEST(LogCrashMutants, OfCreation) {
  sweep("creation", {put("a", 600, 1)}, {},
        {.caught_count = 29,
         .infeasible_count = 32,
         .survivor_count = 42,
         // 1, 2: one of them does; the other is for a creation that was cut short. 13: without a
         // checkpoint all is found in the segments. 28: nothing is in it yet. 33: that the log was
         // closed is nice to know.
         .dropped = {1, 2, 13, 28, 33},
         .explained = {// Nothing was promised, but what 8 makes durable; zeros are only for speed.
                       {0, 17},
                       // Upkeep.
                       {21, 31},
                       {32, 33}}});
}

// 3 and 4 are a batch, 6..11 give the spare segment another name; 16 and 17 are a batch in it;
// 19..24 prepare another, 25..30 write a checkpoint, 34..40 move records.
TEST(LogCrashMutants, OfRollingOver) {
  LogSubject log(small_log_options());
  log.set_reading_first(false);
  const crash::Start start = start_after(log, {put("a", 600, 1)});
  sweep("rolling over", {put("b", 5000, 2), put("c", 5000, 3)}, start,
        {.caught_count = 58,
         .infeasible_count = 39,
         .survivor_count = 60,
         // 24: nothing is in it yet. 30: nothing is removed on the strength of it. 38, 40: no
         // checkpoint refers to what was moved. 44: see above.
         .dropped = {24, 30, 38, 40, 44},
         .explained = {{4, 14}, {17, 42}, {43, 44}}});
}

// 3..8 make a segment for the batch at 10 and 11, 13..18 name the spare anew, 24..30 move records,
// 32..37 write a checkpoint, 39..42 remove three segments; 46 and 47 are a batch, 49 cuts the
// zeros off the segment before, the rest is as before.
TEST(LogCrashMutants, OfClearing) {
  LogSubject log(small_log_options());
  log.set_reading_first(false);
  const crash::Start start =
      start_after(log, {put("a", 5000, 1), put("b", 5000, 2), put("b", 5000, 3)});
  sweep(
      "clearing", {put("b", 5000, 4), put("a", 5000, 5)}, start,
      {.caught_count = 160,
       .infeasible_count = 72,
       .survivor_count = 102,
       // 18: 28 syncs the same folder. 42: only a dropped erasure needs it. 55, 60, 64: see above.
       .dropped = {18, 42, 55, 60, 64},
       .explained = {
           // Which of a segment's name and its first batch comes first, and upkeep. That
           // the removals wait for the checkpoint, and that for what was moved, is caught.
           {3, 44},
           {47, 62},
           {63, 64}}});
}

}  // namespace
}  // namespace varve::test
