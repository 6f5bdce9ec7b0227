// The LMDB backend for reading, beside whoever writes.
#include <fmt/format.h>

#include <mutex>

#include "backend/batch_check.h"
#include "backend/lmdb/lmdb_opening.h"
#include "backend/lmdb/lmdb_traits.h"
#include "base/guarded.h"
#include "base/try.h"

namespace varve::lmdb {
namespace {

class LmdbReader final : public Backend {
 public:
  LmdbReader(Vfs& vfs, std::string_view dir)
      : vfs_(vfs), dir_(dir), traits_(lmdb_backend_traits()) {}

  Status open(const LmdbBackendOptions& options) {
    VARVE_ASSIGN(opening_, Opening::open(vfs_, dir_, false, options));
    return refresh();
  }

  std::uint64_t sequence() const override {
    const auto view = current();
    return view != nullptr ? view->sequence() : 0;
  }
  Result<std::optional<Bytes>> get(ByteView key) const override {
    return on_current([&](const View& view) { return view.get(key); });
  }
  std::vector<Result<std::optional<Bytes>>> multi_get(
      const std::vector<Bytes>& keys) const override {
    const auto view = current();
    if (view != nullptr) return view->multi_get(keys);
    return all_failed(keys.size(), no_view());
  }
  Result<RangePage> range(const RangeQuery& query) const override {
    return on_current([&](const View& view) { return view.range(query); });
  }

  const BackendTraits& traits() const override { return traits_; }
  BackendStats stats() const override {
    auto stats = on_current([&](const View& view) {
      return view.with([&](const ReadTxn& txn) { return stats_at(vfs_, txn); });
    });
    if (!stats) return {};
    stats->durable_sequence = stats->sequence;
    return *stats;
  }
  WriteResult write(const WriteBatch&) override { return refusal(); }
  Status sync() override { return refusal(); }
  Result<std::unique_ptr<ReadView>> snapshot() const override;
  Status refresh() override;
  Result<std::vector<Error>> verify(VerifyScope scope) const override {
    return on_current([&](const View& view) {
      return view.with([&](const ReadTxn& txn) { return verify_all(txn, scope); });
    });
  }
  Status close() override {
    std::shared_ptr<View> last;  // gone after the lock
    const std::lock_guard lock(mutex_);
    last.swap(view_);
    opening_.reset();
    return {};
  }

 private:
  // Null if nothing is shown: see no_view().
  std::shared_ptr<View> current() const {
    const std::lock_guard lock(mutex_);
    return view_;
  }
  Error no_view() const {
    if (opening() == nullptr) return closed_error(traits_);
    Status moving = or_out_of_memory([&]() -> Status {
      return busy(fmt::format("{}: the file has outgrown its map; refresh() it", dir_));
    });
    return std::move(moving).error();
  }
  std::shared_ptr<Opening> opening() const {
    const std::lock_guard lock(mutex_);
    return opening_;
  }
  template <class Fn>
  auto on_current(Fn fn) const -> std::invoke_result_t<Fn, const View&> {
    return or_out_of_memory([&]() -> std::invoke_result_t<Fn, const View&> {
      const auto view = current();
      if (view == nullptr) return no_view();
      return fn(*view);
    });
  }
  Error refusal() const {
    Status refused = or_out_of_memory([&]() -> Status {
      if (opening() == nullptr) return closed_error(traits_);
      return invalid_argument(fmt::format("{}: opened to read only", dir_));
    });
    return std::move(refused).error();
  }
  bool let_go(const Opening& opening);
  Result<std::shared_ptr<View>> look(const std::shared_ptr<Opening>& opening) const {
    VARVE_ASSIGN(ReadTxn txn, opening->environment().begin_read(ReadKind::held));
    VARVE_ASSIGN(std::unique_ptr<View> view, View::make(traits_, opening, std::move(txn)));
    return view;
  }

  Vfs& vfs_;
  const std::string dir_;
  const BackendTraits traits_;
  mutable std::mutex mutex_;
  std::shared_ptr<Opening> opening_;
  std::shared_ptr<View> view_;
};

// A snapshot of what is shown, which shares its place in the list of readers.
class SharedView final : public ReadView {
 public:
  explicit SharedView(std::shared_ptr<View> view) : view_(std::move(view)) {}
  std::uint64_t sequence() const override { return view_->sequence(); }
  Result<std::optional<Bytes>> get(ByteView key) const override { return view_->get(key); }
  std::vector<Result<std::optional<Bytes>>> multi_get(
      const std::vector<Bytes>& keys) const override {
    return view_->multi_get(keys);
  }
  Result<RangePage> range(const RangeQuery& query) const override { return view_->range(query); }

 private:
  std::shared_ptr<View> view_;
};

Result<std::unique_ptr<ReadView>> LmdbReader::snapshot() const {
  return or_out_of_memory([&]() -> Result<std::unique_ptr<ReadView>> {
    auto view = current();
    if (view == nullptr) return no_view();
    return std::make_unique<SharedView>(std::move(view));
  });
}

// Whether nothing of the file is held any more.
bool LmdbReader::let_go(const Opening& opening) {
  std::shared_ptr<View> last;  // gone after the lock
  const std::lock_guard lock(mutex_);
  if (view_.use_count() != 1 || opening.environment().held_count() != 1) return false;
  last.swap(view_);
  return true;
}

// If another process has outgrown our map, and this process holds nothing but what is shown here,
// that is let go for a moment: the map cannot move before. Only if somebody takes a snapshot in
// that moment is nothing shown until the next refresh.
Status LmdbReader::refresh() {
  return or_out_of_memory([&]() -> Status {
    const auto opened = opening();
    if (opened == nullptr) return closed_error(traits_);
    auto moved = look(opened);
    if (!moved && moved.error().code() == ErrorCode::busy && let_go(*opened)) moved = look(opened);
    if (!moved) return moved.error();
    std::shared_ptr<View> before;  // gone after the lock
    const std::lock_guard lock(mutex_);
    if (opening_ == nullptr) return closed_error(traits_);
    before = std::exchange(view_, *std::move(moved));
    return {};
  });
}

}  // namespace
}  // namespace varve::lmdb

namespace varve {

Result<std::unique_ptr<Backend>> open_lmdb_backend_to_read(std::string_view dir,
                                                           const LmdbBackendOptions& options) {
  return or_out_of_memory([&]() -> Result<std::unique_ptr<Backend>> {
    auto backend = std::make_unique<lmdb::LmdbReader>(posix_vfs(), dir);
    VARVE_TRY(backend->open(options));
    return backend;
  });
}

}  // namespace varve
