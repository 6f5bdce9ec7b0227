// A sample that appends: a log of checksummed blocks, each on its own page. Right as
// it is; each option breaks one thing.
#pragma once

#include "crash/subject.h"

namespace varve::crash {

struct LogSampleOptions {
  // Syncs with every so many steps, and says how many are not synced yet.
  std::uint32_t sync_every = 1;
  // Broken: says that everything is synced.
  bool hides_unsynced = false;
  // Broken: a tail that is cut short is refused instead of cut off.
  bool refuses_short_tail = false;
  // Broken: marks at both ends of a block in place of a checksum over it.
  bool has_no_checksum = false;
};

class LogSample final : public Subject {
 public:
  explicit LogSample(LogSampleOptions options) : options_(options) {}
  Result<std::unique_ptr<Session>> open(Vfs& vfs) override;

 private:
  LogSampleOptions options_;
};

}  // namespace varve::crash
