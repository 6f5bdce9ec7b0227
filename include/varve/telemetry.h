// Figures to plot: what saving and streaming cost, and how they are doing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "varve/result.h"

namespace varve {

// Counts of durations in microseconds, in buckets that double four times as finely: a
// percentile is right within a fifth. Adding one costs a few instructions.
class Histogram {
 public:
  static constexpr std::size_t kBucketCount = 128;

  void add(double microseconds) noexcept;

  std::uint64_t count() const noexcept { return count_; }
  double max() const noexcept { return max_; }
  double mean() const noexcept { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  // The duration that the fraction `p` (0.99) of all did not exceed; 0 without any.
  double percentile(double p) const noexcept;

  // For plotting: bucket i counts durations from bucket_start(i) up to the next's.
  static double bucket_start(std::size_t index) noexcept;
  const std::array<std::uint64_t, kBucketCount>& buckets() const noexcept { return buckets_; }

 private:
  std::array<std::uint64_t, kBucketCount> buckets_ = {};
  std::uint64_t count_ = 0;
  double sum_ = 0;
  double max_ = 0;
};

// Counts are since the world was opened; the rest is now.
struct Telemetry {
  // Saving.
  // Game-thread time of starting each save(), autosave and save_to(), without the game's own
  // before_save.
  Histogram save_start_us = {};
  std::uint64_t save_count = 0;          // of the whole world
  std::uint64_t save_failure_count = 0;  // those, and commits of parts, and copies
  std::uint64_t commit_count = 0;        // saves, write-through, evictions, timed saves
  std::uint64_t bytes_written = 0;
  std::uint64_t encode_count = 0;
  std::uint64_t clone_count = 0;
  std::uint64_t edit_count = 0;  // changes of chunks: edits, puts, erasures
  std::size_t dirty_chunk_count = 0;
  std::size_t dirty_record_count = 0;    // chunks, entities, players and globals
  std::optional<Error> last_error = {};  // of a save, a commit or a load

  // Write-through.
  std::size_t queue_count = 0;
  std::uint64_t queue_full_count = 0;
  std::uint64_t queue_coalesced_count = 0;  // edits of chunks that were queued already

  // Streaming.
  std::size_t resident_chunk_count = 0;
  std::size_t resident_size = 0;
  std::size_t loads_in_flight = 0;
  std::uint64_t load_count = 0;
  std::uint64_t load_failure_count = 0;
  std::uint64_t generated_count = 0;
  std::uint64_t hit_count = 0;   // get() or load_now() found it in memory
  std::uint64_t miss_count = 0;  // and did not
  std::uint64_t evicted_count = 0;
};

}  // namespace varve
