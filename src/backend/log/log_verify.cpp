// The part of LogState that looks for damage nobody has met yet.
#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "backend/log/batch_reader.h"
#include "backend/log/log_state.h"
#include "base/try.h"

namespace varve::log {
namespace {

// Goes from batch to batch up to `end`, as whoever reads the segment without a checkpoint, or to
// clear it. No value is looked at.
void verify_heads(const Segment& segment, std::uint64_t end, std::vector<Error>& problems) {
  FindBudget budget(end);
  std::uint64_t chain = segment.salt;
  for (std::uint64_t offset = kBlockSize; offset < end;) {
    auto batch = read_batch(*segment.file, end, offset, segment.salt);
    if (batch && (!*batch || (*batch)->header.chain != chain)) {
      problems.push_back(corruption(
          fmt::format("{}: the head of the batch at offset {} is damaged; what that batch holds is "
                      "found by the checkpoint alone",
                      segment.file->path(), offset)));
      // On with the next one, which is chained to what cannot be read.
      batch = find_batch(*segment.file, end, offset + kBlockSize, segment.salt, budget);
    }
    if (!batch) return problems.push_back(batch.error());
    if (!*batch) return;
    offset = (*batch)->end();
    chain = (*batch)->header.checksum;
  }
}

}  // namespace

Status LogState::verify_segments(std::vector<Error>& problems) const {
  for (std::size_t slot = 0;; ++slot) {
    // Held while it is looked at: nobody punches it or uses it again, and its name stays until its
    // file is open. Behind what is used a batch may be on its way, or one that was written again
    // elsewhere and may be gone.
    SegmentRef segment;
    std::uint64_t end = 0;
    {
      const std::shared_lock lock(mutex_);
      VARVE_TRY(check_usable());
      if (slot >= segments_.size()) return {};
      segment = segments_[slot];
      if (segment == nullptr || segment->file == nullptr) continue;
      end = std::min(segment->used_end, segment->durable_end_max);
    }
    if (const Status checked = check_header(*segment); !checked) {
      problems.push_back(checked.error().with_context(
          "the header of a segment, without which its values are found by the checkpoint alone"));
      if (checked.error().code() != ErrorCode::corruption) continue;  // Nothing of it can be read.
    }
    verify_heads(*segment, end, problems);
  }
}

Status LogState::verify_values(std::vector<Error>& problems) {
  const HeldSnapshot held(*this);
  RangeQuery query;
  query.count_max = 256;
  for (std::optional<Bytes> from = Bytes(); from;) {
    query.from = *from;
    VARVE_ASSIGN(RangePage page, range_at(query, held.handle, true));
    for (const RangeEntry& entry : page.entries) {
      if (!entry.value) problems.push_back(entry.value.error());
    }
    from = std::move(page.next);
  }
  return {};
}

Result<std::vector<Error>> LogState::verify(VerifyScope scope) {
  std::vector<Error> problems;
  VARVE_TRY(verify_segments(problems));
  if (scope == VerifyScope::everything) VARVE_TRY(verify_values(problems));
  return problems;
}

}  // namespace varve::log
