// Varve stores on a backend a test can look into, count, damage and fail.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/varve/save_keys.h"
#include "store/varve/save_tables.h"
#include "store/varve/varve_store.h"
#include "varve/generator.h"

namespace varve::test {

// What is kept of a save while no store has it open.
struct SampleDisk {
  std::shared_ptr<Backend> kept = make_memory_backend();
  int write_count = 0;
  std::vector<const std::byte*> written_bodies = {};  // of the values of the last batch
  std::atomic<int> look_count = 0;                    // at keys and values
  // What the next write says, and whether it happens all the same.
  std::optional<WriteOutcome> next_outcome = {};
  bool next_happens = false;

  Bytes get(const SaveKey& key) const { return kept->get(key).value().value_or(Bytes()); }
  bool has(const SaveKey& key) const { return kept->get(key).value().has_value(); }
  void put(ByteView key, const Bytes& value) {
    WriteBatch batch;
    batch.put(key, value);
    ASSERT_TRUE(kept->write(batch));
  }
  // A good frame with this payload.
  void put_framed(const SaveKey& key, std::string_view payload) {
    put(key, plain_frame(key, as_byte_view(payload)));
  }
  void erase(const SaveKey& key) {
    WriteBatch batch;
    batch.erase(key);
    ASSERT_TRUE(kept->write(batch));
  }
  void flip(const SaveKey& key) {
    Buffer changed = get(key).clone();
    ASSERT_FALSE(changed.empty());
    changed.data()[changed.size() - 1] ^= std::byte{1};
    put(key, std::move(changed).freeze());
  }
  std::size_t count_of(KeyTag tag) const {
    return kept->range({.prefix = SaveKey(tag).copy(), .count_max = 1'000'000})
        .value()
        .entries.size();
  }
};

// The backend of a SampleDisk as a store holds it.
class SampleBackend final : public Backend {
 public:
  explicit SampleBackend(std::shared_ptr<SampleDisk> disk) : disk_(std::move(disk)) {}

  std::uint64_t sequence() const override { return disk_->kept->sequence(); }
  Result<std::optional<Bytes>> get(ByteView key) const override {
    ++disk_->look_count;
    return disk_->kept->get(key);
  }
  std::vector<Result<std::optional<Bytes>>> multi_get(
      const std::vector<Bytes>& keys) const override {
    return disk_->kept->multi_get(keys);
  }
  Result<RangePage> range(const RangeQuery& query) const override {
    ++disk_->look_count;
    return disk_->kept->range(query);
  }
  const BackendTraits& traits() const override { return disk_->kept->traits(); }
  BackendStats stats() const override { return disk_->kept->stats(); }
  WriteResult write(const WriteBatch& batch) override {
    ++disk_->write_count;
    disk_->written_bodies.clear();
    for (const WriteBatch::Change& change : batch.changes()) {
      if (change.value) disk_->written_bodies.push_back(change.value->body().data());
    }
    if (const auto outcome = std::exchange(disk_->next_outcome, std::nullopt)) {
      if (disk_->next_happens) {
        EXPECT_TRUE(disk_->kept->write(batch));
      }
      return {*outcome, io_error("the disk went away")};
    }
    return disk_->kept->write(batch);
  }
  Status sync() override { return disk_->kept->sync(); }
  Result<std::unique_ptr<ReadView>> snapshot() const override { return disk_->kept->snapshot(); }
  Result<std::vector<Error>> verify(VerifyScope scope) const override {
    return disk_->kept->verify(scope);
  }
  Status close() override { return {}; }

 private:
  const std::shared_ptr<SampleDisk> disk_;
};

inline Result<std::unique_ptr<VarveStore>> try_open(const std::shared_ptr<SampleDisk>& disk,
                                                    const VarveOptions& options = {},
                                                    ContentHash hash = xxh3_128) {
  return VarveStore::open({.path = "sample",
                           .format = "varve",
                           .backend = std::make_unique<SampleBackend>(disk),
                           .options = options,
                           .hash = hash});
}

inline std::unique_ptr<VarveStore> open_sample(const std::shared_ptr<SampleDisk>& disk,
                                               const VarveOptions& options = {},
                                               ContentHash hash = xxh3_128) {
  auto store = try_open(disk, options, hash);
  EXPECT_TRUE(store) << store.error().message();
  return store ? *std::move(store) : nullptr;
}

inline std::shared_ptr<SampleDisk> new_disk() {
  auto disk = std::make_shared<SampleDisk>();
  EXPECT_TRUE(VarveStore::create(*disk->kept, 0x1122));
  return disk;
}

// The commit at the store's tick.
inline Result<CommitStats> try_commit(Store& store, Commit commit) {
  commit.tick = std::max(commit.tick, store.tick());
  Progress progress;
  return store.commit(commit, progress);
}

inline CommitStats commit(Store& store, Commit changes) {
  const auto stats = try_commit(store, std::move(changes));
  EXPECT_TRUE(stats) << stats.error().message();
  return stats ? *stats : CommitStats();
}

inline VerifyReport verify(const Store& store) {
  Progress progress;
  auto report = store.verify(progress);
  EXPECT_TRUE(report) << report.error().message();
  return report ? *std::move(report) : VerifyReport();
}

inline std::string problems_of(const VerifyReport& report) {
  std::string text;
  for (const RecordProblem& problem : report.problems) {
    text += problem.key + ": " + problem.error.message() + "\n";
  }
  return text;
}

inline ChunkChange chunk(const ChunkPos& pos, std::string_view text) {
  return {pos, Bytes::copy_of(text)};
}
inline EntityChange entity(EntityId id, std::optional<ChunkPos> owner, std::string_view text) {
  return {id, EntityValue{std::move(owner), Bytes::copy_of(text)}};
}

// Makes of each position a page of text, another one in each version.
class SampleGenerator final : public Generator {
 public:
  explicit SampleGenerator(std::uint32_t version, std::string name = "hills")
      : id_{std::move(name), version} {}

  GeneratorId id() const override { return id_; }
  Result<Bytes> generate(const ChunkPos& pos) const override { return page(pos); }

  Bytes page(const ChunkPos& pos) const {
    std::string text;
    // Pages that do not compress: a delta is much smaller than any of them.
    std::uint64_t state = id_.version * 1'000'003 + static_cast<std::uint32_t>(pos[0]) * 7919u +
                          static_cast<std::uint32_t>(pos[1]);
    for (int i = 0; i < 2000; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      text += static_cast<char>(state >> 56);
    }
    return Bytes::copy_of(text);
  }
  // With a few bytes changed.
  Bytes edited(const ChunkPos& pos, char how) const {
    std::string text(page(pos).text());
    text[100] = text[700] = how;
    return Bytes::copy_of(text);
  }

 private:
  const GeneratorId id_;
};

}  // namespace varve::test
