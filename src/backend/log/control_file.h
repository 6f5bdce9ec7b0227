// What a writer publishes for readers in other processes, and for whoever opens the log after it:
// how far the log is durable.
//
// Written after each sync of the log and not synced itself. After the end of the process the kernel
// still has it; after the end of the power it may be old, and then says less, never more, than is
// true.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "backend/log/log_format.h"
#include "io/vfs.h"

namespace varve::log {

class ControlFile {
 public:
  // For reading and writing, made if it is not there; or for reading, where it may be absent.
  static Result<ControlFile> open(Vfs& vfs, const std::string& path, bool writes);

  // The newest record that is whole; nullopt if there is none. unsupported if a newer program
  // wrote it.
  Result<std::optional<ControlRecord>> read() const;

  Status sync() { return file_->sync_data(); }
  // The counter is set here. Syncs if the log is closed with it.
  Status publish(ControlRecord record);

 private:
  explicit ControlFile(std::unique_ptr<File> file) : file_(std::move(file)) {}

  std::unique_ptr<File> file_;  // null: absent
  std::uint64_t counter_ = 0;
};

}  // namespace varve::log
