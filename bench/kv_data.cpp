#include "kv_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/endian.h"
#include "base/try.h"

namespace varve::bench {
namespace {

constexpr std::size_t kPoolSize = std::size_t{32} << 20;

}  // namespace

KvData::KvData(std::uint64_t seed, std::size_t count, std::uint32_t space)
    : random_(seed), pool_(kPoolSize), records_(count), order_(count) {
  for (std::size_t offset = 0; offset < pool_.size(); offset += 8) {
    store_le<std::uint64_t>(pool_.data() + offset, random_.next());
  }
  const auto side = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(count))));
  for (std::size_t i = 0; i < count; ++i) {
    Record& record = records_[i];
    // With the sign bit flipped, negative coordinates sort before positive ones.
    const auto coordinate = [&](std::size_t at) {
      return static_cast<std::uint32_t>(at - side / 2) ^ 0x8000'0000u;
    };
    store_be<std::uint32_t>(record.key.data(), space);
    store_be<std::uint32_t>(record.key.data() + 4, coordinate(i / side));
    store_be<std::uint32_t>(record.key.data() + 8, coordinate(i % side));
    renew(record);
  }
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  for (std::size_t i = count; i > 1; --i) std::swap(order_[i - 1], order_[random_.below(i)]);
}

void KvData::renew(Record& record) {
  const std::size_t size = kValueSizeMin + random_.below(kValueSizeMax - kValueSizeMin + 1);
  record.value = ByteView(pool_).subspan(random_.below(pool_.size() - size), size);
  record.hash = xxh3(record.value);
}

std::uint64_t KvData::live_size() const noexcept {
  return std::accumulate(records_.begin(), records_.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Record& record) {
                           return sum + record.key.size() + record.value.size();
                         });
}

std::vector<KvPair> KvData::all() const {
  std::vector<KvPair> pairs;
  for (const std::size_t index : order_) {
    pairs.push_back({records_[index].key, records_[index].value});
  }
  return pairs;
}

std::vector<KvPair> KvData::overwrite(std::size_t count) {
  std::vector<KvPair> pairs;
  for (std::size_t i = 0; i < std::min(count, records_.size()); ++i) {
    std::swap(order_[i], order_[i + random_.below(order_.size() - i)]);
    Record& record = records_[order_[i]];
    renew(record);
    pairs.push_back({record.key, record.value});
  }
  return pairs;
}

Status KvData::check(KvArm& arm, std::size_t index) const {
  Consumer consumer;
  VARVE_TRY(arm.get(records_[index].key, consumer));
  if (consumer.hash() != records_[index].hash) {
    return corruption(fmt::format("record {}: xxh3 {:016x} was saved, {:016x} was read", index,
                                  records_[index].hash, consumer.hash()));
  }
  return {};
}

}  // namespace varve::bench
