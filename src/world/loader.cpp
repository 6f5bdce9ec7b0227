#include "world/loader.h"

namespace varve {

Loader::Loader(const ChunkSource& source, unsigned thread_count,
               std::function<void(std::list<LoadOutcome>)> deliver)
    : source_(source), deliver_(std::move(deliver)), threads_("varve-load", thread_count, 0) {}

void Loader::request(const ChunkPos& pos, std::uint64_t ticket, int priority, LoadKind kind) {
  {
    const std::lock_guard lock(mutex_);
    const Rank rank(-std::int64_t{priority}, ticket);
    Waiting& waiting = waiting_[rank];
    waiting.outcome.push_back({.pos = pos, .ticket = ticket});
    waiting.kind = kind;
    ranks_[pos] = rank;
  }
  // Each job loads whatever is most urgent when its turn comes.
  threads_.post(0, [this] { load_one(); });
}

void Loader::raise(const ChunkPos& pos, int priority) {
  const std::lock_guard lock(mutex_);
  const auto found = ranks_.find(pos);
  if (found == ranks_.end() || found->second.first <= -std::int64_t{priority}) return;
  auto node = waiting_.extract(found->second);
  found->second.first = -std::int64_t{priority};
  node.key() = found->second;
  waiting_.insert(std::move(node));
}

void Loader::cancel(const ChunkPos& pos) {
  const std::lock_guard lock(mutex_);
  const auto found = ranks_.find(pos);
  if (found == ranks_.end()) return;
  waiting_.erase(found->second);
  ranks_.erase(found);
}

void Loader::load_one() {
  Waiting next;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) return;  // it was cancelled
    next = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    ranks_.erase(next.outcome.front().pos);
  }
  LoadOutcome& outcome = next.outcome.front();
  outcome.generation = source_.store_generation();
  outcome.loaded = source_.load(outcome.pos, next.kind);
  deliver_(std::move(next.outcome));
}

}  // namespace varve
