// The world the key/value workloads keep: chunk-like keys, values of 6 to 10 KB
// that nothing compresses, and what each of them holds at the moment.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/random.h"
#include "kv_arm.h"

namespace varve::bench {

class KvData {
 public:
  static constexpr std::size_t kValueSizeMin = 6 * 1024;
  static constexpr std::size_t kValueSizeMax = 10 * 1024;

  // Worlds of different spaces share no key.
  KvData(std::uint64_t seed, std::size_t count, std::uint32_t space = 0);

  std::size_t count() const noexcept { return records_.size(); }
  ByteView key(std::size_t index) const noexcept { return records_[index].key; }
  std::uint64_t hash(std::size_t index) const noexcept { return records_[index].hash; }
  // Bytes of all keys and values.
  std::uint64_t live_size() const noexcept;

  // Every record, in the order in which a world is first saved: not that of the keys.
  std::vector<KvPair> all() const;
  // Gives `count` different random records new contents, and returns those.
  std::vector<KvPair> overwrite(std::size_t count);

  // Reads record `index` from `arm`; corruption if it holds anything else.
  Status check(KvArm& arm, std::size_t index) const;

 private:
  struct Record {
    // Space, x and z, so ordered that chunks of a row lie side by side.
    std::array<std::byte, 12> key;
    ByteView value;
    std::uint64_t hash = 0;
  };

  void renew(Record& record);

  Random random_;
  std::vector<std::byte> pool_;  // values are parts of it, so that making one costs nothing
  std::vector<Record> records_;
  std::vector<std::size_t> order_;  // a permutation; overwrite() draws from its front
};

}  // namespace varve::bench
