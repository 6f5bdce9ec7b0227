// What can be read in one transaction. Values are copied: its pages are reused when it ends.
//
// All of these throw std::bad_alloc. A key has been checked by who asks.
#pragma once

#include <optional>
#include <vector>

#include "backend/lmdb/lmdb_environment.h"
#include "backend/lmdb/lmdb_records.h"
#include "varve/backend.h"

namespace varve::lmdb {

Result<Head> read_head(const ReadTxn& txn);
Result<std::uint64_t> read_entry_count(const ReadTxn& txn);
Result<std::optional<Bytes>> read_value(const ReadTxn& txn, ByteView key);
Result<RangePage> read_range(const ReadTxn& txn, const RangeQuery& query);
// What is wrong with whom, and with what is said of all of them together.
Result<std::vector<Error>> verify_all(const ReadTxn& txn, VerifyScope scope);

// A moment that is held.
class View final : public ReadView {
 public:
  // `owner` keeps the environment of `txn`, and `traits`.
  static Result<std::unique_ptr<View>> make(const BackendTraits& traits,
                                            std::shared_ptr<const void> owner, ReadTxn txn);

  std::uint64_t sequence() const override { return head_.sequence; }
  Result<std::optional<Bytes>> get(ByteView key) const override;
  std::vector<Result<std::optional<Bytes>>> multi_get(
      const std::vector<Bytes>& keys) const override;
  Result<RangePage> range(const RangeQuery& query) const override;

  const Head& head() const noexcept { return head_; }
  // Calls `fn` with the transaction, while nobody else uses it.
  template <class Fn>
  auto with(Fn fn) const {
    const std::lock_guard lock(mutex_);
    return fn(txn_);
  }

 private:
  View(const BackendTraits& traits, std::shared_ptr<const void> owner, ReadTxn txn, Head head)
      : traits_(traits), owner_(std::move(owner)), head_(head), txn_(std::move(txn)) {}

  const BackendTraits& traits_;
  const std::shared_ptr<const void> owner_;
  const Head head_;
  mutable std::mutex mutex_;
  const ReadTxn txn_;  // gone before its owner
};

// Both for a ReadView on `txn`: get() and multi_get() with their checks of keys.
Result<std::optional<Bytes>> get_checked(const BackendTraits& traits, const ReadTxn& txn,
                                         ByteView key);
std::vector<Result<std::optional<Bytes>>> multi_get_checked(const BackendTraits& traits,
                                                            const ReadTxn& txn,
                                                            const std::vector<Bytes>& keys);

}  // namespace varve::lmdb
