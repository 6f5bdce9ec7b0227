// LMDB with its default sync, one per commit. WRITEMAP stays off: it multiplies
// the bytes written to the device, and a stray pointer
// of the game could write into the save.
#include <fmt/format.h>
#include <lmdb.h>

#include <utility>

#include "base/try.h"
#include "kv_arm.h"

namespace varve::bench {
namespace {

// Address space, not memory; the file grows as it is used.
constexpr std::size_t kMapSize = std::size_t{8} << 30;

MDB_val as_val(ByteView bytes) {
  return {.mv_size = bytes.size(), .mv_data = const_cast<std::byte*>(bytes.data())};
}

Status done(int code) {
  if (code == MDB_SUCCESS) return {};
  return io_error(fmt::format("lmdb: {}", mdb_strerror(code)));
}

class LmdbArm final : public KvArm {
 public:
  ~LmdbArm() override { release(); }

  Status open(const std::string& dir) override {
    VARVE_TRY(done(mdb_env_create(&env_)));
    VARVE_TRY(done(mdb_env_set_mapsize(env_, kMapSize)));
    VARVE_TRY(done(mdb_env_open(env_, dir.c_str(), 0, 0644)));
    MDB_txn* txn = nullptr;
    VARVE_TRY(done(mdb_txn_begin(env_, nullptr, 0, &txn)));
    VARVE_TRY(done(mdb_dbi_open(txn, nullptr, 0, &dbi_)));
    VARVE_TRY(done(mdb_txn_commit(txn)));
    VARVE_TRY(done(mdb_txn_begin(env_, nullptr, MDB_RDONLY, &reader_)));
    mdb_txn_reset(reader_);
    return {};
  }

  Status put_batch(std::span<const KvPair> pairs) override {
    MDB_txn* txn = nullptr;
    VARVE_TRY(done(mdb_txn_begin(env_, nullptr, 0, &txn)));
    for (const KvPair& pair : pairs) {
      MDB_val key = as_val(pair.key);
      MDB_val value = as_val(pair.value);
      if (const int code = mdb_put(txn, dbi_, &key, &value, 0); code != MDB_SUCCESS) {
        mdb_txn_abort(txn);
        return done(code);
      }
    }
    return done(mdb_txn_commit(txn));
  }

  Status get(ByteView key, Consumer& consume) override {
    // Renewed for each read, so that a reader sees the last commit and holds back
    // no pages; it costs a few tens of nanoseconds.
    VARVE_TRY(done(mdb_txn_renew(reader_)));
    MDB_val wanted = as_val(key);
    MDB_val value;
    const int code = mdb_get(reader_, dbi_, &wanted, &value);
    if (code == MDB_SUCCESS) consume({static_cast<const std::byte*>(value.mv_data), value.mv_size});
    mdb_txn_reset(reader_);
    if (code == MDB_NOTFOUND) return not_found("lmdb: no such key");
    return done(code);
  }

  Status close() override {
    release();
    return {};
  }

 private:
  void release() {
    if (reader_ != nullptr) mdb_txn_abort(std::exchange(reader_, nullptr));
    if (env_ != nullptr) mdb_env_close(std::exchange(env_, nullptr));
  }

  MDB_env* env_ = nullptr;
  MDB_dbi dbi_ = 0;
  MDB_txn* reader_ = nullptr;
};

}  // namespace

KvArmKind lmdb_arm_kind() {
  return {
      .name = "lmdb",
      .version = fmt::format("{}.{}.{}", MDB_VERSION_MAJOR, MDB_VERSION_MINOR, MDB_VERSION_PATCH),
      .settings =
          "default sync (each commit), no WRITEMAP, reads from the map in a read "
          "transaction",
      .make = []() -> std::unique_ptr<KvArm> { return std::make_unique<LmdbArm>(); }};
}

}  // namespace varve::bench
