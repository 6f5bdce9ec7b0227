// A log of ticks as the crash driver needs it.
//
// A record is a tick: "tick:00000007" and its payload. A step appends one; what it erases are ticks
// below the horizon, which its payload names ("horizon 5 ..."), and its upkeep "truncate" tells the
// log to drop. A log drops whole segments, so that what it still has below the horizon is not
// shown.
#pragma once

#include <cstdint>

#include "crash/io_error_sweep.h"
#include "crash/subject.h"
#include "io/sim/disk_op.h"
#include "journal/tick_log.h"

namespace varve::test {

// Everything small and nothing in the background, so that a few ticks make a log grow and rotate.
journal::TickLogOptions small_tick_log_options();

// Upkeep it knows: "truncate"; "sync"; "begin sync" and "finish sync", for a sync that runs beside
// appends, and "sync, finish later", for one that is through long before the log knows.
class TickLogSubject final : public crash::Subject {
 public:
  explicit TickLogSubject(journal::TickLogOptions options) : options_(options) {}
  Result<std::unique_ptr<crash::Session>> open(Vfs& vfs) override;
  crash::Step one_more() const override;

 private:
  journal::TickLogOptions options_;
};

Bytes noise(std::size_t size, std::uint64_t seed);
crash::Step tick_step(std::uint64_t tick, std::size_t size);
// Tick `tick`, and everything before `horizon` goes.
crash::Step truncate_step(std::uint64_t tick, std::uint64_t horizon);
crash::Step upkeep(std::string_view name);
// `count` ticks from `first` on with gaps, of sizes that end sectors in all ways.
crash::Workload ticks(std::uint64_t first, std::size_t count, std::uint64_t seed);
crash::Start start_after(crash::Subject& subject, const crash::Workload& workload);

// What a log did to its disk: what is swept for it must be seen to do it.
struct TickLogEvents {
  std::size_t segment_count = 0;
  std::size_t recycled_count = 0;
  std::size_t removed_count = 0;
  std::size_t mark_count = 0;
  std::size_t growth_count = 0;
  std::string summary() const;
};
TickLogEvents count_tick_log_events(const sim::OpLog& log);

}  // namespace varve::test
