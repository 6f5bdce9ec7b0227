// Copies the records of one save into another, empty one.
//
// Invariants:
// 1. A record is either in the target, byte for byte, or named in `left_out` with the reason.
// 2. A commit holds about kCommitSize at most, so that a world larger than memory is copied.
// 3. What the target says it cannot carry is never handed to it; what it refuses all the same
//    is left out alone, and not with what happened to be in the same commit.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "tool/record_digest.h"
#include "tool/records.h"

namespace varve::tool {

inline constexpr std::uint64_t kCommitSize = std::uint64_t{32} << 20;

struct KindCopied {
  std::uint64_t count = 0;
  std::uint64_t size = 0;
};

struct CopyReport {
  std::array<KindCopied, kKindCount> kinds = {};
  // Records, and the generator, that are not in the copy, and why.
  std::vector<RecordProblem> left_out = {};
};

class RecordCopy {
 public:
  // Both must outlive it. `commit_size` is for tests.
  RecordCopy(const Store& source, Store& target, std::uint64_t commit_size = kCommitSize);

  // Lists what the target says it cannot carry, without reading a payload.
  Status scan();
  // Copies everything else, the generator and the tick.
  Status copy(Progress& progress);
  // Reads everything in `copied`, the target opened again, and compares. An error names
  // the first record that is not as it was written.
  Status compare(const StoreView& copied, Progress& progress) const;

  const CopyReport& report() const noexcept { return report_; }

 private:
  Status copy_record(const RecordInfo& info);
  Status flush();
  Status commit(Commit whole);
  void leave_out(std::string key, Error error);

  const Store& source_;
  Store& target_;
  const std::uint64_t commit_size_;
  CopyReport report_;
  std::uint64_t record_count_ = 0;
  std::unordered_map<std::string, RecordDigest> copied_;
  Commit pending_;
  std::uint64_t pending_size_ = 0;
};

}  // namespace varve::tool
