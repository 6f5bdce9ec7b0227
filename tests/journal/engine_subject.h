// A journal as the crash driver needs it: what is put are globals, one step is one tick.
#pragma once

#include "crash/subject.h"
#include "journal/engine.h"

namespace varve::test {

// Upkeep it knows: "sync", "snapshot". Every tick there is must be as it was: each step's number is
// a global too, and every state that can be recovered must have its own.
class EngineSubject final : public crash::Subject {
 public:
  explicit EngineSubject(StorageConfig config) : config_(config) {}
  // A problem in the report is a violation, though the journal opens: no crash is damage.
  Result<std::unique_ptr<crash::Session>> open(Vfs& vfs) override;

 private:
  StorageConfig config_;
};

}  // namespace varve::test
