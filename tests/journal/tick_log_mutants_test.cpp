// Every mutant of the protocol of the log of ticks is caught or explained.
//
// In all of them: zeros ahead of the entries, and the files that become segments later, are for
// speed, so that it does not matter when they are durable. The mark of a close only tells that it
// was one.
#include <gtest/gtest.h>

#include "crash/expected_mutants.h"
#include "journal/tick_log_subject.h"

namespace varve::test {
namespace {

void sweep(std::string_view what, const journal::TickLogOptions& options,
           const crash::Workload& workload, const crash::Workload& before,
           const crash::ExpectedMutants& expected) {
  TickLogSubject log(options);
  const crash::Start start = before.empty() ? crash::Start{} : start_after(log, before);
  crash::expect_mutants(what, log, workload, start, expected);
}

journal::TickLogOptions every_second() {
  journal::TickLogOptions options = small_tick_log_options();
  options.durability = {.kind = Durability::Kind::every_n, .count = 2};
  return options;
}

// 0..2 make the folder; 5..10 the segment that is born with the first tick; 13 and 14 are the
// second; 17..21 leave the mark.
TEST(TickLogMutants, OfCreation) {
  sweep("creation", small_tick_log_options(), {tick_step(1, 600), tick_step(2, 100)}, {},
        {.caught_count = 15,
         .infeasible_count = 2,
         .survivor_count = 7,
         // 1, 2: one of them does; the other is for a creation that was cut short. 21: the mark.
         .dropped = {1, 2, 21},
         .explained = {{0, 2}, /* zeros */ {7, 8}, {20, 21}}});
}

// 2..7 are a segment, 8..10 a file made ready, which 13..18 make a segment of; 22..24 are another;
// 26 and 27 a group; 28..34 close the log.
TEST(TickLogMutants, OfRotation) {
  sweep("rotation", every_second(), {tick_step(11, 2500), tick_step(12, 2000), tick_step(13, 100)},
        {tick_step(1, 600)},
        {.caught_count = 25,
         .infeasible_count = 6,
         .survivor_count = 19,
         // Files made ready, and the mark.
         .dropped = {10, 24, 34},
         .explained = {
             // Zeros, and the file made ready: the tick that is acknowledged at 11 does not
             // wait for it.
             {4, 11},
             {15, 16},
             {22, 24},
             // The mark waits for the ticks it speaks of, which is caught; not so what is cut
             // off and removed before it.
             {26, 35}}});
}

// 2..7 are a segment with the tick that covers what goes; 8..12 the mark that says so; 13..18 take
// a file to use again and remove the others; 22 is a tick; 26..31 make the old file a segment.
TEST(TickLogMutants, OfTruncationAndRecycling) {
  sweep("truncation", small_tick_log_options(),
        {truncate_step(40, 30), tick_step(41, 2500), tick_step(42, 2500)}, ticks(1, 14, 3),
        {.caught_count = 56,
         .infeasible_count = 12,
         .survivor_count = 22,
         // 14: a segment below the mark is not read, under whatever name its bytes come back; it
         // is for whoever has lost the mark. 34, 42: a file made ready, and the mark of the close.
         .dropped = {14, 34, 42},
         .explained = {
             // Zeros. What is truncated need not be gone; that nothing goes before the mark is
             // durable, and the mark not before the tick, is caught.
             {4, 19},
             {22, 23},
             {28, 29},
             {31, 35},
             {37, 42}}});
}

}  // namespace
}  // namespace varve::test
