#include "backend/log/segment.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"
#include "io/deferred_file.h"

namespace varve::log {

namespace {

// A map of a segment that is still written grows by so much, and by half of itself, or not at all.
constexpr std::uint64_t kMapStepSize = std::uint64_t{1} << 20;

bool reaches(const Bytes* mapped, std::uint64_t end) {
  return mapped != nullptr && end <= mapped->size();
}

bool pays(const Bytes* mapped, std::uint64_t used_end) {
  const std::uint64_t size = mapped != nullptr ? mapped->size() : 0;
  return used_end >= size + std::max(kMapStepSize, size / 2);
}

}  // namespace

const std::byte* Segment::map(std::uint64_t end, std::uint64_t used_end, bool may_grow) {
  const Bytes* there = mapped_.load(std::memory_order_acquire);
  if (reaches(there, end)) return there->data();
  if (may_grow && !pays(there, used_end)) return nullptr;
  const std::lock_guard guard(map_mutex_);
  there = mapped_.load(std::memory_order_relaxed);
  if (reaches(there, end)) return there->data();
  if (map_failed_) return nullptr;
  auto mapping = file->map(0, static_cast<std::size_t>(used_end));
  if (!mapping) {
    map_failed_ = true;  // Reads do without; asking again would cost each of them.
    return nullptr;
  }
  maps_.push_front(std::move(*mapping));
  mapped_.store(&maps_.front(), std::memory_order_release);
  return maps_.front().data();
}

namespace {

Result<SegmentHeader> read_header(const File& file) {
  std::byte block[kSegmentHeaderSize];
  VARVE_ASSIGN(const std::size_t got, file.read_at(0, block));
  auto header = decode_segment_header({block, got});
  if (!header) return header.error().with_context(file.path());
  return header;
}

Status check_size(const std::string& path, std::uint64_t size) {
  if (size <= kSegmentSizeMax) return {};
  return corruption(
      fmt::format("{}: {} bytes, and a segment has {} at the most", path, size, kSegmentSizeMax));
}

}  // namespace

Result<SegmentRef> open_segment(Vfs& vfs, const std::string& path, OpenMode mode,
                                std::uint64_t expected_id) {
  VARVE_ASSIGN(auto file, vfs.open(path, mode));
  VARVE_ASSIGN(const SegmentHeader header, read_header(*file));
  if (header.segment_id != expected_id) {
    return corruption(fmt::format("{}: this is segment {:x} of a log under the name of another",
                                  path, header.segment_id));
  }
  VARVE_ASSIGN(const std::uint64_t size, file->size());
  VARVE_TRY(check_size(path, size));
  auto segment = std::make_shared<Segment>(std::move(file), header);
  segment->file_size = size;
  return segment;
}

Result<SegmentRef> open_known_segment(Vfs& vfs, const std::string& path, OpenMode mode,
                                      const SegmentHeader& header, std::uint64_t file_size) {
  VARVE_TRY(check_size(path, file_size));
  auto segment = std::make_shared<Segment>(std::make_unique<DeferredFile>(vfs, path, mode), header);
  segment->file_size = file_size;
  return segment;
}

Status check_header(const Segment& segment) {
  VARVE_ASSIGN(const SegmentHeader header, read_header(*segment.file));
  if (header.log_id == segment.log_id && header.segment_id == segment.id &&
      header.salt == segment.salt && header.kind == segment.kind) {
    return {};
  }
  return corruption(segment.file->path() + ": the header is that of another segment");
}

}  // namespace varve::log
