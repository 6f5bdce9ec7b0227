// LevelDB with a synced log for each batch, no compression (the values do not
// compress), and a cache that holds all the data, as the mapping engines have.
#include <fmt/format.h>
#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>
#include <leveldb/write_batch.h>

#include "base/try.h"
#include "kv_arm.h"

namespace varve::bench {
namespace {

constexpr std::size_t kBlockCacheSize = std::size_t{128} << 20;

leveldb::Slice slice(ByteView bytes) { return {as_text(bytes).data(), bytes.size()}; }

Status done(const leveldb::Status& status) {
  if (status.ok()) return {};
  if (status.IsNotFound()) return not_found("leveldb: no such key");
  return io_error(fmt::format("leveldb: {}", status.ToString()));
}

class LevelDbArm final : public KvArm {
 public:
  Status open(const std::string& dir) override {
    cache_.reset(leveldb::NewLRUCache(kBlockCacheSize));
    filter_.reset(leveldb::NewBloomFilterPolicy(10));
    leveldb::Options options;
    options.create_if_missing = true;
    options.compression = leveldb::kNoCompression;
    options.block_cache = cache_.get();
    options.filter_policy = filter_.get();
    leveldb::DB* db = nullptr;
    VARVE_TRY(done(leveldb::DB::Open(options, dir, &db)));
    db_.reset(db);
    return {};
  }

  Status put_batch(std::span<const KvPair> pairs) override {
    leveldb::WriteBatch batch;
    for (const KvPair& pair : pairs) batch.Put(slice(pair.key), slice(pair.value));
    leveldb::WriteOptions options;
    options.sync = true;
    return done(db_->Write(options, &batch));
  }

  Status get(ByteView key, Consumer& consume) override {
    VARVE_TRY(done(db_->Get({}, slice(key), &value_)));
    consume(as_byte_view(value_));
    return {};
  }

  Status close() override {
    db_.reset();
    return {};
  }

 private:
  // The database uses both to its end, so they are declared before it.
  std::unique_ptr<leveldb::Cache> cache_;
  std::unique_ptr<const leveldb::FilterPolicy> filter_;
  std::unique_ptr<leveldb::DB> db_;
  std::string value_;  // kept, so that a read allocates nothing
};

}  // namespace

KvArmKind leveldb_arm_kind() {
  return {.name = "leveldb",
          .version = fmt::format("{}.{}", leveldb::kMajorVersion, leveldb::kMinorVersion),
          .settings =
              "sync=true, no compression, block cache 128 MiB, bloom filter 10 bits, "
              "default write buffer (4 MiB)",
          .make = []() -> std::unique_ptr<KvArm> { return std::make_unique<LevelDbArm>(); }};
}

}  // namespace varve::bench
