// A log with everything small and nothing in the background, so that a few batches make it grow,
// roll over, reclaim and checkpoint, and the disk sees the same in every run.
#pragma once

#include "backend/log/log_backend.h"

namespace varve::test {

inline log::LogOptions small_log_options() {
  return {.user = {.size_percent_max = 120},
          .prepared_size_min = 16 << 10,
          .prepared_size_max = 16 << 10,
          .checkpoint_batch_count_min = 3,
          .checkpoint_size_min = 64 << 10,
          .reclaim_size_min = 24 << 10,
          .reclaim_step_size = 8 << 10,
          .close_batch_count_max = 2,
          .background = false,
          .seed = 7,
          .traits = log::file_backend_traits()};
}

}  // namespace varve::test
