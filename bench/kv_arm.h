// What the key/value workloads ask of an engine.
//
// An arm is used by one thread. Every arm gives the same promise: when put_batch()
// returns success, the batch survives power loss. One that cannot promise that is
// not a peer and has no place here.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "varve/bytes.h"
#include "varve/checksum.h"
#include "varve/result.h"

namespace varve::bench {

struct KvPair {
  ByteView key;
  ByteView value;
};

// Takes the bytes of a value while the engine still shows them, and looks at every
// one: a read that nobody consumes costs a mapping engine nothing.
class Consumer {
 public:
  void operator()(ByteView value) noexcept { hash_ = xxh3(value); }
  std::uint64_t hash() const noexcept { return hash_; }

 private:
  std::uint64_t hash_ = 0;
};

class KvArm {
 public:
  virtual ~KvArm() = default;

  // Opens what is in `dir`, an existing folder; an empty one becomes an empty store.
  virtual Status open(const std::string& dir) = 0;
  // Inserts or overwrites all pairs; durable when it returns.
  virtual Status put_batch(std::span<const KvPair> pairs) = 0;
  // The first filling, never timed, durable when it returns. Only for arms whose
  // put_batch() would take minutes for a whole world.
  virtual Status load_batch(std::span<const KvPair> pairs) { return put_batch(pairs); }
  // Shows the value of `key` to `consume`; not_found if there is none.
  virtual Status get(ByteView key, Consumer& consume) = 0;
  // After it, open() may be called again.
  virtual Status close() = 0;
};

// An engine that was compiled in.
struct KvArmKind {
  std::string name;
  std::string version;   // of the library; empty for what is made here
  std::string settings;  // durability and caches, for the head of the report
  std::unique_ptr<KvArm> (*make)() = nullptr;
};

KvArmKind raw_arm_kind();
KvArmKind varve_file_arm_kind();
KvArmKind file_per_chunk_arm_kind();
// Peers, each in its own file and there only if its library is.
KvArmKind sqlite_arm_kind();
KvArmKind lmdb_arm_kind();
KvArmKind rocksdb_arm_kind();
KvArmKind leveldb_arm_kind();

// Those compiled in, raw first.
std::vector<KvArmKind> kv_arm_kinds();
// The names of those that are not.
std::vector<std::string> absent_kv_arms();

}  // namespace varve::bench
