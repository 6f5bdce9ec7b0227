#include "backend/log/reader_pins.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/guarded.h"
#include "base/try.h"

namespace varve::log {
namespace {

constexpr std::size_t kPinFileSize = kPinSlotCount * kPinRecordSize;

}  // namespace

Status make_pin_file(Vfs& vfs, const std::string& path) {
  VARVE_ASSIGN(const auto file, vfs.open(path, OpenMode::create));
  VARVE_TRY(file->extend_written(kPinFileSize));
  return file->close();
}

Result<std::vector<PinRecord>> read_pins(Vfs& vfs, const std::string& path) {
  std::vector<PinRecord> pins;
  auto file = vfs.open(path, OpenMode::read);
  // Readers make it where it lacks, so there are none without it.
  if (!file && file.error().code() == ErrorCode::not_found) return pins;
  if (!file) return file.error();
  std::byte slots[kPinFileSize];
  VARVE_ASSIGN(const std::size_t got, (*file)->read_at(0, slots));
  for (std::uint32_t i = 0; i < kPinSlotCount; ++i) {
    const std::size_t begin = i * kPinRecordSize;
    if (begin + kPinRecordSize > got) break;
    const ByteView slot = ByteView(slots).subspan(begin, kPinRecordSize);
    // A slot that was never used, or was left in good order.
    if (std::all_of(slot.begin(), slot.end(), [](std::byte b) { return b == std::byte{0}; })) {
      continue;
    }
    VARVE_ASSIGN(const bool is_held, vfs.is_slot_locked(path, i));
    if (!is_held) continue;  // Its reader died.
    // One that is being written may need anything.
    pins.push_back(decode_pin(slot).value_or(PinRecord{}));
  }
  return pins;
}

Result<std::unique_ptr<ReaderPin>> ReaderPin::take(Vfs& vfs, const std::string& path) {
  for (std::uint32_t i = 0; i < kPinSlotCount; ++i) {
    auto lock = vfs.lock_slot(path, i);
    if (!lock && lock.error().code() == ErrorCode::busy) continue;
    if (!lock) return lock.error();
    VARVE_ASSIGN(auto file, vfs.open(path, OpenMode::write));
    std::unique_ptr<ReaderPin> pin(new ReaderPin(*std::move(lock), std::move(file), i));
    VARVE_TRY(pin->set({}));
    return pin;
  }
  return busy(fmt::format("{}: {} readers have the log open, and there is no place for another",
                          path, kPinSlotCount));
}

ReaderPin::~ReaderPin() {
  // Only spares the writer a look at the lock; the lock itself is what counts.
  const std::byte zeros[kPinRecordSize] = {};
  (void)or_out_of_memory([&] { return file_->write_at(index_ * kPinRecordSize, zeros); });
}

Status ReaderPin::set(const PinRecord& record) {
  return file_->write_at(index_ * kPinRecordSize, encode_pin(record));
}

}  // namespace varve::log
