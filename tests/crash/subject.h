// What the crash driver needs to know of a store.
//
// A Subject opens sessions on a disk; a session applies steps and reads back every
// record. The driver owns the workload and the oracle; the subject owns nothing
// that outlives a session, because after a crash only the disk is left.
#pragma once

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
  // Upkeep the subject knows by name ("compact", "rotate backups"), which leaves
  // the records as they are. Empty for an ordinary commit. "reopen" is the
  // driver's own: close and open again.
  std::string upkeep = {};
};

using Workload = std::vector<Step>;

class Session {
 public:
  virtual ~Session() = default;
  // Success acknowledges: from then on every crash must leave the step's records.
  virtual Status apply(const Step& step) = 0;
  virtual Result<Records> read_all() = 0;
  virtual Status close() = 0;
};

class Subject {
 public:
  virtual ~Subject() = default;
  // Opens what is on the disk, recovering it if needed; a disk without a save
  // opens as an empty one.
  virtual Result<std::unique_ptr<Session>> open(Vfs& vfs) = 0;
};

// `records` after `step`.
Records after(Records records, const Step& step);

// The first difference between what was read and what was expected, or nullopt.
std::optional<std::string> difference(const Records& expected, const Records& found);

}  // namespace varve::crash
