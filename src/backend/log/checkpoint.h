// The index of a log on the disk, so that opening need not read the whole log.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backend/log/index.h"
#include "backend/log/log_format.h"
#include "backend/log/segment_files.h"

namespace varve::log {

struct Checkpoint {
  CheckpointHead head;
  Index index;
  std::vector<SlotUse> uses;
};

// nullopt if there is none. corruption if there is one that cannot be trusted, unsupported if a
// newer program wrote it.
Result<std::optional<Checkpoint>> load_checkpoint(const SegmentFiles& files);

// Writes one beside the one there is, piece by piece.
class CheckpointFile {
 public:
  static Result<CheckpointFile> create(const SegmentFiles& files, std::size_t segment_count_max);

  // The next part of the image. True if a piece was written with it, which is durable then: so that
  // not all of it has to be in the end.
  Result<bool> append(ByteView image);
  // Makes it the checkpoint of the log; durable when it returns. The image's size and checksum
  // in `head` are filled in. If it fails, either checkpoint may be there after a crash, and both
  // are good.
  Status finish(CheckpointHead head);
  std::uint64_t size() const noexcept { return head_size_ + image_size_; }

 private:
  CheckpointFile(const SegmentFiles& files, std::unique_ptr<File> file, std::size_t head_size)
      : files_(files), file_(std::move(file)), head_size_(head_size) {}
  Status write_piece(ByteView piece);

  const SegmentFiles& files_;
  std::unique_ptr<File> file_;
  std::size_t head_size_;
  ByteWriter pending_;  // less than one piece
  std::uint64_t image_size_ = 0;
  std::uint64_t checksum_ = 0;
};

}  // namespace varve::log
