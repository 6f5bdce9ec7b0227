#include "backend/log/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/try.h"
#include "io/atomic_replace.h"
#include "varve/checksum.h"

namespace varve::log {
namespace {

// A slot has 16 bits, and two segments in one slot would mix their values.
Result<std::size_t> check_slots(const CheckpointHead& head) {
  std::size_t slot_count = 0;
  std::vector<bool> taken(std::size_t{1} << 16);
  for (const CheckpointSegment& segment : head.segments) {
    if (taken[segment.slot]) return corruption("checkpoint: two segments in one slot");
    taken[segment.slot] = true;
    slot_count = std::max<std::size_t>(slot_count, segment.slot + 1u);
  }
  return slot_count;
}

Result<Checkpoint> decode(ByteView file) {
  VARVE_ASSIGN(CheckpointHead head, decode_checkpoint_head(file));
  const ByteView image = file.subspan(static_cast<std::size_t>(head.head_size));
  if (image_checksum(image) != head.image_checksum) {
    return corruption("checkpoint: the index image does not have its checksum");
  }
  VARVE_ASSIGN(const std::size_t slot_count, check_slots(head));
  std::vector<SlotUse> uses;
  VARVE_ASSIGN(Index index, Index::from_image(image, slot_count, &uses));
  return Checkpoint{std::move(head), std::move(index), std::move(uses)};
}

}  // namespace

Result<std::optional<Checkpoint>> load_checkpoint(const SegmentFiles& files) {
  const std::string path = files.checkpoint_path();
  auto file = files.vfs().open(path, OpenMode::read);
  if (!file && file.error().code() == ErrorCode::not_found) return std::nullopt;
  if (!file) return file.error();
  // A place in it takes ten bytes at least: no index that fits into memory has more.
  constexpr std::uint64_t kSizeMax = std::uint64_t{1} << 36;
  // Before memory is asked for: what has the name may be anything.
  std::byte start[kCheckpointStartSize];
  VARVE_ASSIGN(const std::size_t got, (*file)->read_at(0, start));
  VARVE_ASSIGN(const std::uint64_t size, (*file)->size());
  if (const Status checked = check_checkpoint_start({start, got}, size); !checked) {
    return checked.error().with_context(path);
  }
  VARVE_ASSIGN(const Bytes contents, (*file)->read_all(kSizeMax));
  auto checkpoint = decode(contents);
  if (!checkpoint) return checkpoint.error().with_context(path);
  return *std::move(checkpoint);
}

Result<CheckpointFile> CheckpointFile::create(const SegmentFiles& files,
                                              std::size_t segment_count_max) {
  const std::string path = atomic_replace_temporary(files.checkpoint_path());
  (void)files.vfs().remove(path);  // What a crash left behind.
  VARVE_ASSIGN(auto file, files.vfs().open(path, OpenMode::create_new));
  // The head comes last but stands first, so its room is left free.
  CheckpointHead largest;
  largest.segments.resize(segment_count_max);
  const auto head_size =
      static_cast<std::size_t>(round_up(encode_checkpoint_head(largest).size(), kBlockSize));
  return CheckpointFile(files, std::move(file), head_size);
}

Status CheckpointFile::write_piece(ByteView piece) {
  VARVE_TRY(file_->write_at(head_size_ + image_size_, piece));
  checksum_ = xxh3(piece, checksum_);
  image_size_ += piece.size();
  return {};
}

Result<bool> CheckpointFile::append(ByteView image) {
  bool has_written = false;
  while (!image.empty()) {
    const std::size_t size = std::min(image.size(), kImagePieceSize - pending_.size());
    pending_.bytes(image.first(size));
    image = image.subspan(size);
    if (pending_.size() < kImagePieceSize) break;
    VARVE_TRY(write_piece(pending_.view()));
    VARVE_TRY(file_->sync_data());
    pending_.clear();
    has_written = true;
  }
  return has_written;
}

Status CheckpointFile::finish(CheckpointHead head) {
  if (pending_.size() != 0) VARVE_TRY(write_piece(pending_.view()));
  head.image_size = image_size_;
  head.image_checksum = checksum_;
  head.head_size = head_size_;
  const Bytes encoded = encode_checkpoint_head(head);
  if (encoded.size() > head_size_) {
    return busy(fmt::format("{}: the segments became too many while it was written",
                            files_.checkpoint_path()));
  }
  VARVE_TRY(file_->write_at(0, encoded));
  VARVE_TRY(file_->sync_data());
  VARVE_TRY(file_->close());
  return install_replacement(files_.vfs(), files_.checkpoint_path());
}

}  // namespace varve::log
