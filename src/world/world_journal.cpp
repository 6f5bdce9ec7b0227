#include "world/world_journal.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "base/guarded.h"
#include "base/try.h"

namespace varve {
namespace {

// Between two tries while the disk refuses.
constexpr std::chrono::milliseconds kRetryTime{100};
// After so long without a tick it sleeps until it is woken.
constexpr std::chrono::seconds kIdleTime{1};
// Failures in a row, but of a full disk, after which a journal is given up.
constexpr int kFailureCountMax = 3;

}  // namespace

WorldJournal::WorldJournal(std::unique_ptr<journal::JournalFolder> folder, const StoreView& store,
                           std::uint64_t latest_tick, const WorldJournalOptions& options,
                           std::function<void(const Error&)> on_given_up)
    : folder_(std::move(folder)),
      store_(store),
      options_(options),
      stretch_ticks_(folder_->meta().stretch_ticks),
      on_given_up_(std::move(on_given_up)),
      handed_tick_(latest_tick),
      logged_tick_(latest_tick),
      stored_tick_(latest_tick) {}

WorldJournal::~WorldJournal() { stop(); }

Status WorldJournal::start() {
  if (!options_.background) return {};
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& failure) {
    return io_error(std::string("no thread for the journal: ") + failure.what());
  }
  return {};
}

void WorldJournal::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Status WorldJournal::close() {
  stop();
  const Status logged = log_queued();
  const std::lock_guard log_lock(log_mutex_);
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_closed_, true)) return {};
  }
  Status closed = folder_->close();
  return logged ? closed : logged;
}

// --- Handing over ------------------------------------------------------------------------

void WorldJournal::hand_over(std::uint64_t tick,
                             const std::function<ChunkRef(const ChunkPos&)>& find_chunk) noexcept {
  bool is_full = false;
  bool wakes = true;
  try {
    notes_.hold_chunks(find_chunk);
    std::list<Entry> entry;
    std::unique_lock lock(mutex_);
    if (is_given_up_) {
      notes_.clear();
      handed_tick_ = tick;
      return;
    }
    if (!notes_.empty()) {
      if (spare_.empty()) {
        entry.emplace_back();
      } else {
        entry.splice(entry.end(), spare_, spare_.begin());
      }
      entry.front().tick = tick;
      // The empty one that comes back keeps its memory, and the author.
      notes_.swap_notes(entry.front().notes);
      queued_size_ += entry.front().notes.size();
      queue_.splice(queue_.end(), entry);
    } else if (queue_.empty() && logged_tick_ == handed_tick_) {
      logged_tick_ = tick;
    }
    handed_tick_ = tick;
    is_full = queued_size_ > options_.queue_size_max;
    wakes = is_asleep_ || is_full;
  } catch (...) {
    // A list of one is all it may have needed. The tick is lost for the log, and so is the log.
    notes_.clear();
    {
      const std::lock_guard lock(mutex_);
      handed_tick_ = tick;
    }
    return give_up(out_of_space("out of memory"));
  }
  if (!options_.background) {
    (void)log_queued();
    return;
  }
  // To wake a thread costs the game more than all the rest: one that looks by itself is let be.
  if (wakes) changed_.notify_all();
  if (!is_full) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] {
    return queued_size_ <= options_.queue_size_max || is_given_up_ || problem_.has_value();
  });
  const std::optional<Error> refused = problem_;
  const bool gives_up = queued_size_ > options_.queue_size_max && refused && !is_given_up_;
  lock.unlock();
  if (gives_up) give_up(*refused);
}

// --- Logging -----------------------------------------------------------------------------

void WorldJournal::run() noexcept {
  while (wait_for_work()) {
    (void)log_queued();
    cut_history();
  }
}

// False: it is to stop.
bool WorldJournal::wait_for_work() {
  std::unique_lock lock(mutex_);
  if (is_given_up_) {
    changed_.wait(lock, [this] { return is_stopping_; });
    return false;
  }
  if (problem_) {
    changed_.wait_for(lock, kRetryTime, [this] { return is_stopping_; });
    return !is_stopping_;
  }
  const auto is_wanted = [this] {
    return is_stopping_ || is_given_up_ || wanted_tick_ > logged_tick_ ||
           cut_tick_ < stored_tick_ || queued_size_ > options_.queue_size_max;
  };
  // Looks by itself as long as ticks come.
  const auto idle_since = std::chrono::steady_clock::now();
  while (options_.pick_up_time.count() != 0 && queue_.empty() && !is_wanted() &&
         std::chrono::steady_clock::now() - idle_since < kIdleTime) {
    changed_.wait_for(lock, options_.pick_up_time, is_wanted);
  }
  is_asleep_ = true;
  changed_.wait(lock, [&] { return is_wanted() || !queue_.empty(); });
  is_asleep_ = false;
  return !is_stopping_;
}

Status WorldJournal::log_queued() {
  const std::lock_guard log_lock(log_mutex_);
  for (;;) {
    std::list<Entry> entry;
    {
      const std::lock_guard lock(mutex_);
      if (queue_.empty() || is_given_up_ || is_closed_) break;
      entry.splice(entry.end(), queue_, queue_.begin());
    }
    const Status logged = log_entry(entry.front());
    if (!logged) note_failure(logged.error());
    const std::lock_guard lock(mutex_);
    // What came of it makes no difference any more, and what the queue held is gone.
    if (is_given_up_) return problem_ ? Status(*problem_) : logged;
    if (!logged) {
      queue_.splice(queue_.begin(), entry);
      note_problem(logged.error());
      changed_.notify_all();
      return logged;
    }
    problem_.reset();
    failure_count_ = 0;
    queued_size_ -= entry.front().notes.size();
    last_entry_tick_ = entry.front().tick;
    logged_tick_ = queue_.empty() ? handed_tick_ : last_entry_tick_;
    entry.front().notes.clear();
    spare_.splice(spare_.end(), entry);
    changed_.notify_all();
  }
  // What it is for can be made again from the log at any time.
  (void)folder_->index().write_finished();
  return {};
}

Status WorldJournal::log_entry(Entry& entry) {
  const auto mutations = entry.notes.mutations(store_, buffers_);
  const auto payload = mutations ? encode_mutations(*mutations) : Result<Bytes>(mutations.error());
  if (!payload) return payload.error();
  VARVE_TRY(folder_->log().append(entry.tick, *payload));
  (void)folder_->index().note(entry.tick, *mutations);
  return {};
}

// Whole stretches, since a part of one cannot be told; and nothing that is not stored.
void WorldJournal::cut_history() noexcept {
  std::uint64_t stored = 0;
  std::uint64_t latest = 0;
  {
    const std::lock_guard lock(mutex_);
    if (cut_tick_ == stored_tick_) return;
    cut_tick_ = stored = stored_tick_;
    latest = logged_tick_;
  }
  const std::uint64_t kept_from =
      latest > options_.history_ticks ? latest - options_.history_ticks : 0;
  const std::uint64_t cut = std::min(stored + 1, kept_from) / stretch_ticks_ * stretch_ticks_;
  const std::lock_guard log_lock(log_mutex_);
  if (!folder_->log().can_truncate_before(cut)) return;
  // Costs nothing but space if it fails, and is tried again after the next save.
  if (const Status done = folder_->log().truncate_before(cut); !done) return;
  if (const auto first = folder_->log().first_tick()) (void)folder_->index().forget_before(*first);
}

void WorldJournal::stored(std::uint64_t tick) noexcept {
  {
    const std::lock_guard lock(mutex_);
    stored_tick_ = std::max(stored_tick_, tick);
  }
  if (options_.background) {
    changed_.notify_all();
  } else {
    cut_history();
  }
}

// A full disk may have room again. Any other failure that stays would keep the world from being
// saved, too, since saves wait for the log.
void WorldJournal::note_failure(const Error& error) noexcept {
  if (error.code() == ErrorCode::out_of_space) return;
  {
    const std::lock_guard lock(mutex_);
    if (++failure_count_ < kFailureCountMax) return;
  }
  give_up(error);
}

void WorldJournal::give_up(const Error& error) noexcept {
  std::list<Entry> dropped;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_given_up_, true)) return;
    note_problem(error);
    dropped.swap(queue_);
    queued_size_ = 0;
  }
  changed_.notify_all();
  try {
    if (on_given_up_) on_given_up_(error);
  } catch (...) {
    // Out of memory: nothing but words is lost.
  }
}

// The mutex is held.
void WorldJournal::note_problem(const Error& error) noexcept {
  try {
    problem_ = error;
  } catch (...) {
    problem_ = out_of_space("out of memory");  // short enough to need none
  }
}

// --- Asking ------------------------------------------------------------------------------

Result<bool> WorldJournal::wait_logged(std::uint64_t tick) {
  std::unique_lock lock(mutex_);
  if (is_given_up_) return false;
  if (!options_.background) {
    lock.unlock();
    const Status logged = log_queued();
    lock.lock();
    if (!logged && !is_given_up_) return logged.error();
  }
  if (wanted_tick_ < tick) {
    wanted_tick_ = tick;
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return logged_tick_ >= tick || is_given_up_ || problem_.has_value(); });
  if (is_given_up_) return false;
  if (logged_tick_ < tick) return problem_->with_context("the journal could not log a tick");
  return true;
}

Result<bool> WorldJournal::make_durable(std::uint64_t tick) {
  VARVE_ASSIGN(const bool is_logged, wait_logged(tick));
  if (!is_logged) return false;
  const std::lock_guard log_lock(log_mutex_);
  std::uint64_t wanted = 0;
  {
    const std::lock_guard lock(mutex_);
    wanted = std::min(tick, last_entry_tick_);
  }
  const auto durable = folder_->log().durable_tick();
  if (wanted != 0 && (!durable || *durable < wanted)) {
    const Status synced = folder_->log().sync();
    if (!synced) {
      note_failure(synced.error());
      if (is_given_up()) return false;
      return synced.error().with_context("the journal could not be made durable");
    }
  }
  return true;
}

std::uint64_t WorldJournal::durable_tick() const {
  const auto durable = folder_->log().durable_tick();
  const std::lock_guard lock(mutex_);
  // Ticks in which nothing happened are as durable as those before them.
  if (last_entry_tick_ == 0 || (durable && *durable >= last_entry_tick_)) return logged_tick_;
  return durable.value_or(0);
}

bool WorldJournal::is_given_up() const {
  const std::lock_guard lock(mutex_);
  return is_given_up_;
}

std::optional<Error> WorldJournal::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

}  // namespace varve
