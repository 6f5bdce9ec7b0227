#include "journal/tick_log_subject.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <random>

#include "base/try.h"
#include "io/sim/sim_disk.h"
#include "journal/wal_upkeep.h"

namespace varve::test {
namespace {

using namespace journal;  // NOLINT(google-build-using-namespace)

constexpr std::string_view kKeyStart = "tick:";
constexpr std::string_view kHorizonStart = "horizon ";
constexpr std::uint64_t kLastTick = 900'000;

std::string key_of(std::uint64_t tick) { return fmt::format("tick:{:08}", tick); }

std::uint64_t number_in(std::string_view text, std::string_view start) {
  std::uint64_t number = 0;
  std::from_chars(text.data() + start.size(), text.data() + text.size(), number);
  return number;
}

// Made of the log's own parts, so that a sync can be cut in two.
class TickLogSession final : public crash::Session {
 public:
  TickLogSession(Vfs& vfs, const TickLogOptions& options)
      : options_(options),
        files_(vfs, "log"),
        segments_(files_),
        writer_(options_, files_, segments_),
        upkeep_(options_, files_, writer_) {}

  Status open() {
    VARVE_TRY(files_.make_folder());
    files_.remove_temporaries();
    VARVE_ASSIGN(const Recovered recovered, recover_wal(files_, true));
    if (!recovered.report.problems.empty()) {
      return recovered.report.problems.front().with_context("a problem is reported");
    }
    segments_.set(recovered.segments, recovered.durable_tick);
    if (recovered.segments.empty()) VARVE_TRY(files_.vfs().sync_dir("."));
    VARVE_TRY(writer_.start(recovered));
    if (segments_.durable_tick() != segments_.latest_tick()) {
      return corruption("what was opened is not durable");
    }
    for (const std::uint64_t id : recovered.leftover_ids) {
      (void)files_.vfs().remove(files_.segment_path(id));
    }
    return {};
  }

  Status apply(const crash::Step& step) override {
    for (const auto& [key, value] : step.changes) {
      if (!value) continue;
      const std::uint64_t tick = number_in(key, kKeyStart);
      // It may have got there when it was tried first.
      if (!segments_.latest_tick() || *segments_.latest_tick() < tick) {
        VARVE_TRY(writer_.append(tick, *value));
      }
      upkeep_.run_all();
      if (step.upkeep == "truncate") {
        // As a snapshot would have to be durable that covers what goes.
        VARVE_TRY(writer_.sync());
        VARVE_TRY(writer_.truncate_before(number_in(value->text(), kHorizonStart)));
      }
    }
    VARVE_TRY(do_upkeep(step.upkeep));
    ticks_.push_back(segments_.latest_tick().value_or(0));
    return {};
  }
  std::size_t unsynced_count() const override {
    const std::uint64_t durable = segments_.durable_tick().value_or(0);
    const auto is_unsynced = [&](std::uint64_t tick) { return tick > durable; };
    return static_cast<std::size_t>(ticks_.end() -
                                    std::find_if(ticks_.begin(), ticks_.end(), is_unsynced));
  }
  Result<crash::Records> read_all() override {
    crash::Records records;
    std::uint64_t horizon = 0;
    std::optional<std::uint64_t> last;
    const std::uint64_t from = segments_.first_tick().value_or(0);
    VARVE_TRY(segments_.read(from, ~std::uint64_t{0},
                             [&](std::uint64_t tick, const Bytes& payload) -> Result<bool> {
                               if (last && tick <= *last) return corruption("ticks do not rise");
                               last = tick;
                               records.emplace(key_of(tick), payload);
                               if (payload.text().starts_with(kHorizonStart)) {
                                 horizon = number_in(payload.text(), kHorizonStart);
                               }
                               return true;
                             }));
    if (last != segments_.latest_tick()) return corruption("the latest tick cannot be read");
    records.erase(records.begin(), records.lower_bound(key_of(horizon)));
    return records;
  }
  Status close() override { return writer_.close(); }

 private:
  Status do_upkeep(const std::string& name) {
    if (name == "sync") return writer_.sync();
    WalWriter::Lock lock(writer_.mutex());
    if (name == "begin sync" || name == "sync, finish later") {
      ticket_ = writer_.begin_sync(lock);
      if (ticket_ && name != "begin sync") synced_ = ticket_->file->sync_data();
    }
    if (name == "finish sync" && ticket_) {
      if (!synced_) synced_ = ticket_->file->sync_data();
      writer_.finish_sync(lock, *ticket_, *synced_);
      ticket_.reset();
      synced_.reset();
    }
    return {};
  }

  const TickLogOptions options_;
  WalFiles files_;
  SegmentList segments_;
  WalWriter writer_;
  WalUpkeep upkeep_;
  std::optional<WalWriter::SyncTicket> ticket_;
  std::optional<Status> synced_;
  std::vector<std::uint64_t> ticks_;  // the latest after each step
};

}  // namespace

TickLogOptions small_tick_log_options() {
  return {.durability = {.kind = Durability::Kind::every_commit},
          .compression = CompressionId::lz4,
          .segment_size = 5 << 10,
          .alignment = 512,
          .prepared_size = 2 << 10,
          .background = false};
}

Result<std::unique_ptr<crash::Session>> TickLogSubject::open(Vfs& vfs) {
  auto session = std::make_unique<TickLogSession>(vfs, options_);
  VARVE_TRY(session->open());
  return session;
}

crash::Step TickLogSubject::one_more() const { return tick_step(kLastTick, 700); }

Bytes noise(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return Bytes::copy_of(text);
}

crash::Step tick_step(std::uint64_t tick, std::size_t size) {
  return {.changes = {{key_of(tick), noise(size, tick)}}};
}

crash::Step truncate_step(std::uint64_t tick, std::uint64_t horizon) {
  crash::Step step{
      .changes = {{key_of(tick), Bytes::copy_of(fmt::format("{}{} ", kHorizonStart, horizon))}},
      .upkeep = "truncate"};
  for (std::uint64_t gone = 0; gone < horizon; ++gone) step.changes[key_of(gone)] = std::nullopt;
  return step;
}

crash::Step upkeep(std::string_view name) { return {.changes = {}, .upkeep = std::string(name)}; }

crash::Workload ticks(std::uint64_t first, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::size_t sizes[] = {0, 100, 496, 493, 1000, 2500, 1700, 1007};
  crash::Workload workload;
  for (std::uint64_t tick = first; workload.size() < count; tick += 1 + random() % 2) {
    workload.push_back(tick_step(tick, sizes[random() % std::size(sizes)]));
  }
  return workload;
}

crash::Start start_after(crash::Subject& subject, const crash::Workload& workload) {
  sim::SimDisk disk;
  crash::Start start;
  {
    const auto session = subject.open(disk).value();
    for (const crash::Step& step : workload) {
      EXPECT_TRUE(session->apply(step));
      start.records = crash::after(std::move(start.records), step);
    }
    EXPECT_TRUE(session->close());
  }
  start.image = disk.image();
  return start;
}

TickLogEvents count_tick_log_events(const sim::OpLog& log) {
  const auto is_segment = [](const sim::Place& place) { return place.name.ends_with(".wal"); };
  TickLogEvents events;
  for (const sim::DiskOp& op : log) {
    if (op.kind == sim::OpKind::rename) {
      events.segment_count += is_segment(op.place2) ? 1 : 0;
      events.recycled_count += is_segment(op.place) ? 1 : 0;
      events.mark_count += op.place2.name == "mark" ? 1 : 0;
    }
    if (op.kind == sim::OpKind::remove) events.removed_count += is_segment(op.place) ? 1 : 0;
    if (op.kind == sim::OpKind::set_size) events.growth_count += 1;
  }
  return events;
}

std::string TickLogEvents::summary() const {
  return fmt::format("{} segments ({} recycled, {} removed), {} marks, {} changes of size",
                     segment_count, recycled_count, removed_count, mark_count, growth_count);
}

}  // namespace varve::test
