#include "support/hooked_store.h"

#include "base/try.h"

namespace varve::test {

class HookedStore final : public Store {
 public:
  HookedStore(std::unique_ptr<Store> store, StoreControl& control)
      : inner_(std::move(store)), control_(control) {}

  std::uint64_t generation() const override { return inner_->generation(); }
  std::uint64_t tick() const override { return inner_->tick(); }
  std::optional<GeneratorId> generator() const override { return inner_->generator(); }

  Result<std::optional<Bytes>> read_chunk(const ChunkPos& pos) const override {
    ++control_.read_chunk_count;
    if (const auto hook = control_.get(control_.before_read_chunk_)) VARVE_TRY(hook(pos));
    return inner_->read_chunk(pos);
  }
  Result<std::optional<Entity>> read_entity(EntityId id) const override {
    return inner_->read_entity(id);
  }
  Result<std::vector<Entity>> read_entities_of(const ChunkPos& owner) const override {
    ++control_.read_entities_of_count;
    if (const auto hook = control_.get(control_.before_read_entities_of_)) VARVE_TRY(hook(owner));
    auto result = inner_->read_entities_of(owner);
    if (const auto hook = control_.get(control_.after_read_entities_of_)) hook(owner);
    return result;
  }
  Result<std::optional<Bytes>> read_player(std::string_view id) const override {
    return inner_->read_player(id);
  }
  Result<std::optional<Bytes>> read_global(std::string_view name) const override {
    return inner_->read_global(name);
  }

  Status list_chunks(const ChunkFilter& filter, const Visitor<ChunkInfo>& visit) const override {
    return inner_->list_chunks(filter, visit);
  }
  Status list_entities(const ChunkFilter& filter, const Visitor<EntityInfo>& visit) const override {
    return inner_->list_entities(filter, visit);
  }
  Status list_players(const Visitor<NamedInfo>& visit) const override {
    return inner_->list_players(visit);
  }
  Status list_globals(const Visitor<NamedInfo>& visit) const override {
    return inner_->list_globals(visit);
  }

  const Capabilities& capabilities() const override { return inner_->capabilities(); }
  const StoreDefaults& defaults() const override { return inner_->defaults(); }
  OpenReport open_report() const override { return inner_->open_report(); }

  Result<CommitStats> commit(const Commit& commit, Progress& progress) override {
    ++control_.commit_count;
    if (const auto hook = control_.get(control_.before_commit_)) VARVE_TRY(hook(commit));
    const Result<CommitStats> result = inner_->commit(commit, progress);
    if (const auto hook = control_.get(control_.after_commit_)) hook(result);
    return result;
  }
  Result<std::unique_ptr<StoreView>> pin() override { return inner_->pin(); }
  Status quarantine(const RecordKey& key) override {
    ++control_.quarantine_count;
    if (const auto hook = control_.get(control_.before_quarantine_)) VARVE_TRY(hook(key.pos));
    return inner_->quarantine(key);
  }
  Result<VerifyReport> verify(Progress& progress) const override {
    return inner_->verify(progress);
  }
  Result<CompactReport> compact(Progress& progress) override { return inner_->compact(progress); }
  Status close() override {
    ++control_.close_count;
    return inner_->close();
  }

 private:
  std::unique_ptr<Store> inner_;
  StoreControl& control_;
};

std::unique_ptr<Store> hook(std::unique_ptr<Store> store, StoreControl& control) {
  return std::make_unique<HookedStore>(std::move(store), control);
}

}  // namespace varve::test
