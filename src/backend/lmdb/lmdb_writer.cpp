#include "backend/lmdb/lmdb_writer.h"

#include <fmt/format.h>
#include <lmdb.h>

#include <algorithm>

#include "backend/lmdb/lmdb_error.h"
#include "backend/lmdb/lmdb_reads.h"
#include "base/guarded.h"
#include "base/try.h"
#include "io/path.h"

namespace varve::lmdb {
namespace {

// What a batch may write beside its values, for telling whether the disk is full.
constexpr std::uint64_t kOverheadSize = std::uint64_t{4} << 20;
// Readers that were killed hold back pages until somebody looks.
constexpr std::uint64_t kReaderCheckInterval = 64;

MDB_val as_val(ByteView bytes) {
  return {.mv_size = bytes.size(), .mv_data = const_cast<std::byte*>(bytes.data())};
}

// One that ends with nothing done unless it is committed.
class WriteTxn {
 public:
  explicit WriteTxn(MDB_txn* txn) : txn_(txn) {}
  WriteTxn(const WriteTxn&) = delete;
  WriteTxn& operator=(const WriteTxn&) = delete;
  ~WriteTxn() {
    if (txn_ != nullptr) mdb_txn_abort(txn_);
  }
  MDB_txn* get() const { return txn_; }
  // Whatever comes of it, the transaction is over.
  int commit() { return mdb_txn_commit(std::exchange(txn_, nullptr)); }

 private:
  MDB_txn* txn_;
};

int put_sealed(MDB_txn* txn, MDB_dbi table, ByteView key, const BatchValue& value) {
  MDB_val at = as_val(key);
  MDB_val room{.mv_size = kSealSize + static_cast<std::size_t>(value.size()), .mv_data = nullptr};
  const int code = mdb_put(txn, table, &at, &room, MDB_RESERVE);
  if (code == MDB_SUCCESS) seal(key, value, {static_cast<std::byte*>(room.mv_data), room.mv_size});
  return code;
}

// Does one change.
int apply(MDB_txn* txn, MDB_dbi table, const WriteBatch::Change& change, bool& is_changed,
          std::uint64_t& live_size) {
  MDB_val key = as_val(change.key);
  MDB_val old;
  const int found = mdb_get(txn, table, &key, &old);
  if (found != MDB_SUCCESS && found != MDB_NOTFOUND) return found;
  if (found == MDB_SUCCESS) {
    live_size -= change.key.size() + old.mv_size - std::min(old.mv_size, kSealSize);
  }
  if (change.value) {
    is_changed = true;
    live_size += change.key.size() + change.value->size();
    return put_sealed(txn, table, change.key, *change.value);
  }
  if (found == MDB_NOTFOUND) return MDB_SUCCESS;
  is_changed = true;
  return mdb_del(txn, table, &key, nullptr);
}

}  // namespace

// What became of a batch. An error says that it is damage that stopped it.
struct Writer::Attempt {
  int code = MDB_SUCCESS;
  bool is_commit = false;  // that it was the commit that failed
  std::uint64_t sequence = 0;
  std::optional<Error> error = {};
};

// MDB_NOSYNC, and with it every form of durability that would leave out the sync between pages and
// head, lets a power cut keep a head whose pages are lost: the whole file. Only the sync of the
// head itself may be spared; then the one before it is good.
Writer::Writer(Vfs& vfs, Environment& environment, Durability durability)
    : vfs_(vfs),
      environment_(environment),
      syncs_head_(!(durability.kind == Durability::Kind::none ||
                    (durability.kind == Durability::Kind::every_n && durability.count > 1))) {}

Status Writer::start() {
  VARVE_ASSIGN(file_, vfs_.open(environment_.path(), OpenMode::write));
  const int set = mdb_env_set_flags(environment_.handle(), MDB_NOMETASYNC, syncs_head_ ? 0 : 1);
  VARVE_TRY(lmdb_status(set, environment_.path()));
  // A head whose write failed may be on the disk, while what LMDB put over it is not yet. It must
  // be gone before its pages are written to.
  VARVE_TRY(lmdb_status(mdb_env_sync(environment_.handle(), 1), environment_.path()));
  VARVE_ASSIGN(const ReadTxn txn, environment_.begin_read(ReadKind::brief));
  VARVE_ASSIGN(const Head head, read_head(txn));
  durable_sequence_ = sequence_ = head.sequence;
  return {};
}

Status Writer::check_latch() const {
  if (latched_code_ == MDB_SUCCESS) return {};
  const Error why = lmdb_error(latched_code_, environment_.path());
  return Error(why.code(),
               fmt::format("{}; nothing more is written here: open it again", why.message()));
}

WriteResult Writer::write(const WriteBatch& batch) {
  const std::lock_guard lock(mutex_);
  VARVE_TRY(check_latch());
  for (;;) {
    Attempt attempt = try_write(batch);
    if (attempt.error) return *std::move(attempt.error);
    if (attempt.code == MDB_MAP_FULL || attempt.code == MDB_MAP_RESIZED) {
      VARVE_TRY(make_room(attempt.code, batch));
      continue;
    }
    if (attempt.code != MDB_SUCCESS) {
      if (attempt.is_commit) return failed_commit(attempt.code, batch);
      return lmdb_error(attempt.code, environment_.path());
    }
    if (attempt.sequence == sequence_) return WriteResult(sequence_);
    // The sync of the pages has made the head before durable too.
    durable_sequence_ = syncs_head_ ? attempt.sequence : sequence_;
    sequence_ = attempt.sequence;
    keep_length();
    int dead_count = 0;
    if (sequence_ % kReaderCheckInterval == 0) {
      (void)mdb_reader_check(environment_.handle(), &dead_count);
    }
    return WriteResult(sequence_);
  }
}

Writer::Attempt Writer::try_write(const WriteBatch& batch) {
  if (Status map = environment_.check_map(); !map) return {.error = std::move(map).error()};
  MDB_txn* begun = nullptr;
  if (const int code = mdb_txn_begin(environment_.handle(), nullptr, 0, &begun)) {
    return {.code = code};
  }
  WriteTxn txn(begun);
  MDB_val key = as_val(as_byte_view(kHeadKey));
  MDB_val stored;
  if (const int code = mdb_get(txn.get(), environment_.meta_table(), &key, &stored)) {
    return {.code = code};
  }
  const auto payload = unseal(as_byte_view(kHeadKey),
                              {static_cast<const std::byte*>(stored.mv_data), stored.mv_size});
  if (!payload) return {.error = payload.error()};
  auto head = decode_head(*payload);
  if (!head) return {.error = std::move(head).error()};

  bool is_changed = false;
  for (const WriteBatch::Change& change : batch.changes()) {
    const int code =
        apply(txn.get(), environment_.data_table(), change, is_changed, head->live_size);
    if (code != MDB_SUCCESS) return {.code = code};
  }
  if (!is_changed) return {.sequence = head->sequence};
  ++head->sequence;
  const Bytes encoded = encode_head(*head);
  if (const int code =
          put_sealed(txn.get(), environment_.meta_table(), as_byte_view(kHeadKey), encoded)) {
    return {.code = code};
  }
  const int code = txn.commit();
  return {.code = code, .is_commit = true, .sequence = head->sequence};
}

Status Writer::make_room(int code, const WriteBatch& batch) {
  if (code == MDB_MAP_RESIZED) return environment_.follow_growth();
  return environment_.grow(batch.size() + kOverheadSize);
}

// The pages of a batch come first, then the head that makes them count. What failed before the head
// is not there, and its pages are written anew by whoever uses them next: going on is safe. But
// LMDB calls a short write and a failed sync by one name, and after the second the disk is not to
// be trusted. So we go on only if it was for lack of space.
WriteResult Writer::failed_commit(int code, const WriteBatch& batch) {
  if (!has_panicked()) {
    if (is_out_of_space(code)) return lmdb_error(code, environment_.path());
    if (code == EIO && is_disk_full(batch)) {
      return out_of_space(fmt::format("{}: the disk is full", environment_.path()));
    }
  }
  return {WriteOutcome::uncertain, latch(code)};
}

// First of all, and without memory: what is unsure must not be taken for failed.
Error Writer::latch(int code) {
  latched_code_ = code;
  Status why = or_out_of_memory([&]() -> Status { return lmdb_error(code, environment_.path()); });
  return std::move(why).error();
}

// LMDB does so when it failed to write the head.
bool Writer::has_panicked() const {
  MDB_txn* txn = nullptr;
  const int code = mdb_txn_begin(environment_.handle(), nullptr, 0, &txn);
  if (code == MDB_SUCCESS) mdb_txn_abort(txn);
  return code == MDB_PANIC;
}

bool Writer::is_disk_full(const WriteBatch& batch) const {
  const auto left = vfs_.free_space(path_parent(environment_.path()));
  return left && *left < batch.size() + kOverheadSize;
}

// So that whoever opens the file can tell one that was cut. What fails here is mended then.
void Writer::keep_length() {
  (void)or_out_of_memory([&]() -> Status {
    VARVE_ASSIGN(const std::uint64_t claimed, environment_.claimed_size());
    VARVE_ASSIGN(const std::uint64_t size, file_->size());
    if (size < claimed) return file_->truncate(claimed);
    return {};
  });
}

Status Writer::sync() {
  const std::lock_guard lock(mutex_);
  VARVE_TRY(check_latch());
  if (durable_sequence_ == sequence_) return {};
  if (const int code = mdb_env_sync(environment_.handle(), 1)) return latch(code);
  durable_sequence_ = sequence_;
  return {};
}

}  // namespace varve::lmdb
