// What a log did to its disk, counted in the record of it: a workload that is swept for what it
// does must be seen to do it.
#pragma once

#include <cstddef>
#include <string>

#include "io/sim/disk_op.h"

namespace varve::test {

struct LogEvents {
  std::size_t segment_count = 0;        // given their names
  std::size_t moved_segment_count = 0;  // of those, for records that were carried over
  std::size_t recycled_count = 0;       // of those, made of files that were segments before
  std::size_t removed_count = 0;        // names that vanished
  std::size_t checkpoint_count = 0;
  std::size_t hole_count = 0;
  std::size_t batch_count = 0;
  std::size_t again_count = 0;        // batches that hold others once more
  std::size_t large_batch_count = 0;  // larger than a small log's segment

  LogEvents& operator+=(const LogEvents& more);
  std::string summary() const;
};

LogEvents count_events(const sim::OpLog& log);

}  // namespace varve::test
