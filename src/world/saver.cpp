#include "world/saver.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/guarded.h"
#include "base/try.h"
#include "io/thread_rank.h"
#include "io/vfs.h"
#include "io/write_pace.h"
#include "journal/journal_folder.h"
#include "store/varve/backup.h"
#include "world/commit_builder.h"
#include "world/save_copy.h"

namespace varve {
namespace {

using Clock = std::chrono::steady_clock;

// Below the game: a save has time, a frame has not.
constexpr int kNiceLevel = 10;
// A copy has more of it than a save.
constexpr int kCopyNiceLevel = 19;

// Bytes a second beside a journal. At this rate syncs of its log take hardly longer than alone.
constexpr std::uint64_t kPace = std::uint64_t{50} << 20;

template <class Key, class Value>
void gather(ChangesList& list, Batch<Key, Value> Changes::* kind) {
  std::vector<BatchId>& all = (list.front().*kind).ids;
  for (auto changes = std::next(list.begin()); changes != list.end(); ++changes) {
    std::vector<BatchId>& ids = ((*changes).*kind).ids;
    all.insert(all.end(), ids.begin(), ids.end());
    ids.clear();
  }
}

// Puts the numbers of all batches with the first changes, from where they can be taken without
// memory.
void gather_ids(ChangesList& list) {
  if (list.size() < 2) return;
  gather(list, &Changes::chunks);
  gather(list, &Changes::entities);
  gather(list, &Changes::players);
  gather(list, &Changes::globals);
}

void take_ids(Changes& changes, SaveOutcome& outcome) noexcept {
  outcome.stored_chunks.swap(changes.chunks.ids);
  outcome.stored_entities.swap(changes.entities.ids);
  outcome.stored_players.swap(changes.players.ids);
  outcome.stored_globals.swap(changes.globals.ids);
}

void note_erased(const Commit& commit, SaveOutcome& outcome) {
  for (const ChunkChange& change : commit.chunks)
    if (!change.payload) outcome.erased_chunks.push_back(change.pos);
  for (const EntityChange& change : commit.entities)
    if (!change.value) outcome.erased_entities.push_back(change.id);
  for (const NamedChange& change : commit.players)
    if (!change.data) outcome.erased_players.push_back(change.name);
  for (const NamedChange& change : commit.globals)
    if (!change.data) outcome.erased_globals.push_back(change.name);
}

}  // namespace

Saver::Saver(Store& store, unsigned encode_thread_count, CommitGate gate,
             std::function<void(std::list<SaveOutcome>)> deliver)
    : store_(store),
      gate_(std::move(gate)),
      deliver_(std::move(deliver)),
      queue_(std::make_shared<SaveQueue>([this](auto job) { run_job(std::move(job)); })),
      encoders_("varve-encode", encode_thread_count, kNiceLevel),
      copiers_("varve-copy", 1, kCopyNiceLevel),
      thread_("varve-saver", 1, kNiceLevel) {
  // Beside a journal that is synced all the time a save in the background takes its time. One that
  // somebody waits for does not: whoever waits runs it, or hurries what runs already.
  thread_.post(0, [queue = queue_, is_paced = gate_ != nullptr] {
    std::optional<PacedWrites> pace;
    if (is_paced) pace.emplace(kPace, &queue->waiter_count());
    const GivesWayUnlessWaitedFor polite(queue->waiter_count());
    queue->run();
  });
}

Saver::~Saver() {
  drain();
  queue_->stop();
}

void Saver::run_job(std::list<SaveJob> job) {
  if (job.front().backup) return start_backup(std::move(job));
  if (job.front().kind() == SaveKind::copy) return start_copy(std::move(job));
  run_commit(job.front());
}

Encoding Saver::encoding() noexcept {
  return {.threads = encoders_, .buffers = buffers_, .encode_count = encode_count_};
}

void Saver::run_commit(SaveJob& job) {
  // From here on the changes are carried, whatever happens.
  carried_.splice(carried_.end(), job.changes);
  Result<SaveReport> report = guarded(ErrorCode::io, "saving", [&] { return commit_carried(job); });
  if (report) {
    carried_.clear();
  } else {
    tidy_carried();
  }
  finish(job, std::move(report));
}

Result<SaveReport> Saver::commit_carried(SaveJob& job) {
  SaveReport report{.start_time = job.start_time};
  const auto begun_at = Clock::now();
  report.queued_time = begun_at - job.posted_at;

  BuiltCommit built =
      build_commit(carried_, store_.capabilities(), encoding(), job.state().encoding);
  const auto encoded_at = Clock::now();
  report.encode_time = encoded_at - begun_at;
  VARVE_ASSIGN(const bool takes_link, pass_gate(job, built.commit));
  keep_aside(built);

  // A part of the world leaves the tick alone: what it brings is newer than the rest, and
  // the tick says up to where everything is there.
  const bool is_whole = job.kind() == SaveKind::whole && !leaves_something_out(built, takes_link);
  built.commit.tick = is_whole ? std::max(job.tick, store_.tick()) : store_.tick();
  built.commit.generator = job.generator;
  built.commit.backup_count = job.backup_count;
  // Written down before the commit: once it is done nothing may fail any more.
  SaveOutcome& outcome = job.outcome.front();
  outcome.unsaved = std::move(built.unsaved);
  outcome.generator_recorded = job.generator.has_value();
  gather_ids(carried_);
  note_erased(built.commit, outcome);
  VARVE_ASSIGN(CommitStats stats, store_.commit(built.commit, job.state().committing));
  assert(!carried_.empty());  // Each job brings one, if an empty one.
  take_ids(carried_.front(), outcome);
  outcome.succeeded = true;
  has_taken_link_ = has_taken_link_ || takes_link;
  outcome.generation = stats.generation;
  outcome.tick = built.commit.tick;
  add_stats(report, stats);
  report.commit_time = Clock::now() - encoded_at;
  report.tick = built.commit.tick;
  report.problems = std::move(built.problems);
  report.backup_error = std::move(stats.backup_error);
  return report;
}

// The save is never ahead of its journal, or it has none any more. True: with this commit it has
// none. That one must be of the whole world: what the journal knows and the save does not would be
// lost with the link to it.
Result<bool> Saver::pass_gate(SaveJob& job, Commit& commit) {
  if (!gate_ || has_taken_link_) return false;
  VARVE_ASSIGN(const bool is_durable, gate_(job.tick));
  if (is_durable) {
    job.state().set_durable();
    return false;
  }
  if (job.kind() != SaveKind::whole) {
    return busy("the journal was given up: nothing is saved before the whole world is");
  }
  std::erase_if(commit.globals,
                [](const NamedChange& change) { return change.name == kJournalGlobal; });
  commit.globals.push_back({.name = std::string(kJournalGlobal)});
  return true;
}

// Chunks that could not be saved are missing in the save, and recovery would begin behind their
// edits if it were at a later tick. Beside a journal it stays at the one it is at, until they are
// saved.
bool Saver::leaves_something_out(const BuiltCommit& built, bool takes_link) {
  if (!gate_ || has_taken_link_ || takes_link) return false;
  for (const ChunkChange& change : built.commit.chunks) left_out_.erase(change.pos);
  left_out_.insert(built.unsaved.begin(), built.unsaved.end());
  return !left_out_.empty();
}

// A damaged chunk is replaced only once its bytes are safe elsewhere, however many commits
// that takes and whatever becomes of the chunk in memory meanwhile.
void Saver::keep_aside(BuiltCommit& built) {
  for (Changes& changes : carried_) {
    not_kept_aside_.insert(changes.quarantine.begin(), changes.quarantine.end());
    changes.quarantine.clear();
  }
  if (not_kept_aside_.empty()) return;
  std::erase_if(built.commit.chunks, [&](const ChunkChange& change) {
    if (!not_kept_aside_.contains(change.pos)) return false;
    const Status kept = store_.quarantine(change.pos);
    if (kept) {
      not_kept_aside_.erase(change.pos);
      return false;
    }
    built.unsaved.push_back(change.pos);
    built.problems.push_back(
        {.key = to_string(change.pos),
         .error = kept.error().with_context("keeping its damaged bytes aside")});
    return true;
  });
}

// A disk that stays full for hours must not make the game keep every value in between.
void Saver::tidy_carried() noexcept {
  if (carried_.size() < 2) return;
  try {
    ChangesList one;
    one.push_back(merged(carried_));
    carried_.swap(one);
  } catch (...) {
    // Out of memory. All of it is still there, only not put together.
  }
}

void Saver::start_copy(std::list<SaveJob> job) {
  // What is not stored goes into the next save as well; the copy gets references.
  carried_.splice(carried_.end(), job.front().changes);
  std::shared_ptr<std::list<SaveJob>> copy;
  std::shared_ptr<StoreView> view;
  Status ready = guarded(ErrorCode::io, "saving a copy", [&]() -> Status {
    copy = std::make_shared<std::list<SaveJob>>();
    if (!carried_.empty()) job.front().changes.push_back(merged(carried_));
    if (store_.capabilities().pins) {
      VARVE_ASSIGN(view, store_.pin());
    }
    return {};
  });
  if (!ready) return finish(job.front(), ready.error());
  // Without a pin nothing may be committed meanwhile; with one, saves go on.
  if (!view) return run_copy(job.front(), nullptr);
  copy->splice(copy->end(), job);
  ready = guarded(ErrorCode::io, "saving a copy", [&]() -> Status {
    copiers_.post(0, [this, copy, view = std::move(view)]() mutable {
      run_copy(copy->front(), std::move(view));
    });
    return {};
  });
  if (!ready) finish(copy->front(), ready.error());
}

void Saver::run_copy(SaveJob& job, std::shared_ptr<StoreView> view) {
  Result<SaveReport> report = guarded(ErrorCode::io, "saving a copy", [&] {
    const StoreView& source = view ? *view : store_;
    return save_copy(job, source, encoding());
  });
  // Before anybody hears that it is done: a pin must be gone before the store is.
  view.reset();
  finish(job, std::move(report));
}

// Held here, between two commits: what was asked to be saved before is in it.
void Saver::start_backup(std::list<SaveJob> job) {
  std::shared_ptr<std::list<SaveJob>> shared;
  const Status ready = guarded(ErrorCode::io, "backing up", [&]() -> Status {
    shared = std::make_shared<std::list<SaveJob>>();
    shared->splice(shared->end(), job);
    VARVE_ASSIGN(BackupSource held, pin_for_backup(store_));
    auto source = std::make_shared<std::unique_ptr<BackupSource>>(
        std::make_unique<BackupSource>(std::move(held)));
    copiers_.post(0, [this, shared, source] { run_backup(shared->front(), std::move(*source)); });
    return {};
  });
  if (!ready) finish(job.empty() ? shared->front() : job.front(), ready.error());
}

void Saver::run_backup(SaveJob& job, std::unique_ptr<BackupSource> source) {
  Result<SaveReport> report = guarded(ErrorCode::io, "backing up", [&]() -> Result<SaveReport> {
    const auto begun_at = Clock::now();
    // What is copied is handed to the disk as it comes, and not all at once when it is synced.
    std::optional<PacedWrites> pace;
    if (job.backup->size_per_second != 0) pace.emplace(job.backup->size_per_second);
    job.state().encoding.report(1);
    VARVE_ASSIGN(const BackupReport done, back_up(*source, job.copy_path, *job.backup,
                                                  job.state().committing, BackupDisk(posix_vfs())));
    SaveReport made{.generation = done.generation, .tick = done.tick};
    made.unchanged_count = done.unchanged_count;
    made.erased_count = done.erased_count;
    made.written_size = done.copied_size;
    made.start_time = job.start_time;
    made.queued_time = begun_at - job.posted_at;
    made.commit_time = Clock::now() - begun_at;
    return made;
  });
  // As with a copy: before anybody hears that it is done.
  source.reset();
  finish(job, std::move(report));
}

void Saver::finish(SaveJob& job, Result<SaveReport> report) noexcept {
  if (!report) {
    SaveOutcome& outcome = job.outcome.front();
    outcome = {.kind = outcome.kind, .state = std::move(outcome.state)};
  }
  const std::shared_ptr<SaveHandle::State> state = job.outcome.front().state;
  state->decide(std::move(report));
  deliver_(std::move(job.outcome));
  state->announce();
  queue_->job_done();
}

}  // namespace varve
