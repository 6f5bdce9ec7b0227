#include "store/varve/crash_subject.h"

#include <array>
#include <sstream>

#include "base/try.h"
#include "io/sim/sim_disk.h"

namespace varve::test {
namespace {

constexpr std::array<std::string_view, 3> kPaths = {"world", "other", "last"};
constexpr std::string_view kChunk = "chunk:1,-2";

class FolderSession final : public crash::Session {
 public:
  explicit FolderSession(sim::SimDisk& disk) : disk_(disk) {}

  Status apply(const crash::Step& step) override {
    const auto format = small_format(disk_);
    std::istringstream words(step.upkeep);
    std::string what;
    std::string path;
    std::string to;
    words >> what >> path >> to;
    if (what == "rename") return format->rename(path, to);
    if (what == "remove") return format->remove(path);
    VARVE_ASSIGN(const auto store,
                 what == "create" ? format->create(path) : open_checked(*format, path));
    if (what == "commit") {
      VARVE_ASSIGN(const RecordKey key, parse_record_key(kChunk));
      Progress progress;
      const Bytes payload = *step.changes.at(path + "/" + std::string(kChunk));
      VARVE_TRY(store->commit({.tick = store->tick(), .chunks = {{key.pos, payload}}}, progress));
    }
    return store->close();
  }

  // On a copy of the disk, so that looking changes nothing.
  Result<crash::Records> read_all() override {
    sim::SimDisk copy(disk_.image());
    copy.set_recording(false);
    const auto format = small_format(copy);
    crash::Records records;
    for (const std::string_view path : kPaths) {
      VARVE_ASSIGN(const bool is_there, format->detect(path));
      if (!is_there) continue;
      VARVE_ASSIGN(const auto store, open_checked(*format, path));
      VARVE_ASSIGN(const crash::Records found, crash::read_records(*store));
      const std::string prefix = std::string(path) + "/";
      records.emplace(prefix, Bytes());
      for (const auto& [key, value] : found) records.emplace(prefix + key, value);
      VARVE_TRY(store->close());
    }
    return records;
  }
  Status close() override { return {}; }

 private:
  sim::SimDisk& disk_;
};

}  // namespace

Result<std::unique_ptr<Store>> open_checked(const Format& format, std::string_view path) {
  VARVE_ASSIGN(auto store, format.open(path));
  const OpenReport report = store->open_report();
  if (!report.problems.empty()) return report.problems.front().error.with_context("open report");
  Progress progress;
  VARVE_ASSIGN(const VerifyReport found, store->verify(progress));
  if (!found.clean()) return found.problems.front().error.with_context("verify");
  return store;
}

namespace {

Result<std::unique_ptr<Store>> open_or_create(Vfs& vfs, const VarveOptions& options) {
  const auto format = small_format(vfs, options);
  auto store = open_checked(*format, "world");
  if (!store && store.error().code() == ErrorCode::not_found) return format->create("world");
  return store;
}

}  // namespace

Result<std::unique_ptr<Store>> open_or_create_save(Vfs& vfs) { return open_or_create(vfs, {}); }

Result<std::unique_ptr<Store>> open_or_create_sharing_save(Vfs& vfs) {
  return open_or_create(vfs, {.sharing_memory_size = 4096});
}

Result<std::unique_ptr<crash::Session>> FolderSubject::open(Vfs& vfs) {
  return std::make_unique<FolderSession>(dynamic_cast<sim::SimDisk&>(vfs));
}

crash::Step FolderSubject::one_more() const { return create_step("last"); }

crash::Step create_step(const std::string& path) {
  return {.changes = {{path + "/", Bytes()}}, .upkeep = "create " + path};
}

crash::Step commit_step(const std::string& path, std::string_view text) {
  return {.changes = {{path + "/" + std::string(kChunk), Bytes::copy_of(text)}},
          .upkeep = "commit " + path};
}

crash::Step rename_step(const std::string& from, const std::string& to, std::string_view text) {
  crash::Step step = remove_step(from);
  step.upkeep = "rename " + from + " " + to;
  step.changes[to + "/"] = Bytes();
  step.changes[to + "/" + std::string(kChunk)] = Bytes::copy_of(text);
  return step;
}

crash::Step remove_step(const std::string& path) {
  return {.changes = {{path + "/", std::nullopt}, {path + "/" + std::string(kChunk), std::nullopt}},
          .upkeep = "remove " + path};
}

}  // namespace varve::test
