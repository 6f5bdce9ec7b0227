// Turns what the game thread cut off into commits, in order, on a thread of its own or on one that
// waits for them.
//
// Invariants:
// 1. Commits reach the store in the order in which they were posted, one at a time.
// 2. What a failed commit held is not lost and never comes late: it is carried into the
//    next commit, where newer changes of the same records win.
// 3. An outcome is delivered before its handle says that the save is done.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <unordered_set>

#include "varve/chunk.h"
#include "world/save_job.h"
#include "world/save_queue.h"
#include "world/thread_pool.h"

namespace varve {

struct BackupSource;
struct BuiltCommit;
struct Encoding;

// Called before a commit of what changed up to a tick: returns when that is durable elsewhere.
// False: it never will be, and the journal that was to make it so is given up.
using CommitGate = std::function<Result<bool>(std::uint64_t tick)>;

class Saver {
 public:
  // `deliver` is called on the saver's threads and on those that wait for a save, several at
  // once. It must neither block nor throw. `gate` may be empty.
  Saver(Store& store, unsigned encode_thread_count, CommitGate gate,
        std::function<void(std::list<SaveOutcome>)> deliver);
  // Runs everything that was posted.
  ~Saver();

  // A list of one, so that posting needs no memory.
  void post(std::list<SaveJob> job, SaverCall call) noexcept { queue_->post(std::move(job), call); }
  // Waits until everything that was posted is done, copies included.
  void drain() noexcept { queue_->drain(); }
  // For the states of saves. It may outlive this.
  std::weak_ptr<SaveHelper> helper() const noexcept { return queue_; }

  // How often a chunk was encoded.
  std::uint64_t encode_count() const noexcept {
    return encode_count_.load(std::memory_order_relaxed);
  }

 private:
  void run_job(std::list<SaveJob> job);
  void run_commit(SaveJob& job);
  void start_copy(std::list<SaveJob> job);
  void run_copy(SaveJob& job, std::shared_ptr<StoreView> view);
  void start_backup(std::list<SaveJob> job);
  void run_backup(SaveJob& job, std::unique_ptr<BackupSource> source);
  Encoding encoding() noexcept;
  // Commits everything that is carried.
  Result<SaveReport> commit_carried(SaveJob& job);
  Result<bool> pass_gate(SaveJob& job, Commit& commit);
  bool leaves_something_out(const BuiltCommit& built, bool takes_link);
  void keep_aside(BuiltCommit& built);
  void tidy_carried() noexcept;
  void finish(SaveJob& job, Result<SaveReport> report) noexcept;

  Store& store_;
  const CommitGate gate_;
  std::function<void(std::list<SaveOutcome>)> deliver_;
  BufferPool buffers_;
  std::atomic<std::uint64_t> encode_count_ = 0;

  // Both are touched by whoever has the turn alone: what is not stored yet although it was
  // cut, and damaged chunks that may not be replaced until their bytes are kept aside.
  ChangesList carried_;
  std::unordered_set<ChunkPos> not_kept_aside_;
  // Beside a journal: chunks whose latest change a commit had to leave out; and whether the journal
  // was given up and a commit has said so to the save.
  std::unordered_set<ChunkPos> left_out_;
  bool has_taken_link_ = false;

  const std::shared_ptr<SaveQueue> queue_;
  ThreadPool encoders_;
  ThreadPool copiers_;
  ThreadPool thread_;  // one job: the queue's run()
};

}  // namespace varve
