#include "journal/tick_log.h"

#include <fmt/format.h>

#include <atomic>
#include <bit>

#include "base/guarded.h"
#include "base/try.h"
#include "io/path.h"
#include "journal/wal_recovery.h"
#include "journal/wal_upkeep.h"
#include "journal/wal_writer.h"

namespace varve::journal {
namespace {

Status check_options(const TickLogOptions& options) {
  const std::uint32_t alignment = options.alignment;
  if (!std::has_single_bit(alignment) || alignment < kSectorSize || alignment > kAlignmentMax) {
    return invalid_argument(
        fmt::format("an alignment of {} bytes is not a power of two from {} to {}", alignment,
                    kSectorSize, kAlignmentMax));
  }
  if (options.segment_size < std::uint64_t{4} * alignment) {
    return invalid_argument(
        fmt::format("a segment of {} bytes is too small", options.segment_size));
  }
  return {};
}

// What reading and writing have in common.
class TickLogBase : public TickLog {
 public:
  TickLogBase(Vfs& vfs, std::string_view dir) : files_(vfs, dir), segments_(files_) {}

  const TickLogReport& report() const override { return report_; }
  std::optional<std::uint64_t> first_tick() const override { return segments_.first_tick(); }
  bool begins_cut() const override { return segments_.begins_cut(); }
  bool can_truncate_before(std::uint64_t tick) const override {
    return !segments_.before(tick).empty();
  }
  std::optional<std::uint64_t> latest_tick() const override { return segments_.latest_tick(); }
  std::optional<std::uint64_t> durable_tick() const override { return segments_.durable_tick(); }
  Sizes sizes() const override { return segments_.sizes(); }
  Status read(std::uint64_t from, std::uint64_t to, const Visit& visit) const override {
    return or_out_of_memory([&] { return segments_.read(from, to, visit); });
  }
  Status read_ticks(std::span<const std::uint64_t> ticks, const Visit& visit) const override {
    return or_out_of_memory([&] { return segments_.read_ticks(ticks, visit); });
  }

 protected:
  Result<Recovered> recover(bool writes) {
    VARVE_ASSIGN(Recovered recovered, recover_wal(files_, writes));
    report_ = recovered.report;
    report_.is_end_damaged = recovered.is_end_damaged;
    segments_.set(recovered.segments, recovered.durable_tick);
    return recovered;
  }

  WalFiles files_;
  SegmentList segments_;
  TickLogReport report_;
};

class WritingTickLog final : public TickLogBase {
 public:
  WritingTickLog(Vfs& vfs, std::string_view dir, const TickLogOptions& options)
      : TickLogBase(vfs, dir),
        options_(options),
        writer_(options_, files_, segments_),
        upkeep_(options_, files_, writer_) {}

  Status open() {
    VARVE_TRY(files_.make_folder());
    VARVE_ASSIGN(lock_, files_.vfs().lock_writer(files_.lock_path()));
    files_.remove_temporaries();
    VARVE_ASSIGN(const Recovered recovered, recover(true));
    // The folder's own name, in case whoever made it did not get that far.
    if (recovered.segments.empty()) {
      VARVE_TRY(files_.vfs().sync_dir(path_parent(files_.dir())));
    }
    VARVE_TRY(writer_.start(recovered));
    // If that fails they stay leftovers.
    for (const std::uint64_t id : recovered.leftover_ids) {
      (void)files_.vfs().remove(files_.segment_path(id));
    }
    if (options_.background) VARVE_TRY(upkeep_.start());
    return {};
  }

  Status append(std::uint64_t tick, ByteView payload) override {
    if (is_closed_) return closed();
    VARVE_TRY(writer_.append(tick, payload));
    if (!options_.background) upkeep_.run_all();
    return {};
  }
  Status sync() override {
    if (is_closed_) return closed();
    return or_out_of_memory([&] { return writer_.sync(); });
  }
  Status truncate_before(std::uint64_t tick) override {
    if (is_closed_) return closed();
    return or_out_of_memory([&] { return writer_.truncate_before(tick); });
  }
  Status close() override {
    if (is_closed_) return {};
    is_closed_ = true;
    upkeep_.stop();
    Status done = or_out_of_memory([&] { return writer_.close(); });
    lock_.reset();
    return done;
  }

 private:
  Status closed() const {
    return invalid_argument(fmt::format("{}: the log is closed", files_.dir()));
  }

  const TickLogOptions options_;
  std::unique_ptr<WriterLock> lock_;
  WalWriter writer_;
  WalUpkeep upkeep_;
  bool is_closed_ = false;
};

class ReadingTickLog final : public TickLogBase {
 public:
  using TickLogBase::TickLogBase;

  Status open() {
    VARVE_TRY(recover(false));
    return {};
  }
  Status append(std::uint64_t, ByteView) override { return refused(); }
  Status sync() override { return {}; }
  Status truncate_before(std::uint64_t) override { return refused(); }
  Status close() override { return {}; }

 private:
  Status refused() const {
    return invalid_argument(fmt::format("{}: the log was opened to read", files_.dir()));
  }
};

}  // namespace

Result<std::unique_ptr<TickLog>> TickLog::open(Vfs& vfs, std::string_view dir,
                                               const TickLogOptions& options) {
  VARVE_TRY(check_options(options));
  return or_out_of_memory([&]() -> Result<std::unique_ptr<TickLog>> {
    auto log = std::make_unique<WritingTickLog>(vfs, dir, options);
    VARVE_TRY(log->open());
    return log;
  });
}

Result<std::unique_ptr<TickLog>> TickLog::open_to_read(Vfs& vfs, std::string_view dir) {
  return or_out_of_memory([&]() -> Result<std::unique_ptr<TickLog>> {
    auto log = std::make_unique<ReadingTickLog>(vfs, dir);
    VARVE_TRY(log->open());
    return log;
  });
}

}  // namespace varve::journal
