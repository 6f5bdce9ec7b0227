#include "backend/lmdb/lmdb_reads.h"

#include <fmt/format.h>
#include <lmdb.h>

#include <algorithm>

#include "backend/batch_check.h"
#include "backend/lmdb/lmdb_error.h"
#include "backend/range_bounds.h"
#include "base/guarded.h"
#include "base/try.h"

namespace varve::lmdb {
namespace {

// LMDB refuses to look for longer ones. No key is as long, so what is cut off says nothing.
constexpr std::size_t kSoughtSizeMax = 511;
// Those of the backend.
constexpr std::size_t kKeySizeMax = 255;

MDB_val as_val(ByteView bytes) {
  return {.mv_size = bytes.size(), .mv_data = const_cast<std::byte*>(bytes.data())};
}
ByteView as_view(const MDB_val& val) {
  return {static_cast<const std::byte*>(val.mv_data), val.mv_size};
}

class Cursor {
 public:
  Cursor() = default;
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;
  ~Cursor() {
    if (cursor_ != nullptr) mdb_cursor_close(cursor_);
  }

  Status open(const ReadTxn& txn) {
    where_ = &txn.environment().path();
    return lmdb_status(mdb_cursor_open(txn.get(), txn.environment().data_table(), &cursor_),
                       *where_);
  }
  // Whether there is such an entry.
  Result<bool> seek(ByteView first) {
    if (first.empty()) return move(MDB_FIRST);
    key_ = as_val(first.first(std::min(first.size(), kSoughtSizeMax)));
    return move(MDB_SET_RANGE);
  }
  Result<bool> next() { return move(MDB_NEXT); }
  ByteView key() const { return as_view(key_); }
  ByteView stored() const { return as_view(stored_); }

 private:
  Result<bool> move(MDB_cursor_op how) {
    const int code = mdb_cursor_get(cursor_, &key_, &stored_, how);
    if (code == MDB_NOTFOUND) return false;
    VARVE_TRY(lmdb_status(code, *where_));
    return true;
  }

  MDB_cursor* cursor_ = nullptr;
  const std::string* where_ = nullptr;
  MDB_val key_ = {};
  MDB_val stored_ = {};
};

Result<std::optional<ByteView>> find(const ReadTxn& txn, unsigned table, ByteView key) {
  MDB_val wanted = as_val(key);
  MDB_val stored;
  const int code = mdb_get(txn.get(), table, &wanted, &stored);
  if (code == MDB_NOTFOUND) return std::nullopt;
  VARVE_TRY(lmdb_status(code, txn.environment().path()));
  return as_view(stored);
}

// LMDB believes its pages, and goes through those of a damaged file in whatever order they say. A
// range that followed it would come back to where it was, again and again.
class RisingKeys {
 public:
  explicit RisingKeys(const ReadTxn& txn) : where_(txn.environment().path()) {}

  // Success if there may be such a key, at or above `from` and above those before it. It must stay
  // as it is until the next one.
  Status check(ByteView key, ByteView from) {
    const bool is_good = !key.empty() && key.size() <= kKeySizeMax &&
                         as_text(key) >= as_text(from) && as_text(key) > as_text(last_);
    if (!is_good) {
      return corruption(
          fmt::format("{}: the key {} is not where it should be, so the tree of the file is "
                      "damaged; bring back a backup, or what can still be read",
                      where_, printable_key(key)));
    }
    last_ = key;
    return {};
  }

 private:
  const std::string& where_;
  ByteView last_ = {};
};

// Of one that may be damaged.
std::size_t value_size(ByteView stored) {
  return stored.size() - std::min(stored.size(), kSealSize);
}

// What is compared is what is handed out: the map may show something else the next time.
Result<Bytes> copy_unsealed(ByteView key, ByteView stored) {
  const Bytes sealed = Bytes::copy_of(stored);
  VARVE_TRY(unseal(key, sealed));
  return sealed.slice(kSealSize);
}

Bytes copy_raw(ByteView stored, std::uint64_t size_max) {
  const std::size_t size = value_size(stored);
  const ByteView value = stored.last(size);
  return Bytes::copy_of(
      value.first(static_cast<std::size_t>(std::min<std::uint64_t>(size, size_max))));
}

}  // namespace

Result<Head> read_head(const ReadTxn& txn) {
  const ByteView key = as_byte_view(kHeadKey);
  VARVE_ASSIGN(const auto stored, find(txn, txn.environment().meta_table(), key));
  if (!stored) return corruption(fmt::format("{}: its head is missing", txn.environment().path()));
  VARVE_ASSIGN(const ByteView head, unseal(key, *stored));
  return decode_head(head);
}

Result<std::uint64_t> read_entry_count(const ReadTxn& txn) {
  MDB_stat stat;
  const Environment& environment = txn.environment();
  VARVE_TRY(lmdb_status(mdb_stat(txn.get(), environment.data_table(), &stat), environment.path()));
  return stat.ms_entries;
}

Result<std::optional<Bytes>> read_value(const ReadTxn& txn, ByteView key) {
  VARVE_ASSIGN(const auto stored, find(txn, txn.environment().data_table(), key));
  if (!stored) return std::nullopt;
  VARVE_ASSIGN(Bytes value, copy_unsealed(key, *stored));
  return value;
}

Result<RangePage> read_range(const ReadTxn& txn, const RangeQuery& query) {
  VARVE_ASSIGN(const RangeBounds bounds, range_bounds(query));
  RangePageBuilder page(query);
  if (bounds.empty()) return std::move(page).take();
  Cursor cursor;
  VARVE_TRY(cursor.open(txn));
  RisingKeys rising(txn);
  VARVE_ASSIGN(bool is_there, cursor.seek(bounds.first));
  while (is_there) {
    // Also of the one a full page ends before: the next page looks for it anew.
    VARVE_TRY(rising.check(cursor.key(), bounds.first));
    if (bounds.is_past(cursor.key()) || !page.has_room()) break;
    Result<Bytes> value = Bytes();
    if (query.values && query.raw_size_max) {
      value = copy_raw(cursor.stored(), *query.raw_size_max);
    } else if (query.values) {
      value = copy_unsealed(cursor.key(), cursor.stored());
    }
    page.add(Bytes::copy_of(cursor.key()), value_size(cursor.stored()), std::move(value));
    VARVE_ASSIGN(is_there, cursor.next());
  }
  return std::move(page).take();
}

Result<std::vector<Error>> verify_all(const ReadTxn& txn, VerifyScope scope) {
  std::vector<Error> problems;
  Cursor cursor;
  VARVE_TRY(cursor.open(txn));
  std::uint64_t count = 0;
  std::uint64_t size = 0;
  RisingKeys rising(txn);
  VARVE_ASSIGN(bool is_there, cursor.seek({}));
  while (is_there) {
    if (Status good = rising.check(cursor.key(), {}); !good) {
      // What follows may be anything.
      problems.push_back(std::move(good).error());
      return problems;
    }
    if (scope == VerifyScope::everything) {
      auto value = unseal(cursor.key(), cursor.stored());
      if (!value) problems.push_back(std::move(value).error());
    }
    ++count;
    size += cursor.key().size() + value_size(cursor.stored());
    VARVE_ASSIGN(is_there, cursor.next());
  }
  VARVE_ASSIGN(const Head head, read_head(txn));
  VARVE_ASSIGN(const std::uint64_t entry_count, read_entry_count(txn));
  if (count != entry_count || size != head.live_size) {
    problems.push_back(corruption(
        fmt::format("{}: there are {} entries of {} bytes, and should be {} of {}",
                    txn.environment().path(), count, size, entry_count, head.live_size)));
  }
  return problems;
}

Result<std::optional<Bytes>> get_checked(const BackendTraits& traits, const ReadTxn& txn,
                                         ByteView key) {
  return or_out_of_memory([&]() -> Result<std::optional<Bytes>> {
    VARVE_TRY(check_key(traits, key));
    return read_value(txn, key);
  });
}

std::vector<Result<std::optional<Bytes>>> multi_get_checked(const BackendTraits& traits,
                                                            const ReadTxn& txn,
                                                            const std::vector<Bytes>& keys) {
  std::vector<Result<std::optional<Bytes>>> results;
  const Status enough = or_out_of_memory([&]() -> Status {
    results.reserve(keys.size());
    return {};
  });
  if (!enough) return {};
  for (const Bytes& key : keys) results.push_back(get_checked(traits, txn, key));
  return results;
}

Result<std::unique_ptr<View>> View::make(const BackendTraits& traits,
                                         std::shared_ptr<const void> owner, ReadTxn txn) {
  VARVE_ASSIGN(const Head head, read_head(txn));
  return std::unique_ptr<View>(new View(traits, std::move(owner), std::move(txn), head));
}

Result<std::optional<Bytes>> View::get(ByteView key) const {
  return with([&](const ReadTxn& txn) { return get_checked(traits_, txn, key); });
}

std::vector<Result<std::optional<Bytes>>> View::multi_get(const std::vector<Bytes>& keys) const {
  return with([&](const ReadTxn& txn) { return multi_get_checked(traits_, txn, keys); });
}

Result<RangePage> View::range(const RangeQuery& query) const {
  return with(
      [&](const ReadTxn& txn) { return or_out_of_memory([&] { return read_range(txn, query); }); });
}

}  // namespace varve::lmdb
