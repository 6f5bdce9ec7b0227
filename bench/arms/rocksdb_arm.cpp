// RocksDB with a synced log for each batch, no compression (the values do not
// compress), a cache that holds all the data, as the mapping engines have, and
// reads that pin the cached block instead of copying it.
#include <fmt/format.h>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>
#include <rocksdb/write_batch.h>

#include "base/try.h"
#include "kv_arm.h"

namespace varve::bench {
namespace {

constexpr std::size_t kBlockCacheSize = std::size_t{128} << 20;

rocksdb::Slice slice(ByteView bytes) { return {as_text(bytes).data(), bytes.size()}; }

Status done(const rocksdb::Status& status) {
  if (status.ok()) return {};
  if (status.IsNotFound()) return not_found("rocksdb: no such key");
  return io_error(fmt::format("rocksdb: {}", status.ToString()));
}

class RocksDbArm final : public KvArm {
 public:
  Status open(const std::string& dir) override {
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = rocksdb::NewLRUCache(kBlockCacheSize);
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    rocksdb::Options options;
    options.create_if_missing = true;
    options.compression = rocksdb::kNoCompression;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    rocksdb::DB* db = nullptr;
    VARVE_TRY(done(rocksdb::DB::Open(options, dir, &db)));
    db_.reset(db);
    return {};
  }

  Status put_batch(std::span<const KvPair> pairs) override {
    rocksdb::WriteBatch batch;
    for (const KvPair& pair : pairs) {
      VARVE_TRY(done(batch.Put(slice(pair.key), slice(pair.value))));
    }
    rocksdb::WriteOptions options;
    options.sync = true;
    return done(db_->Write(options, &batch));
  }

  Status get(ByteView key, Consumer& consume) override {
    rocksdb::PinnableSlice value;
    VARVE_TRY(done(db_->Get({}, db_->DefaultColumnFamily(), slice(key), &value)));
    consume(as_byte_view({value.data(), value.size()}));
    return {};
  }

  Status close() override {
    VARVE_TRY(done(db_->Close()));
    db_.reset();
    return {};
  }

 private:
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace

KvArmKind rocksdb_arm_kind() {
  return {.name = "rocksdb",
          .version = rocksdb::GetRocksVersionAsString(),
          .settings =
              "WAL with sync=true, no compression, block cache 128 MiB, bloom filter "
              "10 bits, default write buffer (64 MiB)",
          .make = []() -> std::unique_ptr<KvArm> { return std::make_unique<RocksDbArm>(); }};
}

}  // namespace varve::bench
