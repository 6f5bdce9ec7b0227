// A log as the crash driver needs it.
#pragma once

#include "backend/log/log_backend.h"
#include "crash/subject.h"

namespace varve::test {

class LogSubject final : public crash::Subject {
 public:
  explicit LogSubject(log::LogOptions options) : options_(std::move(options)) {}
  // A damaged log is a violation, though it opens.
  Result<std::unique_ptr<crash::Session>> open(Vfs& vfs) override;
  // The checkpoint is deleted before each open, so that everything comes from the segments.
  void set_forgetful(bool forgetful) { is_forgetful_ = forgetful; }

 private:
  log::LogOptions options_;
  bool is_forgetful_ = false;
};

// Values of these sizes, so that a few batches fill a segment and some are larger than one.
crash::Workload log_workload(std::size_t step_count, std::uint64_t seed);

}  // namespace varve::test
