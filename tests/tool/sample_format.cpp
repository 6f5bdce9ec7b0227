#include "tool/sample_format.h"

#include "base/try.h"
#include "io/vfs.h"

namespace varve::test {
namespace {

// Does what the store behind it does, but for what Damage says.
class DamagedStore final : public Store {
 public:
  explicit DamagedStore(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  std::uint64_t generation() const override { return store_->generation(); }
  std::uint64_t tick() const override { return store_->tick(); }
  std::optional<GeneratorId> generator() const override { return store_->generator(); }
  Result<std::optional<Bytes>> read_chunk(const ChunkPos& pos) const override {
    VARVE_TRY(readable(to_string(pos)));
    return store_->read_chunk(pos);
  }
  Result<std::optional<Entity>> read_entity(EntityId id) const override {
    VARVE_TRY(readable(entity_key(id)));
    return store_->read_entity(id);
  }
  Result<std::vector<Entity>> read_entities_of(const ChunkPos& owner) const override {
    return store_->read_entities_of(owner);
  }
  Result<std::optional<Bytes>> read_player(std::string_view id) const override {
    VARVE_TRY(readable(player_key(id)));
    return store_->read_player(id);
  }
  Result<std::optional<Bytes>> read_global(std::string_view name) const override {
    VARVE_TRY(readable(global_key(name)));
    return store_->read_global(name);
  }
  Status list_chunks(const ChunkFilter& filter, const Visitor<ChunkInfo>& visit) const override {
    return store_->list_chunks(filter, visit);
  }
  Status list_entities(const ChunkFilter& filter, const Visitor<EntityInfo>& visit) const override {
    return store_->list_entities(filter, visit);
  }
  Status list_players(const Visitor<NamedInfo>& visit) const override {
    return store_->list_players(visit);
  }
  Status list_globals(const Visitor<NamedInfo>& visit) const override {
    return store_->list_globals(visit);
  }

  const Capabilities& capabilities() const override { return store_->capabilities(); }
  const StoreDefaults& defaults() const override { return store_->defaults(); }
  OpenReport open_report() const override { return Damage::of_process().opening; }
  Result<CommitStats> commit(const Commit& commit, Progress& progress) override {
    for (const auto& [key, error] : Damage::of_process().commits) {
      for (const ChunkChange& change : commit.chunks) {
        if (to_string(change.pos) == key) return error;
      }
      for (const NamedChange& change : commit.globals) {
        if (global_key(change.name) == key) return error;
      }
    }
    return store_->commit(commit, progress);
  }
  Result<std::unique_ptr<StoreView>> pin() override { return store_->pin(); }
  Status quarantine(const RecordKey& key) override { return store_->quarantine(key); }
  Result<VerifyReport> verify(Progress& progress) const override {
    VARVE_ASSIGN(VerifyReport report, store_->verify(progress));
    for (const auto& [key, error] : Damage::of_process().reads) {
      report.problems.push_back({.key = key, .error = error});
    }
    return report;
  }
  Result<CompactReport> compact(Progress& progress) override { return store_->compact(progress); }
  Status close() override { return store_->close(); }

 private:
  static Status readable(const std::string& key) {
    const auto& reads = Damage::of_process().reads;
    const auto it = reads.find(key);
    if (it != reads.end()) return it->second;
    return {};
  }

  std::unique_ptr<Store> store_;
};

Result<std::unique_ptr<Store>> damaged(Result<std::unique_ptr<Store>> store) {
  if (!store) return store.error();
  return std::make_unique<DamagedStore>(*std::move(store));
}

}  // namespace

Damage& Damage::of_process() {
  static Damage damage;
  return damage;
}

SampleFormat::SampleFormat(std::string_view name, Capabilities can)
    : name_(name), inner_(posix_vfs(), [&] {
        can.format = name;
        return std::move(can);
      }()) {}

Result<bool> SampleFormat::detect(std::string_view path) const {
  if (!path.ends_with("." + name_)) return false;
  return inner_.detect(path);
}
Result<std::unique_ptr<Store>> SampleFormat::open(std::string_view path) const {
  return damaged(inner_.open(path));
}
Result<std::unique_ptr<Store>> SampleFormat::create(std::string_view path) const {
  return damaged(inner_.create(path));
}
Status SampleFormat::rename(std::string_view from, std::string_view to) const {
  return inner_.rename(from, to);
}
Status SampleFormat::remove(std::string_view path) const { return inner_.remove(path); }

}  // namespace varve::test
