// A Backend keeps an ordered map from keys to values on some storage. It is what the
// varve store and the journal's snapshots stand on; a game that only wants a fast,
// crash-safe key/value file may use it by itself.
//
// Keys are 1 to 255 bytes and sort as unsigned bytes do. A value may be empty, which is not the
// same as missing.
//
// Thread safety: all calls but close() may be made from any thread at any time. Writes queue up
// behind each other; reads run beside them and see whole batches.
// Failure: a batch is there whole or not at all. A value that is damaged is the error
// `corruption` of whoever reads it, never wrong bytes and never the end of the rest.
// Nothing here throws, but for a WriteBatch that is filled without memory.
// Lifetimes: Bytes that were read stay as they are for as long as somebody likes, whatever is
// written meanwhile and after close(). Those of the file backend may keep a file of it from being
// given back, and are good until it is opened to write again: that one does not know of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "varve/bytes.h"
#include "varve/checksum.h"
#include "varve/result.h"

namespace varve {

// --- What a backend is ---------------------------------------------------------------

// How far a batch reaches that is there whole or not at all.
enum class AtomicScope : std::uint8_t {
  batch,   // any keys
  prefix,  // keys that agree in their first `atomic_prefix_size` bytes; others are refused together
};

struct BackendTraits {
  std::string name = {};  // "memory", "file", "lmdb", ...
  bool durable = true;    // survives the end of the process
  std::size_t key_size_max = 255;
  std::uint64_t value_size_max = 0;
  std::uint64_t batch_size_max = 0;  // keys and values of one batch together
  // Values are compared with checksums that are bound to their keys, so that whoever reads them
  // need not do it again.
  bool checks_values = false;
  AtomicScope atomic_scope = AtomicScope::batch;
  std::size_t atomic_prefix_size = 0;
};

// --- Writing -------------------------------------------------------------------------

// A value that is to be put. It may come in two pieces, one behind the other: so a few bytes are
// put before many without a copy of those. What is read is in one piece.
class BatchValue {
 public:
  BatchValue(Bytes whole)  // NOLINT(google-explicit-constructor)
      : body_(std::move(whole)) {}
  BatchValue(Bytes head, Bytes body) : head_(std::move(head)), body_(std::move(body)) {}
  BatchValue(const BatchValue&) = default;
  BatchValue& operator=(const BatchValue&) = default;
  // One that was moved from has no body, and so no hash of it.
  BatchValue(BatchValue&& other) noexcept
      : head_(std::move(other.head_)),
        body_(std::move(other.body_)),
        body_hash_(std::exchange(other.body_hash_, std::nullopt)) {}
  BatchValue& operator=(BatchValue&& other) noexcept {
    head_ = std::move(other.head_);
    body_ = std::move(other.body_);
    body_hash_ = std::exchange(other.body_hash_, std::nullopt);
    return *this;
  }
  // The file backend goes over the body once less where the head has 16 bytes: the hash is a part
  // of its own checksum then.
  BatchValue(Bytes head, const HashedBytes& body)
      : head_(std::move(head)), body_(body.bytes()), body_hash_(body.hash()) {}

  ByteView head() const noexcept { return head_; }  // empty where there is one piece
  ByteView body() const noexcept { return body_; }
  // Nullopt where nobody has made it yet.
  const std::optional<std::uint64_t>& body_hash() const noexcept { return body_hash_; }
  std::uint64_t size() const noexcept { return head_.size() + body_.size(); }
  // In one piece, for whoever keeps it. A copy, unless it is one already.
  Bytes joined() const;

 private:
  Bytes head_;
  Bytes body_;
  std::optional<std::uint64_t> body_hash_ = {};
};

// Puts and erasures that happen together. They are done in order, so that of two for one key the
// last one counts. Values are shared, not copied.
class WriteBatch {
 public:
  struct Change {
    Bytes key;
    std::optional<BatchValue> value;  // nullopt erases; erasing what is not there is no error
  };

  void put(ByteView key, BatchValue value) { add({Bytes::copy_of(key), std::move(value)}); }
  void erase(ByteView key) { add({Bytes::copy_of(key), std::nullopt}); }
  // Before all others, so that it is done first.
  void put_first(ByteView key, BatchValue value) {
    const std::uint64_t added_size = key.size() + value.size();
    changes_.insert(changes_.begin(), {Bytes::copy_of(key), std::move(value)});
    size_ += added_size;
  }
  void reserve(std::size_t count) { changes_.reserve(count); }
  // Without a copy of the key.
  void add(Change change) {
    size_ += change.key.size() + (change.value ? change.value->size() : 0);
    changes_.push_back(std::move(change));
  }
  void clear() noexcept {
    changes_.clear();
    size_ = 0;
  }

  const std::vector<Change>& changes() const noexcept { return changes_; }
  std::size_t count() const noexcept { return changes_.size(); }
  bool empty() const noexcept { return changes_.empty(); }
  // Bytes of all keys and values.
  std::uint64_t size() const noexcept { return size_; }

 private:
  std::vector<Change> changes_;
  std::uint64_t size_ = 0;
};

enum class WriteOutcome : std::uint8_t {
  done,  // it is there; durable as far as the backend was told to make it so
  // It is not there, and the backend goes on without it, unless it said `uncertain` before: then
  // every later batch fails. If a crash comes before the next batch that is done, it may be there
  // whole after all.
  failed,
  // Another writer has taken over: it is not there, and this backend writes no more. Only of
  // backends that several servers share.
  fenced,
  // It may be there or not, and this backend writes no more: open it again and look.
  uncertain,
};

// Only `done` is success. In every other case error() says why; after success there is none to ask
// for.
class [[nodiscard]] WriteResult {
 public:
  // Done, as the batch of this number. A batch that changes nothing has the number of the one
  // before.
  explicit WriteResult(std::uint64_t sequence) : sequence_(sequence) {}
  // `outcome` is not `done`.
  WriteResult(WriteOutcome outcome, Error error) : error_(std::move(error)), outcome_(outcome) {}
  // Failed.
  WriteResult(Error error)  // NOLINT(google-explicit-constructor)
      : WriteResult(WriteOutcome::failed, std::move(error)) {}

  bool ok() const noexcept { return outcome_ == WriteOutcome::done; }
  explicit operator bool() const noexcept { return ok(); }
  WriteOutcome outcome() const noexcept { return outcome_; }
  std::uint64_t sequence() const noexcept { return sequence_; }
  const Error& error() const& noexcept { return *error_; }
  Error error() && noexcept { return *std::move(error_); }

 private:
  std::optional<Error> error_;
  std::uint64_t sequence_ = 0;
  WriteOutcome outcome_ = WriteOutcome::done;
};

// --- Reading -------------------------------------------------------------------------

// Which keys a range shows: all that begin with `prefix`, are not below `from` and are below `to`.
struct RangeQuery {
  Bytes prefix = {};
  Bytes from = {};
  std::optional<Bytes> to = {};
  std::size_t count_max = 1024;
  // The page ends behind the entry with which its values reach this size.
  std::uint64_t size_max = 64u << 20;
  // False: sizes alone; no value is read.
  bool values = true;
  // If set, a value is its first so many bytes as they lie there, compared with no checksum: what
  // heads say, for listings, and what is left of values that are damaged.
  std::optional<std::uint64_t> raw_size_max = {};
};

struct RangeEntry {
  Bytes key;
  std::uint64_t value_size = 0;
  // Empty if the query wanted none. A damaged value is an error here, and the page goes on.
  Result<Bytes> value;
};

struct RangePage {
  std::vector<RangeEntry> entries;  // by key, rising
  // Set if there may be more: where to go on, as the next query's `from`.
  std::optional<Bytes> next = {};
};

// What was there after one batch.
class ReadView {
 public:
  virtual ~ReadView() = default;

  // Of the last batch it shows; 0 if there was none. It rises with every batch.
  virtual std::uint64_t sequence() const = 0;

  virtual Result<std::optional<Bytes>> get(ByteView key) const = 0;
  // Its first bytes as they lie there, at most so many, compared with no checksum.
  virtual Result<std::optional<Bytes>> get_raw(ByteView key, std::uint64_t size_max) const;
  // One result for each key, in their order, all of the same moment. None at all if there is no
  // memory for them.
  virtual std::vector<Result<std::optional<Bytes>>> multi_get(
      const std::vector<Bytes>& keys) const = 0;
  // One page is of one moment. Several are only on a snapshot.
  virtual Result<RangePage> range(const RangeQuery& query) const = 0;
};

// --- The whole -----------------------------------------------------------------------

struct BackendStats {
  std::uint64_t entry_count = 0;
  std::uint64_t live_size = 0;         // of all keys and values
  std::uint64_t stored_size = 0;       // what they occupy where they are kept
  std::uint64_t index_size = 0;        // memory that finds them
  std::uint64_t sequence = 0;          // of the last batch
  std::uint64_t durable_sequence = 0;  // of the last one no crash can take
};

// What opening found and did. Empty for what was closed and is whole.
struct BackendReport {
  bool dropped_tail = false;   // batches nobody was promised were cut off
  bool rebuilt_index = false;  // what finds the values was made anew from them
  std::vector<Error> problems = {};
  // Why entries may be missing that nobody erased: what was durable cannot be read, now or when it
  // was opened to write before.
  std::optional<Error> loss = {};
};

// What a verification looks at.
enum class VerifyScope : std::uint8_t {
  everything,
  // What stands around the values and no reading of them shows: for whoever reads those anyway.
  structure,
};

class Backend : public ReadView {
 public:
  // Lets go without a word and without a sync: what is not durable yet may be lost. Call close().
  ~Backend() override = default;

  virtual const BackendTraits& traits() const = 0;
  // Said once, by whoever opened it.
  virtual BackendReport open_report() const { return {}; }
  virtual BackendStats stats() const = 0;

  virtual WriteResult write(const WriteBatch& batch) = 0;
  // Everything written is durable when it returns success.
  virtual Status sync() = 0;

  // What is there now, held. It must be gone before close(); space is not reused while it is
  // held.
  virtual Result<std::unique_ptr<ReadView>> snapshot() const = 0;

  // A backend opened to read only shows what was there when it was opened, until this moves it to
  // what the writer has published since. No effect elsewhere.
  virtual Status refresh() { return {}; }

  // Reads every value and compares it with its checksum, and looks at what is kept beside them.
  // What is wrong with whom; an error if it could not go on.
  virtual Result<std::vector<Error>> verify(VerifyScope scope = VerifyScope::everything) const = 0;

  // Makes everything durable and lets go. All calls are refused afterwards. Nobody may be in one
  // meanwhile.
  virtual Status close() = 0;
};

// A backend that lives as long as it is open. Null if memory ran out.
std::unique_ptr<Backend> make_memory_backend();

// --- The file backend ----------------------------------------------------------------

// When a batch becomes durable. What a crash may take is always from the end: what is left is
// everything up to some batch.
struct Durability {
  enum class Kind : std::uint8_t {
    every_commit,  // before write() returns. A crash takes nothing
    every_n,       // with every `count`-th batch. A crash takes count - 1 at the most
    every_ms,      // within `interval_ms` of the first batch that is not. A crash takes those
    none,          // by sync() and close() alone, or when the system likes
  };
  Kind kind = Kind::every_commit;
  std::uint32_t count = 1;
  std::uint32_t interval_ms = 50;
};

struct FileBackendOptions {
  Durability durability = {};
  // Values that were read once and found good are shown in place, without a copy and without
  // being checked again. Turn it off where the files may be cut behind our back or the disk
  // cannot be trusted (network drives): a mapping then ends in SIGBUS.
  bool map_reads = true;
  // What reclaiming dead space may copy a second, on its own thread. 0: as fast as it can. A writer
  // that is faster than this helps all the same, so that the files stay within their bound.
  std::uint64_t reclaim_size_per_second = 0;
  // Space is reclaimed while the files are larger than so many hundredths of what lives in them,
  // and a MiB. Less costs more copies: 118 writes about 1.8 bytes for each that is saved.
  std::uint32_t size_percent_max = 118;
};

// Opens the log in the folder `dir`, which is made if it is not there. One process writes at a
// time: `busy`, naming the holder, if another one does. docs/formats/varve_log_v1.md has the bytes.
Result<std::unique_ptr<Backend>> open_file_backend(std::string_view dir,
                                                   const FileBackendOptions& options = {});

// The same log for reading, also while another process writes it. It shows what is known to be
// durable and writes nothing but its own pin, which goes with the process. Where it may not write,
// on a disk that is read-only, it keeps writers out instead: busy if there is one. What it shows is
// not reclaimed, so one that stays open should refresh(). There are 64 pins; a refresh takes a
// second one for a moment, and each older state a snapshot holds keeps one. Writes are refused.
Result<std::unique_ptr<Backend>> open_file_backend_to_read(std::string_view dir,
                                                           const FileBackendOptions& options = {});

// --- The LMDB backend ----------------------------------------------------------------

struct LmdbBackendOptions {
  // Every batch is written and synced in order whatever this says, since LMDB cannot leave out the
  // first of its two syncs without risking the whole file. `none` and `every_n` above 1 spare the
  // second: a crash then takes the last batch at the most. `every_ms` is as `every_commit`.
  Durability durability = {};
  // Address space for the file, not memory and not disk: less is taken where that much is not to
  // be had. A file that outgrows it gets more, once no snapshot of this process is held; until
  // then batches that do not fit are refused as `busy`.
  std::uint64_t map_size = std::uint64_t{1} << 40;
  // Snapshots and reads under way at one moment, of all processes together. The first one to open
  // the file decides.
  std::uint32_t reader_count_max = 1024;
};

// Whether this build has it. Without it both calls below are `unsupported`.
bool has_lmdb_backend();

// Opens the LMDB environment in the folder `dir`, which is made if it is not there. For worlds that
// other programs read with LMDB, and that are read much more than written; else the file
// backend is the better one. One process writes at a time: `busy`, naming the holder, if another
// one does, and if this one has the folder open to read already. Values are copied to who reads
// them, and the pages a snapshot shows are not reused while it is held. After a write outcome of
// `uncertain` reads may be refused as well. LMDB trusts the pages of its file: values that are
// damaged are found by their checksums, but a file whose inner pages somebody forged can end the
// process. docs/formats/varve_lmdb_v1.md has what is stored.
Result<std::unique_ptr<Backend>> open_lmdb_backend(std::string_view dir,
                                                   const LmdbBackendOptions& options = {});

// The same for reading, also while another process writes, or another part of this one. It writes
// nothing but its place in the list of readers, which needs a folder it may write to. The file
// grows while it stays at an old state, so one that stays open should refresh(). Writes are
// refused.
Result<std::unique_ptr<Backend>> open_lmdb_backend_to_read(std::string_view dir,
                                                           const LmdbBackendOptions& options = {});

}  // namespace varve
