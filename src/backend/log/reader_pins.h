// Pins of readers in other processes. A reader holds a numbered slot of the file `readers` under a
// lock that goes with its process, and notes there what it needs.
//
// Why nothing is lost between the two: the writer publishes in the control file what it is about to
// reclaim and then reads the pins; a reader notes that it needs everything and then reads the
// control file. So either the writer sees the pin, or the reader starts from behind what is
// reclaimed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/log/log_format.h"
#include "io/vfs.h"

namespace varve::log {

// For the writer: what readers hold now. Throws std::bad_alloc.
Result<std::vector<PinRecord>> read_pins(Vfs& vfs, const std::string& path);
// Makes the file if it is not there.
Status make_pin_file(Vfs& vfs, const std::string& path);

// For a reader.
class ReaderPin {
 public:
  // Takes a free slot and pins everything. busy if all are taken.
  static Result<std::unique_ptr<ReaderPin>> take(Vfs& vfs, const std::string& path);
  // Frees the slot.
  ~ReaderPin();

  Status set(const PinRecord& record);

 private:
  ReaderPin(std::unique_ptr<SlotLock> lock, std::unique_ptr<File> file, std::uint32_t index)
      : lock_(std::move(lock)), file_(std::move(file)), index_(index) {}

  std::unique_ptr<SlotLock> lock_;
  std::unique_ptr<File> file_;
  std::uint32_t index_;
};

}  // namespace varve::log
