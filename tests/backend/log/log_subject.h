// A log as the crash driver needs it.
#pragma once

#include "backend/log/log_backend.h"
#include "crash/subject.h"

namespace varve::test {

// Upkeep it knows: "sync"; "hold snapshot" and "release snapshot"; "hold reader" and "release
// reader", for one that has the log open as another process would. What is held must show the
// same at every later step.
class LogSubject final : public crash::Subject {
 public:
  explicit LogSubject(log::LogOptions options) : options_(std::move(options)) {}
  // A problem in the report is a violation, though the log opens: no crash is damage.
  Result<std::unique_ptr<crash::Session>> open(Vfs& vfs) override;
  // The checkpoint is deleted before each open, so that everything comes from the segments.
  void set_forgetful(bool forgetful) { is_forgetful_ = forgetful; }
  // Every record a batch changes is changed to something else before, in the same batch.
  void set_stuttering(bool stutters) { stutters_ = stutters; }
  // The disks, which must be simulated ones, have no holes.
  void set_holes(bool has_holes) { has_holes_ = has_holes; }

 private:
  log::LogOptions options_;
  bool is_forgetful_ = false;
  bool stutters_ = false;
  bool has_holes_ = true;
};

}  // namespace varve::test
