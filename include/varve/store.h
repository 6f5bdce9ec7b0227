// A Store keeps one world on durable storage, in one format.
//
// A save is a sequence of generations. Each commit makes the next one: all of its
// records together, at one tick, or none of them. Games talk to a World, which sits
// on a Store; tools and tests talk to a Store directly.
//
// Thread safety: reads may run on any thread, concurrently with each other and with one
// commit, and see the last committed generation. Calls that change the save (commit,
// quarantine, compact, close) are made by one thread at a time.
// Durability: a commit that returned success survives power loss, where the format is
// `durable`; one that failed leaves the generation before it readable.
// Nothing here throws.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "varve/bytes.h"
#include "varve/key.h"
#include "varve/result.h"

namespace varve {

class Generator;

// --- What a save holds ---------------------------------------------------------------

struct Entity {
  EntityId id = 0;
  // The chunk it stands in. Without one it belongs to the world as a whole.
  std::optional<ChunkPos> owner = {};
  // In the schema the store publishes; see Capabilities::entity_schema.
  Bytes data = {};

  friend bool operator==(const Entity&, const Entity&) = default;
};

// Which generator filled the chunks that were never saved.
struct GeneratorId {
  std::string name = {};
  std::uint32_t version = 0;

  friend bool operator==(const GeneratorId&, const GeneratorId&) = default;
};

// --- What a format can do ------------------------------------------------------------

// Which values a coordinate takes; both ends are included.
struct CoordinateRange {
  std::int32_t min = std::numeric_limits<std::int32_t>::min();
  std::int32_t max = std::numeric_limits<std::int32_t>::max();

  friend bool operator==(const CoordinateRange&, const CoordinateRange&) = default;
};

// A put of something a format cannot carry is refused as `unsupported`, never dropped.
struct Capabilities {
  std::string format = {};                // the name it is registered under
  bool durable = true;                    // survives the end of the process
  std::uint8_t coordinate_count_min = 1;  // positions it takes
  std::uint8_t coordinate_count_max = 4;
  std::array<CoordinateRange, kCoordinateCountMax> coordinate_ranges = {};
  bool spaces = true;  // spaces other than the default one
  bool entities = true;
  bool entities_without_owner = true;   // Entity::owner may be empty
  std::string entity_schema = "bytes";  // what Entity::data is: "bytes", "nbt", ...
  bool players = true;
  bool globals = true;
  bool generator = true;                      // remembers the GeneratorId
  bool pins = true;                           // pin() works
  bool backups = true;                        // Commit::backup_count works
  std::uint64_t payload_size_max = 1u << 30;  // of one record
};

// Success if a store that can do this takes a record of that name and size; of an entity also
// with that owner. Otherwise why not, in the words in which a commit would refuse it. What
// the bytes must be like, only the store can say.
Status check_record(const Capabilities& can, const RecordKey& key,
                    const std::optional<ChunkPos>& owner, std::uint64_t size);

// What a format recommends; the game's own options come first.
struct StoreDefaults {
  double autosave_interval_s = 300;
  std::uint32_t max_backups = 1;
};

// --- Committing ----------------------------------------------------------------------

struct ChunkChange {
  ChunkPos pos = {};
  std::optional<Bytes> payload = {};  // nullopt erases
};
struct EntityValue {
  std::optional<ChunkPos> owner = {};
  Bytes data = {};

  friend bool operator==(const EntityValue&, const EntityValue&) = default;
};
struct EntityChange {
  EntityId id = 0;
  std::optional<EntityValue> value = {};  // nullopt erases
};
struct NamedChange {
  std::string name = {};
  std::optional<Bytes> data = {};  // nullopt erases
};

// Everything that becomes durable together. A key appears at most once. Erasing what
// is not there is no error.
struct Commit {
  // The tick the world is at with this commit. Never below the store's.
  std::uint64_t tick = 0;
  std::vector<ChunkChange> chunks = {};
  std::vector<EntityChange> entities = {};
  std::vector<NamedChange> players = {};
  std::vector<NamedChange> globals = {};
  // Replaces what the save remembers of its generator.
  std::optional<GeneratorId> generator = {};
  // If set, the generation before this one becomes the newest backup, and so many are
  // kept; 0 removes them all. If not, or if this commit makes no generation, backups
  // stay as they are. A backup that cannot be kept fails the commit, or, in a format whose commits
  // do not need it, is CommitStats::backup_error.
  std::optional<std::uint32_t> backup_count = {};
};

struct KindStats {
  std::uint64_t put_count = 0;        // written because they are new or differ
  std::uint64_t unchanged_count = 0;  // not written: the save holds the same already
  std::uint64_t erased_count = 0;     // removed; those that were not there do not count
  std::uint64_t put_size = 0;         // payload bytes of those put, as handed in
};

struct CommitStats {
  std::uint64_t generation = 0;  // of the save after it
  KindStats chunks = {};
  KindStats entities = {};
  KindStats players = {};
  KindStats globals = {};
  // What really went to storage, after compression and with the format's own
  // bookkeeping. 0 if nothing was written.
  std::uint64_t written_size = 0;
  // Why the backup that was to be kept was not. The commit was made all the same.
  std::optional<Error> backup_error = {};
};

// How far a long call has come, from 0 to 1, and whether to give up. Any thread may
// read and cancel; one reports.
class Progress {
 public:
  void report(double fraction) noexcept {
    fraction_.store(static_cast<float>(fraction), std::memory_order_relaxed);
  }
  float fraction() const noexcept { return fraction_.load(std::memory_order_relaxed); }

  // Asks the call to stop with `cancelled` where it still can without harm.
  void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }
  bool is_cancelled() const noexcept { return cancelled_.load(std::memory_order_relaxed); }

 private:
  std::atomic<float> fraction_ = 0;
  std::atomic<bool> cancelled_ = false;
};

// --- Reading -------------------------------------------------------------------------

struct ChunkInfo {
  ChunkPos pos = {};
  std::uint64_t payload_size = 0;
};
struct EntityInfo {
  EntityId id = 0;
  std::optional<ChunkPos> owner = {};
  std::uint64_t data_size = 0;
};
struct NamedInfo {
  std::string name = {};
  std::uint64_t data_size = 0;
};

// Which chunks, or the entities of which chunks, a listing shows. Empty: all.
struct ChunkFilter {
  std::optional<Space> space = {};
  std::optional<ChunkBox> box = {};

  bool admits(const ChunkPos& pos) const noexcept {
    return (!space || *space == pos.space) && (!box || box->contains(pos));
  }
};

// A listing calls its visitor once per record, sorted by key, all of one generation, and
// stops early, with success, if the visitor returns false. The visitor may read; it must not
// commit.
//
// It shows what reading by key finds, and what reading by key finds damaged. A record whose own key
// or name is lost to damage, or data of an entity that is elsewhere by the save's account, cannot
// be shown: everything else is visited, and then the listing ends with `corruption`, which says how
// many such records there are and names the first; verify() names each. With a filter they are
// passed over, since nobody knows where they belong: only a listing of everything tells of them. So
// an entity whose data is lost is shown by that one alone.
template <class Info>
using Visitor = std::function<bool(const Info&)>;

// Reads of one generation: of the newest one (Store) or of one that is held (pin()).
//
// "Never saved" is nullopt. `corruption` is a record that is there but cannot be
// trusted: that read failed, the world did not.
class StoreView {
 public:
  virtual ~StoreView() = default;

  virtual std::uint64_t generation() const = 0;
  virtual std::uint64_t tick() const = 0;
  virtual std::optional<GeneratorId> generator() const = 0;

  virtual Result<std::optional<Bytes>> read_chunk(const ChunkPos& pos) const = 0;
  virtual Result<std::optional<Entity>> read_entity(EntityId id) const = 0;
  // The entities that stand in this chunk, by id.
  virtual Result<std::vector<Entity>> read_entities_of(const ChunkPos& owner) const = 0;
  virtual Result<std::optional<Bytes>> read_player(std::string_view id) const = 0;
  virtual Result<std::optional<Bytes>> read_global(std::string_view name) const = 0;

  virtual Status list_chunks(const ChunkFilter& filter, const Visitor<ChunkInfo>& visit) const = 0;
  // With an empty filter also those without an owner.
  virtual Status list_entities(const ChunkFilter& filter,
                               const Visitor<EntityInfo>& visit) const = 0;
  virtual Status list_players(const Visitor<NamedInfo>& visit) const = 0;
  virtual Status list_globals(const Visitor<NamedInfo>& visit) const = 0;
};

// --- Upkeep --------------------------------------------------------------------------

struct RecordProblem {
  std::string key = {};  // "chunk:3,-2", or a file where no record can be named
  Error error;
};

// What opening a save found and did. A save that was closed and is whole gives an empty one.
struct OpenReport {
  // A save that was under way when the writer died had been committed, and was finished.
  bool finished_commit = false;
  // One that had not been committed, or bytes at the end of a log that never were part of
  // the save, were dropped.
  bool dropped_tail = false;
  // Damage that was worked around. Records that are damaged show when they are read.
  std::vector<RecordProblem> problems = {};
};

struct VerifyReport {
  std::uint64_t record_count = 0;  // read, good and bad
  std::vector<RecordProblem> problems = {};

  bool clean() const noexcept { return problems.empty(); }
};

struct CompactReport {
  std::uint64_t size_before = 0;
  std::uint64_t size_after = 0;
};

class Store : public StoreView {
 public:
  // Releases the save without a word; call close() where a failure matters.
  ~Store() override = default;

  virtual const Capabilities& capabilities() const = 0;
  virtual const StoreDefaults& defaults() const = 0;
  // Said once, by open(); it stays the same.
  virtual OpenReport open_report() const { return {}; }

  // A generator the game has, for a format that stores chunks as what differs from it. Said again
  // with other ones, the last is used for what is saved from now on, and all of them to read
  // what was saved before: that is how a game goes on after it changed its generator. Before the
  // first read and commit. No effect on formats that store whole chunks.
  virtual void use_generator(std::shared_ptr<const Generator> /*generator*/) {}

  // Makes `commit` the next generation, or changes nothing. Records the save already
  // holds byte for byte are not written again; a commit that changes nothing and does not
  // advance the tick makes no generation and writes nothing.
  //
  // A commit is checked whole before anything is written: unsupported for what the format
  // cannot carry, invalid_argument for a key twice, a bad name or a tick that runs
  // backwards. Each message names the record.
  virtual Result<CommitStats> commit(const Commit& commit, Progress& progress) = 0;

  // The newest generation, held: what it reads stays as it is whatever is committed
  // later. It may be read on any thread and must be gone before close(). `unsupported`
  // where the format cannot; space is not reused while a view is held.
  virtual Result<std::unique_ptr<StoreView>> pin() = 0;

  // Keeps the bytes of a damaged record aside, durably, so that it may be replaced. Success if
  // there is nothing to keep. A format that has all entities in one place keeps them all.
  virtual Status quarantine(const RecordKey& key) = 0;
  Status quarantine(const ChunkPos& pos) {
    return quarantine(RecordKey{.kind = RecordKind::chunk, .pos = pos});
  }

  // Reads everything and compares it with every checksum and reference the format
  // has. Problems are listed, not returned; an error means it could not go on.
  virtual Result<VerifyReport> verify(Progress& progress) const = 0;

  // Gives back the space of what was overwritten and erased. May be called at any
  // time between commits; a crash leaves the save as it was.
  virtual Result<CompactReport> compact(Progress& progress) = 0;

  // Finishes and lets go of the save. Everything but the destructor is refused with
  // invalid_argument afterwards; generation(), tick() and generator(), which cannot
  // refuse, then answer as for an empty save.
  virtual Status close() = 0;
};

}  // namespace varve
