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
  // A problem in the report is a violation, though the log opens: no crash is damage. Nor may a
  // reader show anything else, who comes after the crash and before the log is opened.
  Result<std::unique_ptr<crash::Session>> open(Vfs& vfs) override;
  // The checkpoint is deleted before each open, so that everything comes from the segments.
  void set_forgetful(bool forgetful) { is_forgetful_ = forgetful; }
  // Every record a batch changes is changed to something else before, in the same batch.
  void set_stuttering(bool stutters) { stutters_ = stutters; }
  // The disks, which must be simulated ones, have no holes.
  void set_holes(bool has_holes) { has_holes_ = has_holes; }
  // Without that reader, whose operations would be among those of the log.
  void set_reading_first(bool reads_first) { reads_first_ = reads_first; }

 private:
  log::LogOptions options_;
  bool is_forgetful_ = false;
  bool stutters_ = false;
  bool has_holes_ = true;
  bool reads_first_ = true;
  std::uint64_t boot_id_ = 0;  // of the last disk
};

}  // namespace varve::test
