#include "backend/log/segment_files.h"

#include <chrono>
#include <exception>
#include <random>

#include "base/endian.h"
#include "base/try.h"
#include "io/path.h"
#include "varve/checksum.h"

namespace varve::log {

namespace {

std::uint64_t random_seed() {
  try {
    std::random_device device;
    return std::uint64_t{device()} << 32 | device();
  } catch (const std::exception&) {
    // No source of them: salts only need to differ from life to life.
    return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  }
}

// A hash of the segment's number: no two segments of a log share it.
std::uint64_t salt_of(std::uint64_t seed, std::uint64_t segment_id) {
  std::byte number[8];
  store_le<std::uint64_t>(number, segment_id);
  return xxh3(number, seed);
}

}  // namespace

SegmentFiles::SegmentFiles(Vfs& vfs, std::string_view dir, std::uint64_t seed)
    : vfs_(vfs), dir_(dir), seed_(seed != 0 ? seed : random_seed()) {}

std::uint64_t SegmentFiles::new_log_id() const noexcept { return salt_of(seed_, 0); }

std::string SegmentFiles::path(std::string_view name) const { return path_join(dir_, name); }

Status SegmentFiles::note_loss(const Error& loss) const {
  const std::string name = path("records-lost" + std::string(kSetAsideSuffix));
  VARVE_ASSIGN(const auto file, vfs_.open(name, OpenMode::replace));
  VARVE_TRY(file->append(as_byte_view(loss.message() + "\n")));
  VARVE_TRY(file->sync_data());
  VARVE_TRY(file->close());
  return vfs_.sync_dir(dir_);
}

Result<std::vector<ListedSegment>> SegmentFiles::list(std::string* set_aside) const {
  VARVE_ASSIGN(const std::vector<DirEntry> entries, vfs_.list(dir_));
  std::vector<ListedSegment> segments;
  // Sorted by name, which is by number: all have as many digits.
  for (const DirEntry& entry : entries) {
    if (entry.kind != FileKind::file) continue;
    if (set_aside != nullptr && entry.name.ends_with(kSetAsideSuffix)) {
      *set_aside = path(entry.name);
    }
    if (const auto id = parse_segment_name(entry.name)) segments.push_back({*id, entry.size});
  }
  return segments;
}

Result<SegmentRef> SegmentFiles::finish(std::unique_ptr<File> file, SegmentKind kind,
                                        std::uint64_t size) {
  const SegmentHeader header{.log_id = log_id_,
                             .segment_id = next_segment_id_,
                             .salt = salt_of(seed_, next_segment_id_),
                             .kind = kind};
  VARVE_TRY(file->write_at(0, encode_segment_header(header)));
  VARVE_TRY(file->extend_written(size));
  VARVE_TRY(file->sync_data());
  VARVE_TRY(file->close());
  const std::string name = segment_path(header.segment_id);
  VARVE_TRY(vfs_.rename(temporary_path(), name));
  // Whatever comes of the rest, this number may be in use.
  ++next_segment_id_;
  VARVE_TRY(vfs_.sync_dir(dir_));
  // Opened by its name, which is the one its messages should have.
  return open_segment(vfs_, name, OpenMode::write, header.segment_id);
}

Result<SegmentRef> SegmentFiles::create(SegmentKind kind, std::uint64_t size) {
  const std::lock_guard lock(make_mutex_);
  remove_temporary();
  VARVE_ASSIGN(auto file, vfs_.open(temporary_path(), OpenMode::create_new));
  return finish(std::move(file), kind, size);
}

Result<SegmentRef> SegmentFiles::recycle(std::uint64_t old_id, std::uint64_t size) {
  const std::lock_guard lock(make_mutex_);
  remove_temporary();
  VARVE_TRY(vfs_.rename(segment_path(old_id), temporary_path()));
  // Before a byte of it is changed: under its old name it must not come back.
  VARVE_TRY(vfs_.sync_dir(dir_));
  VARVE_ASSIGN(auto file, vfs_.open(temporary_path(), OpenMode::write));
  VARVE_ASSIGN(const std::uint64_t old_size, file->size());
  if (old_size > size) VARVE_TRY(file->truncate(size));
  return finish(std::move(file), SegmentKind::log, size);
}

Status SegmentFiles::remove(std::uint64_t id) { return vfs_.remove(segment_path(id)); }

void SegmentFiles::remove_temporary() { (void)vfs_.remove(temporary_path()); }

}  // namespace varve::log
