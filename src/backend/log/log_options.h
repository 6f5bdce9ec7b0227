// What an open log is told.
#pragma once

#include <cstdint>

#include "varve/backend.h"

namespace varve::log {

struct LogOptions {
  FileBackendOptions user = {};

  // Segments are prepared with a thirty-second of what lives in the log, within these bounds: a
  // larger world writes larger files, so that they stay few.
  std::uint64_t prepared_size_min = std::uint64_t{1} << 20;
  std::uint64_t prepared_size_max = std::uint64_t{64} << 20;

  // A checkpoint is due when so much was written since the last one: opening then reads few
  // batches, and checkpoints are a small part of what is written.
  std::uint64_t checkpoint_batch_count_min = 128;
  std::uint64_t checkpoint_size_min = std::uint64_t{4} << 20;

  // Dead space below this is let be, however small the world.
  std::uint64_t reclaim_size_min = std::uint64_t{1} << 20;
  // What is copied at a time, between two looks at whether somebody waits.
  std::uint64_t reclaim_step_size = std::uint64_t{1} << 20;

  // close() makes a checkpoint if more batches than these came since the last one.
  std::uint64_t close_batch_count_max = 64;

  // False: what a thread would do is done inside write(), so that a test sees the same
  // operations in every run.
  bool background = true;
  // For salts; 0: from the system.
  std::uint64_t seed = 0;
  BackendTraits traits = {};
};

// With the limits of the format.
BackendTraits file_backend_traits();

}  // namespace varve::log
