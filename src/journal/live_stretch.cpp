#include "journal/live_stretch.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"

namespace varve::journal {
namespace {

// What the log has from `from` to `last`. Where it was cut meanwhile, what is left of it.
Status scan(const TickLog& log, std::uint64_t from, std::uint64_t last, const Stretch& stretch,
            Touched& out, std::atomic<std::uint64_t>& scanned_count) {
  for (;;) {
    const std::uint64_t first = std::max(from, log.first_tick().value_or(from));
    const Status read =
        log.read(first, last + 1, [&](std::uint64_t tick, const Bytes& payload) -> Result<bool> {
          auto mutations = decode_mutations(payload);
          if (!mutations) return mutations.error().with_context(fmt::format("tick {}", tick));
          scanned_count.fetch_add(1, std::memory_order_relaxed);
          out.note(static_cast<std::uint32_t>(tick - stretch.first_tick), *mutations);
          return true;
        });
    if (read) return {};
    const bool was_cut =
        read.error().code() == ErrorCode::not_found && log.first_tick().value_or(from) > first;
    if (!was_cut) return read;
    out = {};
  }
}

}  // namespace

void LiveStretch::note(std::uint64_t tick, const TickMutations& mutations,
                       const std::optional<std::uint64_t>& before) {
  const std::lock_guard lock(mutex_);
  // Somebody has read it already, or nobody what comes before it.
  if (tick < covered_to_ || (before && *before >= covered_to_)) return;
  touched_.note(static_cast<std::uint32_t>(tick - stretch_.first_tick), mutations);
  covered_to_ = tick + 1;
}

Status LiveStretch::cover(const TickLog& log, std::uint64_t last,
                          std::atomic<std::uint64_t>& scanned_count) {
  last = std::min(last, stretch_.last_tick());
  for (;;) {
    std::uint64_t from = 0;
    {
      const std::lock_guard lock(mutex_);
      from = covered_to_;
    }
    if (from > last) return {};
    Touched read;
    VARVE_TRY(scan(log, from, last, stretch_, read, scanned_count));
    const std::lock_guard lock(mutex_);
    // Somebody else was faster: what is missing now is read once more.
    if (covered_to_ != from) continue;
    touched_.append(read);
    covered_to_ = last + 1;
    return {};
  }
}

void LiveStretch::ticks_of(const TouchedKey& key, const TickRange& range,
                           std::vector<std::uint64_t>& out) const {
  const std::lock_guard lock(mutex_);
  const Touched::Ticks* ticks = touched_.ticks_of(key);
  if (ticks == nullptr) return;
  for (const std::uint32_t each : *ticks) {
    const std::uint64_t tick = stretch_.first_tick + each;
    if (tick >= range.from && tick < range.to) out.push_back(tick);
  }
}

Result<Bytes> LiveStretch::encode() const {
  const std::lock_guard lock(mutex_);
  return encode_history(stretch_, touched_);
}

}  // namespace varve::journal
