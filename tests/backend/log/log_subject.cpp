#include "backend/log/log_subject.h"

#include <fmt/format.h>

#include <random>

#include "base/try.h"

namespace varve::test {
namespace {

class LogSession final : public crash::Session {
 public:
  LogSession(std::unique_ptr<Backend> backend, Durability durability)
      : backend_(std::move(backend)), durability_(durability) {}

  Status apply(const crash::Step& step) override {
    if (step.upkeep == "sync") return backend_->sync();
    WriteBatch batch;
    for (const auto& [key, value] : step.changes) {
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
  std::size_t unsynced_count() const override {
    const BackendStats stats = backend_->stats();
    return static_cast<std::size_t>(stats.sequence - stats.durable_sequence);
  }
  Result<crash::Records> read_all() override {
    crash::Records records;
    RangeQuery query;
    for (std::optional<Bytes> from = Bytes(); from;) {
      query.from = *from;
      VARVE_ASSIGN(RangePage page, backend_->range(query));
      for (const RangeEntry& entry : page.entries) {
        if (!entry.value) return entry.value.error();
        records.emplace(entry.key.text(), *entry.value);
      }
      from = page.next;
    }
    return records;
  }
  Status close() override { return backend_->close(); }

 private:
  std::unique_ptr<Backend> backend_;
  Durability durability_;
};

}  // namespace

Result<std::unique_ptr<crash::Session>> LogSubject::open(Vfs& vfs) {
  if (is_forgetful_) (void)vfs.remove("log/checkpoint");
  VARVE_ASSIGN(auto backend, log::open_log(vfs, "log", options_));
  for (const Error& problem : backend->open_report().problems) {
    if (!is_forgetful_) return problem;
  }
  return std::make_unique<LogSession>(std::move(backend), options_.user.durability);
}

crash::Workload log_workload(std::size_t step_count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  crash::Workload workload(step_count);
  for (std::size_t i = 0; i < step_count; ++i) {
    const std::size_t change_count = 1 + random() % 3;
    for (std::size_t j = 0; j < change_count; ++j) {
      const std::string key = fmt::format("chunk{}", random() % 6);
      if (random() % 5 == 0) {
        workload[i].changes[key] = std::nullopt;
        continue;
      }
      const std::size_t sizes[] = {0, 100, 3000, 6000, 11000};
      std::string value(sizes[random() % 5], '\0');
      for (char& c : value) c = static_cast<char>(random());
      workload[i].changes[key] = Bytes::copy_of(value);
    }
  }
  return workload;
}

}  // namespace varve::test
