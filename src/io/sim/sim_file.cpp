#include "io/sim/sim_file.h"

#include <fmt/format.h>

#include "base/try.h"

namespace varve::sim {

Status SimFile::check_writable() const {
  if (!writable_) return io_error(fmt::format("{}: opened for reading only", path()));
  return {};
}

Result<std::size_t> SimFile::do_read(std::uint64_t offset, std::span<std::byte> out) const {
  const std::lock_guard guard(disk_.mutex_);
  if (auto failure = disk_.enter(path(), "read")) return *failure;
  disk_.record({.kind = OpKind::read, .node = node_, .offset = offset, .size = out.size()});
  return disk_.view_.node(node_)->content.read(offset, out);
}

Status SimFile::do_write(std::uint64_t offset, ByteView data) {
  VARVE_TRY(check_writable());
  return disk_.write(node_, path(), offset, data);
}

Status SimFile::do_truncate(std::uint64_t size) {
  VARVE_TRY(check_writable());
  return disk_.set_size(node_, path(), size);
}

Status SimFile::do_extend_written(std::uint64_t from, std::uint64_t to) {
  VARVE_TRY(check_writable());
  return disk_.extend(node_, path(), from, to);
}

Status SimFile::do_punch_hole(std::uint64_t offset, std::uint64_t size) {
  VARVE_TRY(check_writable());
  return disk_.punch(node_, path(), offset, size);
}

Status SimFile::do_sync(bool) { return disk_.sync(node_, OpKind::sync_file, path()); }

Result<std::uint64_t> SimFile::do_size() const {
  const std::lock_guard guard(disk_.mutex_);
  if (auto failure = disk_.enter(path(), "reading the size")) return *failure;
  disk_.record({.kind = OpKind::read, .node = node_});
  return disk_.view_.node(node_)->content.size();
}

Result<Bytes> SimFile::do_map(std::uint64_t offset, std::size_t size) const {
  return disk_.map(node_, path(), offset, size);
}

Status SimFile::do_close() {
  const std::lock_guard guard(disk_.mutex_);
  if (auto failure = disk_.enter(path(), "close")) return *failure;
  return {};
}

}  // namespace varve::sim
