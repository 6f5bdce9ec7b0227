// A nebula save, with its backups, as a Subject of the crash driver.
//
// Besides every record it checks what the driver cannot see: after each step and each crash
// the save verifies clean, every backup opens by itself, with the store's own code and on a
// copy of the disk so that looking changes nothing, and a view that is pinned reads what it
// read when it was pinned.
//
// The record "tick" is the tick the save is at, if it ever left 0; a step that changes it
// commits at that tick. Those of backup 2 are shown as "backup2/tick",
// "backup2/chunk:0,0,0,0" and so on; the empty record "backup2/" says that there is one.
#pragma once

#include <functional>

#include "crash/io_error_sweep.h"
#include "crash/subject.h"
#include "io/sim/sim_disk.h"
#include "store/nebula/nebula_store.h"

namespace varve::nebula::test {

inline constexpr std::string_view kSavePath = "world";

// Upkeep it knows: "compact"; "keep 2", "keep 1" and "keep 0", commits that keep so many
// backups; "pin" and "unpin" before a commit; and "waits", a step the next one carries out.
class NebulaCrashSubject final : public crash::Subject {
 public:
  // Every disk it is opened on is as `make_disk` makes it: full, or without links.
  using MakeDisk = std::function<void(sim::SimDisk&)>;
  explicit NebulaCrashSubject(MakeDisk make_disk = {}) : make_disk_(std::move(make_disk)) {}

  Result<std::unique_ptr<crash::Session>> open(Vfs& vfs) override;
  crash::Step one_more() const override;

 private:
  MakeDisk make_disk_;
};

// Short commits of every kind of record; see crash::store_workload().
crash::Workload small_commits(std::size_t count);

// Only the tick moves.
crash::Step tick_only(std::uint64_t tick);

// `steps` as commits that keep two backups, each in the steps it is made of:
//
//   backup 2 becomes what backup 1 is; backup 1 becomes what the save is; the commit.
//
// The session does all of it with the last, and says of the others that a crash may take
// them. So the oracle is: a crash leaves the backups before the rotation, with the last
// one rotated, or with both, and the commit only with both. At no time is a backup a mix
// or absent that was there.
crash::Workload with_backups(const crash::Workload& steps, crash::Records start = {});
// The same for one commit that keeps fewer: those too many go after the commit.
crash::Workload with_fewer_backups(const crash::Step& step, std::uint32_t kept_count,
                                   crash::Records start);

// A disk to start from, and what the subject shows of it.
crash::Start start_after(const crash::Workload& workload, crash::Start start = {});
// A save as the format's own program leaves it, with nothing of ours: world.ron, entities.bin
// and three chunks.
crash::Start another_programs_save();

}  // namespace varve::nebula::test
