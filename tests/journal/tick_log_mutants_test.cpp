// Every mutant of the protocol of the log of ticks is caught or explained.
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

TEST(TickLogMutants, OfCreation) {
  sweep("creation", small_tick_log_options(), {tick_step(1, 600), tick_step(2, 100)}, {},
        {.caught_count = 0});
}

TEST(TickLogMutants, OfRotation) {
  sweep("rotation", every_second(), {tick_step(11, 2500), tick_step(12, 2000), tick_step(13, 100)},
        {tick_step(1, 600)}, {.caught_count = 0});
}

TEST(TickLogMutants, OfTruncationAndRecycling) {
  sweep("truncation", small_tick_log_options(),
        {truncate_step(40, 30), tick_step(41, 2500), tick_step(42, 2500)}, ticks(1, 14, 3),
        {.caught_count = 0});
}

}  // namespace
}  // namespace varve::test
