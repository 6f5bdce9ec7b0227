// A journal as the crash driver needs it: what is put are globals, one step is one tick.
#pragma once

#include "crash/io_error_sweep.h"
#include "crash/subject.h"
#include "journal/engine.h"

namespace varve::test {

// Upkeep it knows: "sync", "snapshot", "truncate" (what lies before the latest tick). Every tick
// there is must be as it was: each step's number is a global too, and every state that can be
// recovered must have its own.
class EngineSubject final : public crash::Subject {
 public:
  // If it shows snapshots, each is a record without bytes under its snapshot_key(), and steps that
  // make or remove one say so.
  explicit EngineSubject(StorageConfig config, bool shows_snapshots = false)
      : config_(config), shows_snapshots_(shows_snapshots) {}
  // A problem in the report is a violation, though the journal opens: no crash is damage.
  Result<std::unique_ptr<crash::Session>> open(Vfs& vfs) override;

 private:
  StorageConfig config_;
  bool shows_snapshots_;
};

std::string snapshot_key(std::uint64_t tick);

// A disk on which the workload was done and the journal closed. "reopen" closes and opens it
// between two steps.
crash::Start start_after(crash::Subject& subject, const crash::Workload& workload);

}  // namespace varve::test
