#include "kv_arm.h"

namespace varve::bench {

std::vector<KvArmKind> kv_arm_kinds() {
  return {
      raw_arm_kind(),
      varve_file_arm_kind(),
#ifdef VARVE_BENCH_SQLITE
      sqlite_arm_kind(),
#endif
#ifdef VARVE_BENCH_LMDB
      lmdb_arm_kind(),
#endif
#ifdef VARVE_BENCH_LEVELDB
      leveldb_arm_kind(),
#endif
#ifdef VARVE_BENCH_ROCKSDB
      rocksdb_arm_kind(),
#endif
      file_per_chunk_arm_kind(),
  };
}

std::vector<std::string> absent_kv_arms() {
  return {
#ifndef VARVE_BENCH_SQLITE
      "sqlite",
#endif
#ifndef VARVE_BENCH_LMDB
      "lmdb",
#endif
#ifndef VARVE_BENCH_LEVELDB
      "leveldb",
#endif
#ifndef VARVE_BENCH_ROCKSDB
      "rocksdb",
#endif
  };
}

}  // namespace varve::bench
