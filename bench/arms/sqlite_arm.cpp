// SQLite as its documentation advises for this use: write-ahead log, FULL sync (in
// WAL mode that is one sync of the log a commit; NORMAL would lose acknowledged
// commits), prepared statements, and memory-mapped reads over the whole file.
#include <fmt/format.h>
#include <sqlite3.h>

#include "base/try.h"
#include "io/path.h"
#include "kv_arm.h"

namespace varve::bench {
namespace {

constexpr const char* kSetUp =
    // With the default of 4 KiB a save of 5 takes either 1.4 or 3 times raw, about
    // equally often, most of it spent in one loop of the library; with 16 KiB 1.3 to
    // 1.5. The peer gets the setting that suits it.
    "PRAGMA page_size=16384;"
    "PRAGMA journal_mode=WAL;"
    "PRAGMA synchronous=FULL;"
    "PRAGMA mmap_size=1073741824;"
    "PRAGMA cache_size=-131072;"  // negative: KiB
    // WITHOUT ROWID would spare one tree, but with values this large it read 2.5
    // times slower.
    "CREATE TABLE IF NOT EXISTS chunks(key BLOB PRIMARY KEY, value BLOB NOT NULL)";

class SqliteArm final : public KvArm {
 public:
  ~SqliteArm() override { release(); }

  Status open(const std::string& dir) override {
    VARVE_TRY(done(sqlite3_open(path_join(dir, "world.sqlite").c_str(), &db_)));
    VARVE_TRY(run(kSetUp));
    VARVE_TRY(
        prepare("INSERT INTO chunks VALUES(?1, ?2) "
                "ON CONFLICT(key) DO UPDATE SET value=excluded.value",
                &put_));
    return prepare("SELECT value FROM chunks WHERE key=?1", &get_);
  }

  Status put_batch(std::span<const KvPair> pairs) override {
    VARVE_TRY(run("BEGIN IMMEDIATE"));
    for (const KvPair& pair : pairs) {
      VARVE_TRY(bind(put_, 1, pair.key));
      VARVE_TRY(bind(put_, 2, pair.value));
      if (sqlite3_step(put_) != SQLITE_DONE) return failure();
      VARVE_TRY(done(sqlite3_reset(put_)));
    }
    return run("COMMIT");
  }

  Status get(ByteView key, Consumer& consume) override {
    VARVE_TRY(bind(get_, 1, key));
    const int step = sqlite3_step(get_);
    if (step == SQLITE_DONE) return not_found("sqlite: no such key");
    if (step != SQLITE_ROW) return failure();
    const void* const value = sqlite3_column_blob(get_, 0);
    consume({static_cast<const std::byte*>(value),
             static_cast<std::size_t>(sqlite3_column_bytes(get_, 0))});
    return done(sqlite3_reset(get_));
  }

  Status close() override {
    if (release() != SQLITE_OK) return io_error("sqlite: the database could not be closed");
    return {};
  }

 private:
  Status failure() const { return io_error(fmt::format("sqlite: {}", sqlite3_errmsg(db_))); }
  Status done(int code) const { return code == SQLITE_OK ? Status{} : failure(); }
  Status run(const char* sql) { return done(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr)); }
  Status prepare(const char* sql, sqlite3_stmt** out) {
    return done(sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, out, nullptr));
  }
  Status bind(sqlite3_stmt* statement, int index, ByteView bytes) {
    return done(sqlite3_bind_blob64(statement, index, bytes.data(), bytes.size(), SQLITE_STATIC));
  }
  int release() {
    sqlite3_finalize(std::exchange(put_, nullptr));
    sqlite3_finalize(std::exchange(get_, nullptr));
    return sqlite3_close(std::exchange(db_, nullptr));
  }

  sqlite3* db_ = nullptr;
  sqlite3_stmt* put_ = nullptr;
  sqlite3_stmt* get_ = nullptr;
};

}  // namespace

KvArmKind sqlite_arm_kind() {
  return {.name = "sqlite",
          .version = sqlite3_libversion(),
          .settings =
              "WAL, synchronous=FULL, 16 KiB pages, mmap 1 GiB, cache 128 MiB, "
              "default checkpoints",
          .make = []() -> std::unique_ptr<KvArm> { return std::make_unique<SqliteArm>(); }};
}

}  // namespace varve::bench
