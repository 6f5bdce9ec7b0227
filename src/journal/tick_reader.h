// Ticks of a log, decoded, the last few of them kept: who asks for one record of a tick soon asks
// for another one.
//
// Thread safety: any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "journal/tick_log.h"
#include "varve/tick.h"

namespace varve::journal {

class TickReader {
 public:
  // Keeps ticks whose entries have about `kept_size` bytes together. `log` outlives it.
  TickReader(const TickLog& log, std::size_t kept_size) : log_(log), kept_size_max_(kept_size) {}

  // One without anything in it if the log has none of this number.
  Result<std::shared_ptr<const TickMutations>> get(std::uint64_t tick) const;
  // All of a range, which are not kept, until it returns false.
  using Visit = std::function<Result<bool>(std::uint64_t tick, const TickMutations& mutations)>;
  Status for_each(std::uint64_t from, std::uint64_t to, const Visit& visit) const;
  // The numbers alone: nothing is decoded.
  Status for_each_number(std::uint64_t from, std::uint64_t to,
                         const std::function<void(std::uint64_t tick)>& visit) const;

  std::uint64_t decoded_count() const noexcept { return decoded_count_; }

 private:
  struct Kept {
    std::uint64_t tick = 0;
    std::size_t size = 0;
    std::shared_ptr<const TickMutations> mutations;
  };

  Result<TickMutations> decode(std::uint64_t tick, const Bytes& payload) const;
  std::shared_ptr<const TickMutations> find(std::uint64_t tick) const;
  void keep(Kept kept) const;

  const TickLog& log_;
  const std::size_t kept_size_max_;
  mutable std::atomic<std::uint64_t> decoded_count_ = 0;
  mutable std::mutex mutex_;
  mutable std::list<Kept> kept_;  // the one that was asked for last comes first
  mutable std::unordered_map<std::uint64_t, std::list<Kept>::iterator> places_;
  mutable std::size_t kept_size_ = 0;
};

}  // namespace varve::journal
