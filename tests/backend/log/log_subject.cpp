#include "backend/log/log_subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "io/sim/sim_disk.h"

namespace varve::test {
namespace {

Result<crash::Records> records_of(const ReadView& view) {
  crash::Records records;
  RangeQuery query;
  for (std::optional<Bytes> from = Bytes(); from;) {
    query.from = *from;
    VARVE_ASSIGN(RangePage page, view.range(query));
    for (const RangeEntry& entry : page.entries) {
      if (!entry.value) return entry.value.error();
      records.emplace(entry.key.text(), *entry.value);
    }
    from = page.next;
  }
  return records;
}

// A view that is held, and what it showed when it was taken.
template <class View>
struct Held {
  std::unique_ptr<View> view;
  crash::Records records;

  Status take(std::unique_ptr<View> taken) {
    VARVE_ASSIGN(records, records_of(*taken));
    view = std::move(taken);
    return {};
  }
  Status check(std::string_view what) const {
    if (view == nullptr) return {};
    const auto shown = records_of(*view);
    if (!shown) return shown.error().with_context(what);
    const auto wrong = crash::difference(records, *shown);
    if (!wrong) return {};
    return corruption(fmt::format("{} does not show what it did: {}", what, *wrong));
  }
};

class LogSession final : public crash::Session {
 public:
  LogSession(Vfs& vfs, const log::LogOptions& options, bool stutters,
             std::unique_ptr<Backend> backend)
      : vfs_(vfs), options_(options), stutters_(stutters), backend_(std::move(backend)) {}

  Status apply(const crash::Step& step) override {
    VARVE_TRY(do_upkeep(step.upkeep));
    if (!step.changes.empty()) VARVE_TRY(write(step));
    sequences_.push_back(backend_->stats().sequence);
    return {};
  }
  // A step that changes nothing has the number of the batch before it, and goes with that one.
  std::size_t unsynced_count() const override {
    const std::uint64_t durable = backend_->stats().durable_sequence;
    const auto is_unsynced = [&](std::uint64_t sequence) { return sequence > durable; };
    const auto first = std::find_if(sequences_.begin(), sequences_.end(), is_unsynced);
    return static_cast<std::size_t>(sequences_.end() - first);
  }
  Result<crash::Records> read_all() override {
    VARVE_TRY(snapshot_.check("a snapshot"));
    VARVE_TRY(reader_.check("a reader"));
    VARVE_ASSIGN(crash::Records records, records_of(*backend_));
    VARVE_TRY(check_stats(records));
    VARVE_TRY(check_structure(*backend_));
    if (reader_.view != nullptr) VARVE_TRY(check_structure(*reader_.view));
    return records;
  }
  Status close() override {
    snapshot_.view.reset();
    return backend_->close();
  }

 private:
  Status do_upkeep(const std::string& name) {
    if (name == "sync") return backend_->sync();
    if (name == "hold snapshot") {
      VARVE_ASSIGN(auto view, backend_->snapshot());
      return snapshot_.take(std::move(view));
    }
    if (name == "hold reader") {
      VARVE_ASSIGN(auto view, log::open_log_to_read(vfs_, "log", options_));
      return reader_.take(std::move(view));
    }
    if (name == "release snapshot") snapshot_.view.reset();
    if (name == "release reader") reader_.view.reset();
    return {};
  }
  Status write(const crash::Step& step) {
    WriteBatch batch;
    for (const auto& [key, value] : step.changes) {
      if (stutters_) batch.put(as_byte_view(key), Bytes::copy_of("not " + key));
      if (value) {
        batch.put(as_byte_view(key), *value);
      } else {
        batch.erase(as_byte_view(key));
      }
    }
    const WriteResult written = backend_->write(batch);
    if (!written) return written.error();
    return {};
  }
  static Status check_structure(const Backend& backend) {
    VARVE_ASSIGN(const std::vector<Error> problems, backend.verify(VerifyScope::structure));
    if (problems.empty()) return {};
    return problems.front().with_context("a verification finds something");
  }
  Status check_stats(const crash::Records& records) const {
    const BackendStats stats = backend_->stats();
    std::uint64_t size = 0;
    for (const auto& [key, value] : records) size += key.size() + value.size();
    if (stats.entry_count == records.size() && stats.live_size == size) return {};
    return corruption(fmt::format("it counts {} entries of {} bytes, but shows {} of {}",
                                  stats.entry_count, stats.live_size, records.size(), size));
  }

  Vfs& vfs_;
  const log::LogOptions& options_;
  const bool stutters_;
  std::unique_ptr<Backend> backend_;
  Held<ReadView> snapshot_;
  Held<Backend> reader_;
  std::vector<std::uint64_t> sequences_;  // after each step
};

// What a reader shows who comes before anybody who writes; nullopt if it cannot read.
Result<std::optional<crash::Records>> read_first(Vfs& vfs, const log::LogOptions& options) {
  const auto reader = log::open_log_to_read(vfs, "log", options);
  // There is none yet, or the disk was made to fail.
  if (!reader &&
      (reader.error().code() == ErrorCode::not_found || reader.error().code() == ErrorCode::io ||
       reader.error().code() == ErrorCode::out_of_space)) {
    return std::nullopt;
  }
  if (!reader) return reader.error().with_context("a reader");
  const BackendReport report = (*reader)->open_report();
  if (!report.problems.empty()) {
    return report.problems.front().with_context("a problem is reported to a reader");
  }
  auto records = records_of(**reader);
  if (!records) return std::nullopt;
  return *std::move(records);
}

}  // namespace

Result<std::unique_ptr<crash::Session>> LogSubject::open(Vfs& vfs) {
  if (!has_holes_) static_cast<sim::SimDisk&>(vfs).set_holes(false);
  if (is_forgetful_) (void)vfs.remove("log/checkpoint");
  std::optional<crash::Records> seen;
  const bool is_first = std::exchange(boot_id_, vfs.boot_id()) != vfs.boot_id();
  if (is_first && reads_first_) {
    VARVE_ASSIGN(seen, read_first(vfs, options_));
  }
  VARVE_ASSIGN(auto backend, log::open_log(vfs, "log", options_));
  const BackendReport report = backend->open_report();
  if (!report.problems.empty())
    return report.problems.front().with_context("a problem is reported");
  if (seen) {
    VARVE_ASSIGN(const crash::Records found, records_of(*backend));
    const auto wrong = crash::difference(found, *seen);
    if (wrong) return corruption("a reader who came first does not show the same: " + *wrong);
  }
  return std::make_unique<LogSession>(vfs, options_, stutters_, std::move(backend));
}

}  // namespace varve::test
