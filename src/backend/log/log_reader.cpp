// The file backend for reading, beside a process that writes.
#include <fmt/format.h>

#include <mutex>

#include "backend/batch_check.h"
#include "backend/log/log_backend.h"
#include "backend/log/log_recovery.h"
#include "backend/log/log_state.h"
#include "backend/log/reader_pins.h"
#include "backend/log/segment_files.h"
#include "base/guarded.h"
#include "base/try.h"

namespace varve::log {
namespace {

// Between the list of files and opening them a checkpoint may take the place of another. With the
// pin taken nothing more goes, so that the second try finds everything.
constexpr int kLoadAttemptCount = 3;

// What keeps what is read from being reclaimed: a pin, or, where nothing may be written and so no
// pin left, that there is no writer.
struct Hold {
  std::unique_ptr<ReaderPin> pin;
  std::unique_ptr<NoWriterLock> no_writer;
};

// What was published at one moment, and what keeps it.
struct Loaded {
  // Values are copied: a mapping handed out could outlive the pin, which the writer does not know.
  explicit Loaded(const BackendTraits& traits) : state(traits, false) {}

  LogState state;
  Hold hold;
  BackendReport report;
};

class LogReader final : public Backend {
 public:
  LogReader(Vfs& vfs, std::string_view dir, LogOptions options)
      : options_(std::move(options)), files_(vfs, dir, 1) {}

  std::uint64_t sequence() const override {
    const auto loaded = current();
    return loaded != nullptr ? loaded->state.sequence() : 0;
  }
  Result<std::optional<Bytes>> get(ByteView key) const override {
    return on_current([&](Loaded& loaded) { return loaded.state.get(key, std::nullopt); });
  }
  Result<std::optional<Bytes>> get_raw(ByteView key, std::uint64_t size_max) const override {
    return on_current(
        [&](Loaded& loaded) { return loaded.state.get_raw(key, size_max, std::nullopt); });
  }
  std::vector<Result<std::optional<Bytes>>> multi_get(
      const std::vector<Bytes>& keys) const override {
    return multi_get_or_none([&] {
      const auto loaded = current();
      if (loaded != nullptr) return loaded->state.multi_get(keys, std::nullopt);
      return std::vector<Result<std::optional<Bytes>>>(keys.size(), closed_error(options_.traits));
    });
  }
  Result<RangePage> range(const RangeQuery& query) const override {
    return on_current([&](Loaded& loaded) { return loaded.state.range(query, std::nullopt); });
  }

  const BackendTraits& traits() const override { return options_.traits; }
  BackendReport open_report() const override {
    const auto loaded = current();
    return loaded != nullptr ? loaded->report : BackendReport{};
  }
  BackendStats stats() const override {
    const auto loaded = current();
    if (loaded == nullptr) return {};
    BackendStats stats = loaded->state.stats();
    stats.durable_sequence = stats.sequence;
    return stats;
  }
  WriteResult write(const WriteBatch&) override { return refusal(); }
  Status sync() override { return refusal(); }
  Result<std::unique_ptr<ReadView>> snapshot() const override {
    return or_out_of_memory([&]() -> Result<std::unique_ptr<ReadView>> {
      // Asked for once: what is current may be another one the next time.
      const auto loaded = current();
      if (loaded == nullptr) return closed_error(options_.traits);
      return std::make_unique<LogSnapshot>(loaded->state, loaded);
    });
  }
  Status refresh() override;
  Result<std::vector<Error>> verify(VerifyScope scope) const override {
    return on_current([&](Loaded& loaded) { return loaded.state.verify(scope); });
  }
  Status close() override {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    loaded_.reset();
    return {};
  }

 private:
  std::shared_ptr<Loaded> current() const {
    const std::lock_guard lock(mutex_);
    return loaded_;
  }
  template <class Fn>
  auto on_current(Fn fn) const -> std::invoke_result_t<Fn, Loaded&> {
    return or_out_of_memory([&]() -> std::invoke_result_t<Fn, Loaded&> {
      const auto loaded = current();
      if (loaded == nullptr) return closed_error(options_.traits);
      return fn(*loaded);
    });
  }
  Error refusal() const {
    return invalid_argument(fmt::format("{}: opened to read only", files_.dir()));
  }
  Status make_readers_file() const;
  Result<std::unique_ptr<ReaderPin>> take_pin() const;
  Result<Hold> take_hold() const;
  Result<std::shared_ptr<Loaded>> load() const;

  const LogOptions options_;
  const SegmentFiles files_;
  mutable std::mutex mutex_;
  std::shared_ptr<Loaded> loaded_;
  bool is_closed_ = false;
};

// Of a log that came without it. In any other folder nothing is made.
Status LogReader::make_readers_file() const {
  VARVE_ASSIGN(const std::vector<ListedSegment> segments, files_.list());
  if (segments.empty()) return not_found(fmt::format("{}: there is no log here", files_.dir()));
  return make_pin_file(files_.vfs(), files_.readers_path());
}

Result<std::unique_ptr<ReaderPin>> LogReader::take_pin() const {
  auto taken = ReaderPin::take(files_.vfs(), files_.readers_path());
  if (taken || taken.error().code() != ErrorCode::not_found) return taken;
  VARVE_TRY(make_readers_file());
  return ReaderPin::take(files_.vfs(), files_.readers_path());
}

Result<Hold> LogReader::take_hold() const {
  auto pin = take_pin();
  if (pin) return Hold{.pin = *std::move(pin), .no_writer = nullptr};
  // A disk that is read-only or fails, or somebody else's files.
  if (pin.error().code() != ErrorCode::io) return pin.error();
  auto no_writer = files_.vfs().lock_writers_out(files_.lock_path());
  if (no_writer) return Hold{.pin = nullptr, .no_writer = *std::move(no_writer)};
  // Where not even the lock's file is, as on a disc somebody burnt, nobody writes.
  if (no_writer.error().code() == ErrorCode::not_found) return Hold{};
  if (no_writer.error().code() == ErrorCode::unsupported) return pin.error();
  return Error(no_writer.error().code(),
               fmt::format("{}; what may not be written to is read while nobody writes it, but {}",
                           pin.error().message(), no_writer.error().message()));
}

Result<std::shared_ptr<Loaded>> LogReader::load() const {
  VARVE_ASSIGN(Hold hold, take_hold());
  for (int attempt = 1;; ++attempt) {
    auto loaded = std::make_shared<Loaded>(options_.traits);
    const auto recovered =
        recover_log(files_, loaded->state, {.writes = false, .beside_writer = true});
    const bool is_whole = recovered && *recovered && (*recovered)->report.problems.empty();
    if (!is_whole && attempt < kLoadAttemptCount) continue;
    if (!recovered) return recovered.error();
    if (!*recovered) return not_found(fmt::format("{}: there is no log here", files_.dir()));
    loaded->report = (*recovered)->report;
    if (hold.pin != nullptr) {
      VARVE_TRY(hold.pin->set(
          {.sequence = (*recovered)->sequence, .generation = (*recovered)->generation}));
    }
    loaded->hold = std::move(hold);
    return loaded;
  }
}

Status LogReader::refresh() {
  return or_out_of_memory([&]() -> Status {
    {
      const std::lock_guard lock(mutex_);
      if (is_closed_) return closed_error(options_.traits);
    }
    VARVE_ASSIGN(auto loaded, load());
    const std::lock_guard lock(mutex_);
    // The one before keeps its pin as long as somebody has a snapshot of it.
    const bool is_older =
        loaded_ != nullptr && loaded->state.sequence() < loaded_->state.sequence();
    if (!is_closed_ && !is_older) loaded_.swap(loaded);
    return {};
  });
}

}  // namespace

Result<std::unique_ptr<Backend>> open_log_to_read(Vfs& vfs, std::string_view dir,
                                                  LogOptions options) {
  return or_out_of_memory([&]() -> Result<std::unique_ptr<Backend>> {
    auto reader = std::make_unique<LogReader>(vfs, dir, std::move(options));
    VARVE_TRY(reader->refresh());
    return reader;
  });
}

}  // namespace varve::log
