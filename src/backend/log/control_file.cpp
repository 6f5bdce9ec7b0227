#include "backend/log/control_file.h"

#include <algorithm>

#include "base/try.h"

namespace varve::log {
namespace {

// Two places, in blocks of their own: a torn write costs one of them.
constexpr std::uint64_t offset_of(std::uint64_t counter) { return (counter & 1) * kBlockSize; }

}  // namespace

Result<ControlFile> ControlFile::open(Vfs& vfs, const std::string& path, bool writes) {
  auto file = vfs.open(path, writes ? OpenMode::create : OpenMode::read);
  if (!file && !writes && file.error().code() == ErrorCode::not_found) return ControlFile(nullptr);
  if (!file) return file.error();
  ControlFile control(*std::move(file));
  VARVE_ASSIGN(const std::optional<ControlRecord> last, control.read());
  if (last) control.counter_ = last->counter;
  return control;
}

Result<std::optional<ControlRecord>> ControlFile::read() const {
  std::optional<ControlRecord> newest;
  if (file_ == nullptr) return newest;
  for (const std::uint64_t place : {0, 1}) {
    std::byte block[kControlRecordSize];
    VARVE_ASSIGN(const std::size_t got, file_->read_at(offset_of(place), block));
    const auto record = decode_control({block, got});
    if (!record && record.error().code() == ErrorCode::unsupported) return record.error();
    if (record && (!newest || record->counter > newest->counter)) newest = *record;
  }
  return newest;
}

Status ControlFile::publish(ControlRecord record) {
  record.counter = ++counter_;
  VARVE_TRY(file_->write_at(offset_of(record.counter), encode_control(record)));
  if (record.clean) return file_->sync_data();
  return {};
}

}  // namespace varve::log
