#include "backend/log/log_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "backend/batch_check.h"
#include "backend/log/checkpoint.h"
#include "backend/log/control_file.h"
#include "backend/log/log_recovery.h"
#include "backend/log/log_state.h"
#include "backend/log/log_writer.h"
#include "backend/log/reader_pins.h"
#include "backend/log/segment_files.h"
#include "backend/log/upkeep.h"
#include "base/guarded.h"
#include "base/try.h"
#include "io/path.h"

namespace varve::log {
namespace {

class LogBackend final : public Backend {
 public:
  LogBackend(Vfs& vfs, std::string_view dir, LogOptions options)
      : options_(std::move(options)),
        files_(vfs, dir, options_.seed),
        state_(options_.traits, options_.user.map_reads,
               options_.user.durability.kind == Durability::Kind::every_commit) {}
  ~LogBackend() override {
    if (upkeep_ != nullptr) upkeep_->stop();
  }

  Status open();

  std::uint64_t sequence() const override {
    if (is_closed_) return 0;
    // Nobody knows of a batch that may be lost.
    if (!settle()) return writer_->durable_sequence();
    return state_.sequence();
  }
  Result<std::optional<Bytes>> get(ByteView key) const override {
    VARVE_TRY(check_open());
    return or_out_of_memory([&]() -> Result<std::optional<Bytes>> {
      VARVE_TRY(settle_for(key));
      return state_.get(key, std::nullopt);
    });
  }
  Result<std::optional<Bytes>> get_raw(ByteView key, std::uint64_t size_max) const override {
    VARVE_TRY(check_open());
    return or_out_of_memory([&]() -> Result<std::optional<Bytes>> {
      VARVE_TRY(settle_for(key));
      return state_.get_raw(key, size_max, std::nullopt);
    });
  }
  std::vector<Result<std::optional<Bytes>>> multi_get(
      const std::vector<Bytes>& keys) const override {
    return multi_get_or_none([&] {
      if (is_closed_) {
        return std::vector<Result<std::optional<Bytes>>>(keys.size(),
                                                         closed_error(options_.traits));
      }
      // All of them are of one moment, so that a batch in doubt concerns all or none.
      for (const Bytes& key : keys) {
        if (const Status settled = settle_for(key); !settled) {
          return std::vector<Result<std::optional<Bytes>>>(keys.size(), settled.error());
        }
      }
      return state_.multi_get(keys, std::nullopt);
    });
  }
  Result<RangePage> range(const RangeQuery& query) const override {
    VARVE_TRY(check_open());
    VARVE_TRY(settle());
    return or_out_of_memory([&] { return state_.range(query, std::nullopt); });
  }

  const BackendTraits& traits() const override { return options_.traits; }
  BackendReport open_report() const override { return report_; }
  BackendStats stats() const override {
    if (is_closed_) return {};
    const Status settled = settle();
    BackendStats stats = state_.stats();
    if (!settled) stats.sequence = writer_->durable_sequence();
    // The writer is ahead of what readers see for a moment.
    stats.durable_sequence = std::min(writer_->durable_sequence(), stats.sequence);
    stats.stored_size += writer_->spare_size();
    return stats;
  }

  WriteResult write(const WriteBatch& batch) override {
    return or_out_of_memory([&]() -> WriteResult {
      VARVE_TRY(check_open());
      VARVE_TRY(check_batch(options_.traits, batch));
      WriteResult result = writer_->write(batch);
      if (result) upkeep_->after_write(batch.size());
      return result;
    });
  }
  Status sync() override {
    VARVE_TRY(check_open());
    return or_out_of_memory([&] { return writer_->sync(); });
  }
  Result<std::unique_ptr<ReadView>> snapshot() const override {
    VARVE_TRY(check_open());
    VARVE_TRY(settle());
    return or_out_of_memory([&]() -> Result<std::unique_ptr<ReadView>> {
      return std::make_unique<LogSnapshot>(state_, nullptr);
    });
  }
  Status refresh() override { return check_open(); }
  Result<std::vector<Error>> verify(VerifyScope scope) const override {
    VARVE_TRY(check_open());
    VARVE_TRY(settle());
    return or_out_of_memory([&] { return state_.verify(scope); });
  }
  Status close() override;

 private:
  Status check_open() const {
    if (is_closed_) return closed_error(options_.traits);
    return {};
  }
  // What a crash left in doubt is made durable before anybody is shown it.
  Status settle() const {
    if (writer_->is_settled()) return {};
    return or_out_of_memory([&] { return writer_->settle(); });
  }
  Status settle_for(ByteView key) const {
    return writer_->may_be_lost(key) ? writer_->settle() : Status();
  }
  Status make_folder();
  Status create();
  void clear_away(const Recovered& recovered);

  LogOptions options_;
  std::unique_ptr<WriterLock> lock_;
  SegmentFiles files_;
  mutable LogState state_;
  std::unique_ptr<LogWriter> writer_;
  std::unique_ptr<Upkeep> upkeep_;
  BackendReport report_;
  std::atomic<bool> is_closed_ = false;
};

// The folder exists and has no batch in it.
Status LogBackend::create() {
  // The folder's own name, before anything in it can be promised to anybody.
  VARVE_TRY(files_.vfs().sync_dir(path_parent(files_.dir())));
  // Segments of a creation that failed are not gone on with: their names may not be durable, and
  // could not be made so any more.
  VARVE_ASSIGN(const std::vector<ListedSegment> leftovers, files_.list());
  // Nor may a checkpoint that somebody removed come back and name them.
  if (!leftovers.empty()) VARVE_TRY(files_.vfs().sync_dir(files_.dir()));
  for (const ListedSegment& segment : leftovers) (void)files_.remove(segment.id);
  files_.set_identity(files_.new_log_id(), leftovers.empty() ? 1 : leftovers.back().id + 1);
  VARVE_ASSIGN(const SegmentRef first, files_.create(SegmentKind::log, options_.prepared_size_min));
  // From the first batch on, a log without a checkpoint is one that has lost it.
  VARVE_ASSIGN(CheckpointFile checkpoint, CheckpointFile::create(files_, 1));
  CheckpointHead head{.log_id = files_.log_id(),
                      .generation = 1,
                      .tail_segment_id = first->id,
                      .tail_offset = kBlockSize,
                      .tail_chain = first->salt,
                      .next_segment_id = files_.next_segment_id()};
  head.segments.push_back({.id = first->id, .salt = first->salt, .used_end = kBlockSize});
  return checkpoint.finish(std::move(head));
}

Status LogBackend::make_folder() {
  VARVE_ASSIGN(const bool is_there, files_.vfs().exists(files_.dir()));
  VARVE_TRY(files_.vfs().create_dir(files_.dir()));
  if (is_there) return {};
  Status synced = files_.vfs().sync_dir(path_parent(files_.dir()));
  // Only making it anew can make its name durable then.
  if (!synced) (void)files_.vfs().remove_dir(files_.dir());
  return synced;
}

void LogBackend::clear_away(const Recovered& recovered) {
  // What fails here is found again the next time. A temporary file waits for whoever needs its
  // name: removing a large one takes as long as all the rest of opening.
  for (const std::uint64_t id : recovered.set_aside) {
    const std::string path = files_.segment_path(id);
    (void)files_.vfs().rename(path, path + std::string(kSetAsideSuffix));
  }
}

Status LogBackend::open() {
  VARVE_TRY(make_folder());
  VARVE_ASSIGN(lock_, files_.vfs().lock_writer(files_.lock_path()));
  const RecoveryOptions as_writer{.writes = true};
  VARVE_ASSIGN(std::optional<Recovered> recovered, recover_log(files_, state_, as_writer));
  if (!recovered) {
    VARVE_TRY(create());
    VARVE_ASSIGN(recovered, recover_log(files_, state_, as_writer));
    if (!recovered)
      return io_error(fmt::format("{}: the log that was just made is gone", files_.dir()));
  }
  files_.set_identity(recovered->log_id, recovered->next_segment_id);
  // Before the log goes on without it, and nothing tells of it any more.
  if (recovered->lost_now) VARVE_TRY(files_.note_loss(*recovered->report.loss));
  clear_away(*recovered);
  VARVE_TRY(make_pin_file(files_.vfs(), files_.readers_path()));
  VARVE_ASSIGN(ControlFile control, ControlFile::open(files_.vfs(), files_.control_path(), true));
  writer_ = std::make_unique<LogWriter>(options_, files_, state_, std::move(control));
  VARVE_TRY(writer_->start(*recovered));
  report_ = std::move(recovered->report);
  upkeep_ = std::make_unique<Upkeep>(options_, files_, state_, *writer_);
  if (recovered->generation == 0) {
    // Readers of an earlier writer may be there: no number they know is used again.
    VARVE_ASSIGN(const auto pins, read_pins(files_.vfs(), files_.readers_path()));
    for (const PinRecord& pin : pins) {
      recovered->known_generation = std::max(recovered->known_generation, pin.generation);
    }
  }
  upkeep_->start(*recovered);
  // Made from the segments once, not again the next time. If it fails, upkeep tries on.
  if (recovered->generation == 0) (void)upkeep_->write_checkpoint();
  if (!writer_->is_settled()) upkeep_->settle_soon();
  return {};
}

Status LogBackend::close() {
  if (is_closed_.exchange(true)) return {};
  return or_out_of_memory([&]() -> Status {
    upkeep_->stop();
    // Worth its while if the next one to open would have to read more than a little; without it
    // nothing is lost.
    if (writer_->written_since_checkpoint().batch_count > options_.close_batch_count_max) {
      (void)upkeep_->write_checkpoint();
    }
    writer_->cut_sealed();
    Status closed = writer_->close();
    lock_.reset();
    return closed;
  });
}

}  // namespace

BackendTraits file_backend_traits() {
  BackendTraits traits;
  traits.name = "file";
  traits.value_size_max = Location::kValueSizeMax;
  traits.batch_size_max = std::uint64_t{1} << 31;
  traits.checks_values = true;
  return traits;
}

Result<std::unique_ptr<Backend>> open_log(Vfs& vfs, std::string_view dir, LogOptions options) {
  return or_out_of_memory([&]() -> Result<std::unique_ptr<Backend>> {
    auto backend = std::make_unique<LogBackend>(vfs, dir, std::move(options));
    VARVE_TRY(backend->open());
    return backend;
  });
}

}  // namespace varve::log

namespace varve {

Result<std::unique_ptr<Backend>> open_file_backend(std::string_view dir,
                                                   const FileBackendOptions& options) {
  return log::open_log(posix_vfs(), dir, {.user = options, .traits = log::file_backend_traits()});
}

Result<std::unique_ptr<Backend>> open_file_backend_to_read(std::string_view dir,
                                                           const FileBackendOptions& options) {
  return log::open_log_to_read(posix_vfs(), dir,
                               {.user = options, .traits = log::file_backend_traits()});
}

}  // namespace varve
