#include "journal/replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"

namespace varve::journal {
namespace {

Error truncated(const History& history, std::uint64_t tick) {
  if (!history.log_base) {
    const auto first = history.log.first_tick();
    return not_found(fmt::format("tick {} is before the history, which begins with {}", tick,
                                 first ? fmt::format("tick {}", *first) : "nothing"));
  }
  return not_found(
      fmt::format("history truncated: tick {} is gone, the oldest is {}", tick, *history.log_base));
}

// The newest good snapshot that the log leads on from to `tick`. False if there is none.
Result<bool> take_snapshot(const History& history, std::uint64_t tick, Replayed& out) {
  for (auto at = history.snapshots.rbegin(); at != history.snapshots.rend(); ++at) {
    if (at->tick > tick) continue;
    // Before the log they are single moments.
    const bool is_alone = history.log_base && at->tick < *history.log_base;
    if (is_alone && at->tick != tick) break;
    auto snapshot = history.store.get(at->tick);
    if (snapshot) {
      out.state = std::move(snapshot->state);
      out.tick = at->tick;
      return true;
    }
    if (snapshot.error().code() != ErrorCode::corruption) return snapshot.error();
    out.problems.push_back(snapshot.error());
  }
  return false;
}

}  // namespace

Result<bool> apply_entry(std::uint64_t tick, const Bytes& payload, Replayed& out) {
  const auto in_tick = [&](const Error& error) {
    return error.with_context(fmt::format("tick {}", tick));
  };
  const auto mutations = decode_mutations(payload);
  if (!mutations) return in_tick(mutations.error());
  if (const Status applied = out.state.apply(*mutations); !applied) {
    // What was logged had been found to fit: then it is not what was logged.
    const bool is_refused = applied.error().code() == ErrorCode::invalid_argument;
    const Error error = in_tick(applied.error());
    return is_refused ? corruption(error.message()) : error;
  }
  out.tick = tick;
  out.log_size += payload.size();
  ++out.entry_count;
  return true;
}

Status check_is_told(const History& history, std::uint64_t tick) {
  const bool has_snapshot =
      std::any_of(history.snapshots.begin(), history.snapshots.end(),
                  [&](const SnapshotMeta& each) { return each.tick == tick; });
  if (has_snapshot) return {};
  const auto first = history.log.first_tick();
  const bool is_before = history.log_base ? tick < *history.log_base : !first || tick < *first;
  if (is_before) return truncated(history, tick);
  return {};
}

Status find_base(const History& history, std::uint64_t tick, Replayed& out) {
  VARVE_ASSIGN(const bool has_snapshot, take_snapshot(history, tick, out));
  if (has_snapshot) return {};
  if (!out.problems.empty() && history.log_base) {
    return corruption(fmt::format("no snapshot tick {} could be told from is whole: {}", tick,
                                  out.problems.front().message()));
  }
  const auto first = history.log.first_tick();
  if (history.log_base || !first || tick < *first) return truncated(history, tick);
  return {};
}

Status replay_on(const History& history, std::uint64_t tick, Replayed& out) {
  if (!history.log.first_tick() || out.tick == tick) return {};
  if (tick == ~std::uint64_t{0}) return corruption(fmt::format("there is no tick {}", tick));
  // Right behind the snapshot, whatever the log begins with now: it refuses if that does not lead
  // on from there.
  const std::uint64_t from = out.tick ? *out.tick + 1 : 0;
  return history.log.read(from, tick + 1, [&](std::uint64_t at, const Bytes& payload) {
    return apply_entry(at, payload, out);
  });
}

Status replay(const History& history, std::uint64_t tick, Replayed& out) {
  VARVE_TRY(find_base(history, tick, out));
  return replay_on(history, tick, out);
}

}  // namespace varve::journal
