#include "backend/log/upkeep.h"

#include <algorithm>
#include <exception>

#include "base/guarded.h"
#include "base/try.h"
#include "io/thread_rank.h"

namespace varve::log {
namespace {

using namespace std::chrono_literals;

// A small batch rarely changes what is due; looking costs more than writing it down.
constexpr std::uint64_t kUnseenSizeMax = std::uint64_t{256} << 10;
constexpr int kHelpStepCountMax = 64;
constexpr std::uint64_t kLargeSize = std::uint64_t{1} << 20;
constexpr std::uint64_t kPatiencePercent = 10;
constexpr auto kIdleWait = 1000ms;
// Between two pieces of a checkpoint, each of which is synced: batches that are synced meanwhile
// hardly notice.
constexpr auto kCheckpointPause = 15ms;
// After a failure, such as a full disk.
constexpr auto kFailureWait = 200ms;
constexpr int kNiceLevels = 10;

}  // namespace

Upkeep::Upkeep(const LogOptions& options, SegmentFiles& files, LogState& state, LogWriter& writer)
    : options_(options),
      writer_(writer),
      checkpointer_(options, files, state, writer),
      reclaimer_(options, files, state, writer, checkpointer_) {}

void Upkeep::start(const Recovered& recovered) {
  opener_level_ = nice_level_of_this_thread();
  checkpointer_.start(recovered.known_generation, recovered.generation != 0);
  reclaimer_.start(recovered);
}

bool Upkeep::start_thread() noexcept {
  std::call_once(thread_once_, [this]() noexcept {
    try {
      checkpointer_.set_pause([this] { pause(kCheckpointPause); });
      thread_ = std::thread([this] { run(); });
    } catch (const std::exception&) {
      // Too many threads, or no memory. It is done without then.
      checkpointer_.set_pause(nullptr);
    }
  });
  return thread_.joinable();
}

void Upkeep::stop() noexcept {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(wake_mutex_);
    is_stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

Result<bool> Upkeep::step(std::uint64_t size_percent_max) {
  const std::lock_guard lock(work_mutex_);
  return or_out_of_memory([&]() -> Result<bool> {
    VARVE_TRY(writer_.settle());
    if (const auto deadline = writer_.sync_deadline();
        deadline && *deadline <= std::chrono::steady_clock::now()) {
      VARVE_TRY(writer_.sync());
    }
    // On a full disk the first two fail, and only reclaiming can mend that. Nor does one leave the
    // rest for later: a writer that is faster than this never stops needing a segment.
    writer_.cut_sealed();
    const bool needs_spare = writer_.needs_spare();
    Status made = needs_spare ? reclaimer_.prepare_spare() : Status();
    if (checkpointer_.is_due()) {
      made = checkpointer_.write();
      if (made) return true;
    }
    VARVE_ASSIGN(const bool did, reclaimer_.step(size_percent_max));
    if (!did && !made) return made.error();
    return did || needs_spare;
  });
}

Status Upkeep::run_all(std::uint64_t size_percent_max) {
  for (int i = 0; i < kHelpStepCountMax; ++i) {
    VARVE_ASSIGN(const bool did, step(size_percent_max));
    if (!did) break;
  }
  return {};
}

Status Upkeep::write_checkpoint() {
  const std::lock_guard lock(work_mutex_);
  return or_out_of_memory([&] { return checkpointer_.write(); });
}

void Upkeep::after_write(std::uint64_t size) {
  if (!options_.background || !start_thread()) {
    (void)run_all(options_.user.size_percent_max);
    return;
  }
  const bool is_first = !has_begun_.exchange(true);
  const std::uint64_t unseen_size = unseen_size_ += size;
  const bool is_seen = unseen_size < kUnseenSizeMax;
  const bool is_timed = options_.user.durability.kind == Durability::Kind::every_ms;
  if (!is_first && is_seen && !is_timed && !writer_.needs_spare()) return;
  unseen_size_ = 0;
  {
    const std::lock_guard lock(wake_mutex_);
    is_woken_ = true;
  }
  wake_.notify_one();
  // Behind a small batch the thread has nearly always time enough, and whoever saves a few chunks
  // should not wait for it.
  const std::uint64_t patience = size < kLargeSize ? kPatiencePercent : 0;
  const std::uint64_t limit = options_.user.size_percent_max + patience;
  // What was just written has left the thread no time: only if it was too much before does the
  // thread not keep up. A failure here is the thread's to meet again; the batch is written.
  if (!is_seen && reclaimer_.is_over(limit, unseen_size)) (void)run_all(limit);
}

void Upkeep::wait(std::chrono::milliseconds longest) {
  auto until = std::chrono::steady_clock::now() + longest;
  if (const auto deadline = writer_.sync_deadline()) until = std::min(until, *deadline);
  std::unique_lock lock(wake_mutex_);
  wake_.wait_until(lock, until, [this] { return is_woken_ || is_stopping_; });
  is_woken_ = false;
}

void Upkeep::wait_for_a_batch() {
  std::unique_lock lock(wake_mutex_);
  wake_.wait(lock, [this] { return is_woken_ || is_stopping_; });
}

void Upkeep::pause(std::chrono::milliseconds time) {
  // Batches that are to be durable in time do not wait for it to be over.
  const auto until = std::chrono::steady_clock::now() + time;
  for (auto now = until - time; now < until; now = std::chrono::steady_clock::now()) {
    const auto deadline = writer_.sync_deadline();
    if (deadline && *deadline <= now) (void)writer_.sync();
    std::unique_lock lock(wake_mutex_);
    wake_.wait_until(lock, deadline && *deadline > now ? std::min(until, *deadline) : until,
                     [this] { return is_woken_ || is_stopping_; });
    if (is_stopping_) return;
    is_woken_ = false;
  }
}

void Upkeep::run() noexcept {
  put_this_thread_behind(opener_level_, kNiceLevels);
  // What goes wrong with it is told to whoever needs it.
  (void)or_out_of_memory([&] { return writer_.settle(); });
  wait_for_a_batch();
  for (;;) {
    {
      const std::lock_guard lock(wake_mutex_);
      if (is_stopping_) return;
    }
    const auto did = step(options_.user.size_percent_max);
    if (!did) {
      // Nobody is woken by it: a batch that cannot be written says so itself.
      pause(kFailureWait);
      continue;
    }
    if (!*did) {
      wait(kIdleWait);
      continue;
    }
    const std::uint64_t rate = options_.user.reclaim_size_per_second;
    if (rate == 0 || reclaimer_.copied_size() == 0) continue;
    pause(std::chrono::milliseconds(1000 * reclaimer_.copied_size() / rate));
  }
}

}  // namespace varve::log
