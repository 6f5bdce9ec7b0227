#include <fmt/format.h>

#include <atomic>

#include "backend/batch_check.h"
#include "backend/lmdb/lmdb_file.h"
#include "backend/lmdb/lmdb_opening.h"
#include "backend/lmdb/lmdb_reads.h"
#include "backend/lmdb/lmdb_traits.h"
#include "backend/lmdb/lmdb_writer.h"
#include "base/guarded.h"
#include "base/try.h"
#include "io/path.h"

namespace varve::lmdb {
namespace {

class LmdbBackend final : public Backend {
 public:
  LmdbBackend(Vfs& vfs, std::string_view dir, const LmdbBackendOptions& options)
      : vfs_(vfs), dir_(dir), options_(options), traits_(lmdb_backend_traits()) {}

  Status open();

  std::uint64_t sequence() const override {
    const auto head = read([](const ReadTxn& txn) { return read_head(txn); });
    return head ? head->sequence : 0;
  }
  Result<std::optional<Bytes>> get(ByteView key) const override {
    VARVE_TRY(check_open());
    VARVE_TRY(check_key(traits_, key));
    return read([&](const ReadTxn& txn) { return read_value(txn, key); });
  }
  std::vector<Result<std::optional<Bytes>>> multi_get(
      const std::vector<Bytes>& keys) const override;
  Result<RangePage> range(const RangeQuery& query) const override {
    return read([&](const ReadTxn& txn) { return read_range(txn, query); });
  }

  const BackendTraits& traits() const override { return traits_; }
  BackendStats stats() const override;
  WriteResult write(const WriteBatch& batch) override {
    return or_out_of_memory([&]() -> WriteResult {
      VARVE_TRY(check_open());
      VARVE_TRY(check_batch(traits_, batch));
      return writer_->write(batch);
    });
  }
  Status sync() override {
    return or_out_of_memory([&]() -> Status {
      VARVE_TRY(check_open());
      return writer_->sync();
    });
  }
  Result<std::unique_ptr<ReadView>> snapshot() const override {
    return or_out_of_memory([&]() -> Result<std::unique_ptr<ReadView>> {
      VARVE_TRY(check_open());
      VARVE_ASSIGN(ReadTxn txn, opening_->environment().begin_read(ReadKind::held));
      return View::make(traits_, opening_, std::move(txn));
    });
  }
  Status refresh() override { return check_open(); }
  Result<std::vector<Error>> verify(VerifyScope scope) const override {
    return read([&](const ReadTxn& txn) { return verify_all(txn, scope); });
  }
  Status close() override;

 private:
  Status check_open() const {
    if (is_closed_) return closed_error(traits_);
    return {};
  }
  // What `fn` makes of what is there now.
  template <class Fn>
  auto read(Fn fn) const -> std::invoke_result_t<Fn, const ReadTxn&> {
    return or_out_of_memory([&]() -> std::invoke_result_t<Fn, const ReadTxn&> {
      VARVE_TRY(check_open());
      VARVE_ASSIGN(const ReadTxn txn, opening_->environment().begin_read(ReadKind::brief));
      return fn(txn);
    });
  }
  Status make_folder();

  Vfs& vfs_;
  const std::string dir_;
  const LmdbBackendOptions options_;
  const BackendTraits traits_;
  std::unique_ptr<WriterLock> lock_;  // let go after everything else
  std::shared_ptr<Opening> opening_;
  std::unique_ptr<Writer> writer_;
  std::atomic<bool> is_closed_ = false;
};

Status LmdbBackend::make_folder() {
  VARVE_ASSIGN(const bool is_there, vfs_.exists(dir_));
  VARVE_TRY(vfs_.create_dir(dir_));
  if (is_there) return {};
  Status synced = vfs_.sync_dir(path_parent(dir_));
  // Only making it anew can make its name durable then.
  if (!synced) (void)vfs_.remove_dir(dir_);
  return synced;
}

Status LmdbBackend::open() {
  VARVE_TRY(make_folder());
  VARVE_ASSIGN(lock_, vfs_.lock_writer(path_join(dir_, kWriterFile)));
  // A link that leads nowhere would be taken for a file that is still to be made.
  VARVE_TRY(check_no_links(dir_));
  VARVE_ASSIGN(const bool is_made, vfs_.exists(path_join(dir_, kDataFile)));
  if (!is_made) {
    // Whoever made the folder may have been stopped before its name was durable.
    VARVE_TRY(vfs_.sync_dir(path_parent(dir_)));
    VARVE_TRY(create_file(vfs_, dir_));
  }
  VARVE_ASSIGN(opening_, Opening::open(vfs_, dir_, true, options_));
  writer_ = std::make_unique<Writer>(vfs_, opening_->environment(), options_.durability);
  return writer_->start();
}

std::vector<Result<std::optional<Bytes>>> LmdbBackend::multi_get(
    const std::vector<Bytes>& keys) const {
  std::vector<Result<std::optional<Bytes>>> results;
  const Status done = read([&](const ReadTxn& txn) -> Status {
    results = multi_get_checked(traits_, txn, keys);
    return {};
  });
  if (done) return results;
  return all_failed(keys.size(), done.error());
}

BackendStats LmdbBackend::stats() const {
  const auto stats =
      read([&](const ReadTxn& txn) -> Result<BackendStats> { return stats_at(vfs_, txn); });
  if (!stats) return {};
  BackendStats shown = *stats;
  shown.durable_sequence = std::min(writer_->durable_sequence(), shown.sequence);
  return shown;
}

Status LmdbBackend::close() {
  if (is_closed_.exchange(true)) return {};
  return or_out_of_memory([&]() -> Status {
    Status synced = writer_->sync();
    writer_.reset();
    opening_.reset();
    lock_.reset();
    return synced;
  });
}

}  // namespace
}  // namespace varve::lmdb

namespace varve {

bool has_lmdb_backend() { return true; }

Result<std::unique_ptr<Backend>> open_lmdb_backend(std::string_view dir,
                                                   const LmdbBackendOptions& options) {
  return or_out_of_memory([&]() -> Result<std::unique_ptr<Backend>> {
    auto backend = std::make_unique<lmdb::LmdbBackend>(posix_vfs(), dir, options);
    VARVE_TRY(backend->open());
    return backend;
  });
}

}  // namespace varve
