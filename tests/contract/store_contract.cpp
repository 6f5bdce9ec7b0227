#include "contract/store_contract.h"

#include <algorithm>

namespace varve::test {

Contents contents_of(const StoreView& view) {
  auto records = crash::read_records(view);
  EXPECT_TRUE(records) << records.error().message();
  return {view.generation(), view.tick(), view.generator(),
          records ? *std::move(records) : crash::Records()};
}

void StoreContract::SetUp() {
  subject_ = GetParam().make();
  path_ = subject_->fresh_path();
  store_ = create(path_);
  ASSERT_NE(store_, nullptr);
  can_ = store_->capabilities();
}

std::unique_ptr<Store> StoreContract::open(std::string_view path) {
  auto opened = format().open(path);
  EXPECT_TRUE(opened) << opened.error().message();
  return opened ? *std::move(opened) : nullptr;
}

std::unique_ptr<Store> StoreContract::create(std::string_view path) {
  auto created = format().create(path);
  EXPECT_TRUE(created) << created.error().message();
  return created ? *std::move(created) : nullptr;
}

void StoreContract::close() {
  const Status closed = store_->close();
  EXPECT_TRUE(closed) << closed.error().message();
  store_.reset();
}

void StoreContract::reopen() {
  close();
  store_ = open(path_);
  ASSERT_NE(store_, nullptr);
}

ChunkPos StoreContract::at(int x, int y) const { return crash::position_in(can_, x, y); }

ChunkPos StoreContract::owner(int x) { return at(x); }

std::optional<ChunkPos> StoreContract::no_owner() {
  if (can_.entities_without_owner) return std::nullopt;
  return owner(0);
}

ChunkChange StoreContract::chunk(const ChunkPos& pos, std::string_view text) const {
  return {pos, payload(RecordKind::chunk, text)};
}

EntityChange StoreContract::entity(EntityId id, std::optional<ChunkPos> owner,
                                   std::string_view text) const {
  return {id, EntityValue{owner, payload(RecordKind::entity, text)}};
}

NamedChange StoreContract::player(std::string name, std::string_view text) const {
  return {std::move(name), payload(RecordKind::player, text)};
}

NamedChange StoreContract::global(std::string name, std::string_view text) const {
  return {std::move(name), payload(RecordKind::global, text)};
}

Result<CommitStats> StoreContract::commit_to(Store& store, Commit commit) {
  commit.tick = std::max(commit.tick, store.tick());
  Progress progress;
  auto result = store.commit(commit, progress);
  // It ends at 1 if and only if the commit is there.
  EXPECT_EQ(progress.fraction() == 1, result.ok());
  return result;
}

CommitStats StoreContract::must(Commit what) {
  const auto result = commit(std::move(what));
  EXPECT_TRUE(result) << result.error().message();
  return result ? *result : CommitStats();
}

bool StoreContract::applies(bool supported, const Commit& commit) {
  if (!supported) expect_refused(commit, ErrorCode::unsupported, {can_.format});
  return supported;
}

void StoreContract::expect_refused(const Commit& what, ErrorCode code,
                                   std::vector<std::string> words) {
  const Contents before = contents_of(store());
  Progress progress;
  const auto result = store().commit(what, progress);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), code) << result.error().message();
  for (const std::string& word : words) {
    EXPECT_NE(result.error().message().find(word), std::string::npos)
        << "'" << word << "' is not in: " << result.error().message();
  }
  EXPECT_LT(progress.fraction(), 1);
  EXPECT_EQ(contents_of(store()), before);
}

}  // namespace varve::test
