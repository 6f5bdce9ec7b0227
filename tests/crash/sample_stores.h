// Three little stores the driver proves itself with: one file that holds all
// records and a checksum, rewritten at each commit in three ways.
#pragma once

#include "crash/subject.h"

namespace varve::crash {

enum class SampleKind {
  in_place,             // broken: overwrites the file it lives in
  rename_without_sync,  // broken: renames a temporary that was never synced
  atomic,               // right: atomic_replace()
};

class SampleStore final : public Subject {
 public:
  explicit SampleStore(SampleKind kind) : kind_(kind) {}
  Result<std::unique_ptr<Session>> open(Vfs& vfs) override;

 private:
  SampleKind kind_;
};

// `commit_count` small commits: puts, overwrites of another length, an erasure, an
// empty record.
Workload small_workload(std::size_t commit_count);

}  // namespace varve::crash
