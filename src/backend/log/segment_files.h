// The files of a log in their folder: names, and making and unmaking segments.
//
// Thread safety: create(), recycle() and remove() may be called by any thread. What is made by
// several at once gets its numbers in the order in which it is done.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "backend/log/segment.h"
#include "io/vfs.h"

namespace varve::log {

// Behind the name of a segment that lay behind damage and is nobody's any more, and of a note that
// something was lost.
inline constexpr std::string_view kSetAsideSuffix = ".damaged";

struct ListedSegment {
  std::uint64_t id = 0;
  std::uint64_t size = 0;  // of its file
};

class SegmentFiles {
 public:
  // Salts and the number of a new log come from `seed`, or from the system if it is 0: a test
  // wants the same ones again.
  SegmentFiles(Vfs& vfs, std::string_view dir, std::uint64_t seed);

  Vfs& vfs() const noexcept { return vfs_; }
  const std::string& dir() const noexcept { return dir_; }
  std::string lock_path() const { return path("lock"); }
  std::string control_path() const { return path("control"); }
  std::string readers_path() const { return path("readers"); }
  std::string checkpoint_path() const { return path("checkpoint"); }
  std::string segment_path(std::uint64_t id) const { return path(segment_name(id)); }

  // Set once, by whoever opens the log.
  void set_identity(std::uint64_t log_id, std::uint64_t next_segment_id) {
    log_id_ = log_id;
    next_segment_id_ = next_segment_id;
  }
  std::uint64_t log_id() const noexcept { return log_id_; }
  // For a log that is made now.
  std::uint64_t new_log_id() const noexcept;
  std::uint64_t next_segment_id() const noexcept { return next_segment_id_; }

  // All segments, by rising number. `set_aside`, if it is not null, becomes the path of a file that
  // an earlier opening left of damage, if there is one.
  Result<std::vector<ListedSegment>> list(std::string* set_aside = nullptr) const;
  // Leaves one that says what was lost, for later openings, which cannot see it any more.
  Status note_loss(const Error& loss) const;

  // A segment without batches, with zeros written up to `size`; durable with its name when it
  // returns. A crash on the way leaves nothing but a temporary file. A writer and upkeep may call
  // this and recycle() at once; one waits for the other.
  Result<SegmentRef> create(SegmentKind kind, std::uint64_t size);
  // The same, made of the file of a segment nobody needs any more, as far as it has been written.
  // Whatever happens, that one is gone.
  Result<SegmentRef> recycle(std::uint64_t old_id, std::uint64_t size);
  // Its name; who has it open keeps it.
  Status remove(std::uint64_t id);
  // What earlier calls that were cut short left behind.
  void remove_temporary();

 private:
  std::string path(std::string_view name) const;
  std::string temporary_path() const { return path("segment.tmp"); }
  // Gives the temporary file a header, makes it durable and gives it its name. The mutex is held.
  Result<SegmentRef> finish(std::unique_ptr<File> file, SegmentKind kind, std::uint64_t size);

  Vfs& vfs_;
  std::string dir_;
  const std::uint64_t seed_;
  std::uint64_t log_id_ = 0;
  std::atomic<std::uint64_t> next_segment_id_ = 1;
  // Through the making of a segment: there is one temporary name. A writer that found no segment
  // ready makes one while upkeep does.
  std::mutex make_mutex_;
};

}  // namespace varve::log
