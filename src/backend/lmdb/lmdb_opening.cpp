#include "backend/lmdb/lmdb_opening.h"

#include <fmt/format.h>
#include <lmdb.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <mutex>
#include <thread>

#include "backend/lmdb/lmdb_error.h"
#include "backend/lmdb/lmdb_file.h"
#include "backend/lmdb/lmdb_reads.h"
#include "backend/lmdb/lmdb_records.h"
#include "base/try.h"
#include "io/path.h"

namespace varve::lmdb {
namespace {

constexpr unsigned kTableCount = 2;
constexpr unsigned kFileMode = 0664;
constexpr std::uint64_t kMapSizeMin = std::uint64_t{1} << 20;
// A writer that is alive brings the file to its length right after a batch.
constexpr int kLengthAttemptCount = 50;
constexpr std::chrono::milliseconds kLengthPause{2};

struct CloseEnv {
  void operator()(MDB_env* env) const { mdb_env_close(env); }
};
using EnvPtr = std::unique_ptr<MDB_env, CloseEnv>;

struct EnvSettings {
  std::string path;
  unsigned flags = 0;
  std::uint64_t map_size = 0;
  std::uint32_t reader_count_max = 0;
};

// LMDB's code; `env` is only set if that is success.
int open_env(const EnvSettings& settings, EnvPtr& env) {
  MDB_env* made = nullptr;
  int code = mdb_env_create(&made);
  if (code != MDB_SUCCESS) return code;
  EnvPtr owned(made);
  code = mdb_env_set_maxdbs(made, kTableCount);
  if (code == MDB_SUCCESS) code = mdb_env_set_maxreaders(made, settings.reader_count_max);
  if (code == MDB_SUCCESS) code = mdb_env_set_mapsize(made, settings.map_size);
  // Transactions belong to no thread, so that a snapshot may go from one to another.
  const unsigned flags = settings.flags | MDB_NOTLS;
  if (code == MDB_SUCCESS) code = mdb_env_open(made, settings.path.c_str(), flags, kFileMode);
  if (code == MDB_SUCCESS) env = std::move(owned);
  return code;
}

// With as much of the address space as is to be had: limits of a process may leave little.
Result<EnvPtr> open_env_in_space(EnvSettings settings) {
  constexpr std::uint64_t kUnit = 65536;
  settings.map_size = std::max(settings.map_size, kMapSizeMin) / kUnit * kUnit;
  EnvPtr env;
  int code = open_env(settings, env);
  while (code == ENOMEM && settings.map_size > kMapSizeMin) {
    settings.map_size = std::max(settings.map_size / 4, kMapSizeMin) / kUnit * kUnit;
    code = open_env(settings, env);
  }
  VARVE_TRY(lmdb_status(code, settings.path));
  return env;
}

Error short_file_error(const Environment& environment, std::uint64_t size, std::uint64_t claimed,
                       std::string_view more) {
  return corruption(
      fmt::format("{}: the file has {} bytes and by its own account {}, so something was cut off{}",
                  environment.path(), size, claimed, more));
}

// LMDB reads behind the end of a file that was cut, which ends the process. But a file may be
// short with nothing lacking: pages that one batch took and gave back were never written. So a
// writer fills it up with zeros and looks at everything.
Status fill_up(Vfs& vfs, Environment& environment, std::uint64_t size, std::uint64_t claimed) {
  VARVE_ASSIGN(const auto file, vfs.open(environment.path(), OpenMode::write));
  VARVE_TRY(file->truncate(claimed));
  Status whole = environment.open_tables();
  if (whole) {
    VARVE_ASSIGN(const ReadTxn txn, environment.begin_read(ReadKind::brief));
    const auto problems = verify_all(txn, VerifyScope::everything);
    if (!problems) {
      whole = problems.error();
    } else if (!problems->empty()) {
      whole = problems->front();
    }
  }
  if (whole) return {};
  // As it was found, for whoever has means to mend it.
  (void)file->truncate(size);
  return short_file_error(environment, size, claimed, ": " + whole.error().message());
}

Status open_tables_safely(Vfs& vfs, Environment& environment) {
  for (int attempt = 1;; ++attempt) {
    // Asked for first: the file only grows.
    VARVE_ASSIGN(const std::uint64_t claimed, environment.claimed_size());
    VARVE_ASSIGN(const FileInfo info, vfs.info(environment.path()));
    if (info.size >= claimed) return environment.open_tables();
    if (environment.writes()) return fill_up(vfs, environment, info.size, claimed);
    if (attempt < kLengthAttemptCount) {
      std::this_thread::sleep_for(kLengthPause);
      continue;
    }
    return short_file_error(environment, info.size, claimed,
                            "; opening it to write shows whether anything is lacking");
  }
}

Result<std::unique_ptr<Environment>> open_environment(Vfs& vfs, const std::string& dir, bool writes,
                                                      const LmdbBackendOptions& options) {
  VARVE_ASSIGN(EnvPtr env, open_env_in_space({.path = dir,
                                              .flags = writes ? 0u : unsigned{MDB_RDONLY},
                                              .map_size = options.map_size,
                                              .reader_count_max = options.reader_count_max}));
  MDB_envinfo info;
  VARVE_TRY(lmdb_status(mdb_env_info(env.get(), &info), dir));
  auto environment =
      std::make_unique<Environment>(env.get(), path_join(dir, kDataFile), writes, info.me_mapsize);
  (void)env.release();
  VARVE_TRY(open_tables_safely(vfs, *environment));
  // Places of readers that were killed hold back pages.
  int dead_count = 0;
  VARVE_TRY(lmdb_status(mdb_reader_check(environment->handle(), &dead_count), dir));
  return environment;
}

struct Shared {
  FileId id;
  pid_t process = 0;  // what was open before a fork is of no use after it
  std::unique_ptr<Environment> environment;
  int use_count = 0;
};

struct Registry {
  std::mutex mutex;  // held while a file is opened or closed
  std::list<Shared> shared;
};

// Never destroyed: openings may be older than it.
Registry& registry() {
  static auto* const made = new Registry;
  return *made;
}

Status fill_new_env(MDB_env* env, const std::string& path) {
  MDB_txn* txn = nullptr;
  VARVE_TRY(lmdb_status(mdb_txn_begin(env, nullptr, 0, &txn), path));
  const Bytes head = encode_head({});
  std::byte sealed[kSealSize + kHeadSize];
  seal(as_byte_view(kHeadKey), head, sealed);
  MDB_val key{kHeadKey.size(), const_cast<char*>(kHeadKey.data())};
  MDB_val value{sizeof sealed, sealed};
  MDB_dbi data = 0;
  MDB_dbi meta = 0;
  int code = mdb_dbi_open(txn, std::string(kDataName).c_str(), MDB_CREATE, &data);
  if (code == MDB_SUCCESS) {
    code = mdb_dbi_open(txn, std::string(kMetaName).c_str(), MDB_CREATE, &meta);
  }
  if (code == MDB_SUCCESS) code = mdb_put(txn, meta, &key, &value, 0);
  if (code == MDB_SUCCESS) return lmdb_status(mdb_txn_commit(txn), path);
  mdb_txn_abort(txn);
  return lmdb_error(code, path);
}

}  // namespace

// LMDB writes the head pages of a new file without a sync, and refuses one whose head is torn.
// So it is made under another name, and has its own once it is whole.
Status create_file(Vfs& vfs, const std::string& dir) {
  const std::string path = path_join(dir, kNewFile);
  // Whatever is there: LMDB would make what a link leads to, also where nothing is yet.
  if (const Status removed = vfs.remove(path);
      !removed && removed.error().code() != ErrorCode::not_found) {
    return removed;
  }
  {
    EnvPtr env;
    // Nobody else knows of it, so it needs no lock.
    VARVE_TRY(lmdb_status(open_env({.path = path,
                                    .flags = MDB_NOSUBDIR | MDB_NOLOCK,
                                    .map_size = kMapSizeMin,
                                    .reader_count_max = 1},
                                   env),
                          path));
    VARVE_TRY(fill_new_env(env.get(), path));
  }
  VARVE_TRY(vfs.rename(path, path_join(dir, kDataFile)));
  return vfs.sync_dir(dir);
}

Result<std::shared_ptr<Opening>> Opening::open(Vfs& vfs, const std::string& dir, bool writes,
                                               const LmdbBackendOptions& options) {
  // First, as nothing may fail once it counts; and its destructor takes the lock as well.
  std::shared_ptr<Opening> opening(new Opening);
  const std::lock_guard lock(registry().mutex);
  VARVE_TRY(check_file(vfs, dir));
  VARVE_ASSIGN(const FileId id, file_id(path_join(dir, kDataFile)));
  std::list<Shared>& shared = registry().shared;
  auto found = std::find_if(shared.begin(), shared.end(), [&](const Shared& each) {
    return each.id == id && each.process == getpid();
  });
  if (found == shared.end()) {
    VARVE_ASSIGN(auto environment, open_environment(vfs, dir, writes, options));
    shared.push_front({id, getpid(), std::move(environment), 0});
    found = shared.begin();
  } else if (writes && !found->environment->writes()) {
    return busy(fmt::format(
        "{}: this process has it open to read; close that, or open it to write first", dir));
  }
  opening->environment_ = found->environment.get();
  ++found->use_count;
  return opening;
}

Opening::~Opening() {
  if (environment_ == nullptr) return;
  const std::lock_guard lock(registry().mutex);
  std::list<Shared>& shared = registry().shared;
  const auto found = std::find_if(shared.begin(), shared.end(), [&](const Shared& each) {
    return each.environment.get() == environment_;
  });
  if (found != shared.end() && --found->use_count == 0) shared.erase(found);
}

}  // namespace varve::lmdb
