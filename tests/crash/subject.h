// What the crash driver needs to know of a store.
//
// A Subject opens sessions on a disk; a session applies steps and reads back every
// record. The driver owns the workload and the oracle; the subject owns nothing
// that outlives a session, because after a crash only the disk is left. What a store
// does on a background thread, its subject does inline: a log that depends on the
// scheduler could not be replayed from a seed.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/vfs.h"
#include "varve/bytes.h"
#include "varve/result.h"

namespace varve::crash {

// Everything a store holds: every record's key and its exact bytes. An empty
// value is a record; a missing key is none.
using Records = std::map<std::string, Bytes>;

struct Step {
  // What is put; nullopt erases.
  std::map<std::string, std::optional<Bytes>> changes;
  // Upkeep the subject knows by name ("compact", "rotate backups"); empty for an
  // ordinary commit. Where it changes what can be read back, such as a backup whose
  // records the subject shows as "backup1/...", `changes` says so. "reopen" is the
  // driver's own: close and open again.
  std::string upkeep = {};
};

using Workload = std::vector<Step>;

class Session {
 public:
  virtual ~Session() = default;
  // Success accepts the step, and acknowledges all steps but the last
  // unsynced_count(): from then on every crash must leave those.
  virtual Status apply(const Step& step) = 0;
  // How many of the steps accepted last a crash may still take, as a journal allows
  // that syncs every N ticks. What is left is always a prefix.
  virtual std::size_t unsynced_count() const { return 0; }
  virtual Result<Records> read_all() = 0;
  virtual Status close() = 0;
};

class Subject {
 public:
  virtual ~Subject() = default;
  // Opens what is on the disk, recovering it if needed; a disk without a save
  // opens as an empty one.
  virtual Result<std::unique_ptr<Session>> open(Vfs& vfs) = 0;
  // A step nothing else makes, which shows that a store takes commits after a crash or
  // an error.
  virtual Step one_more() const;
};

// `records` after `step`.
Records after(Records records, const Step& step);

// The first difference between what was read and what was expected, or nullopt.
std::optional<std::string> difference(const Records& expected, const Records& found);

}  // namespace varve::crash
