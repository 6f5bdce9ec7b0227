// A world kept the naive way, whole for every tick, and a journal and a save of it that are written
// as a World writes them: the first change of a record in a stretch with what was there before,
// saves at any time, parts of it earlier, history cut now and then.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "io/sim/sim_disk.h"
#include "journal/journal_folder.h"
#include "journal/record_tick.h"
#include "journal/world_history.h"
#include "varve/format.h"
#include "varve/history.h"

namespace varve::test {

using journal::RecordChange;
using journal::RecordValue;

// Chunks of one type, and what edits do to them, done without the type where that is possible.
class ChunkKit {
 public:
  virtual ~ChunkKit() = default;
  virtual std::shared_ptr<const ChunkType> type() const = 0;
  virtual Bytes some_chunk(std::mt19937_64& random) const = 0;
  virtual Bytes some_edit(std::mt19937_64& random, const Bytes& chunk) const = 0;
  // nullopt where it does not fit.
  virtual std::optional<Bytes> edited(const Bytes& chunk, const Bytes& edit) const = 0;
  // The cells that edits may touch, and those one does.
  virtual std::vector<Bytes> cells() const = 0;
  virtual bool writes_to(const Bytes& edit, const Bytes& cell) const = 0;
  virtual std::optional<Bytes> cell_of(const Bytes& chunk, const Bytes& cell) const = 0;
};
std::unique_ptr<ChunkKit> raw_kit();
std::unique_ptr<ChunkKit> voxel_kit();

struct Op {
  RecordKey key = {};
  RecordChange change = {};
};
struct TickOp {
  std::uint64_t tick = 0;
  Op op = {};
};
// By to_string(RecordKey); what is not there is not in it.
using Records = std::map<std::string, EntityValue>;

class HistoryWorld {
 public:
  HistoryWorld(const ChunkKit& kit, std::uint64_t seed);
  ~HistoryWorld();

  // Plays some ticks, saves, cuts, closes the journal and opens it again: whatever comes.
  void play(int tick_count);
  // One tick of these, in this order.
  void log(const std::vector<Op>& ops);

  std::unique_ptr<WorldHistory> history() const;
  const journal::JournalFolder& journal() const { return *journal_; }
  std::uint64_t tick() const { return tick_; }
  const Records& at(std::uint64_t tick) const { return past_.at(tick); }
  // Every change there was, in order.
  const std::vector<TickOp>& ops() const { return ops_; }
  // Everything that was ever there.
  const std::map<std::string, RecordKey>& keys() const { return keys_; }
  // False, and nothing done, where the change does not fit.
  bool apply(Records& records, const Op& op) const;
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }
  std::vector<Op> some_ops();

 private:
  void open_journal();
  void save_all();
  void save_part();
  void cut();
  void commit(std::uint64_t tick, const std::vector<std::string>& keys);
  void add_chunk_ops(std::vector<Op>& ops, const ChunkPos& pos);
  void add_entity_ops(std::vector<Op>& ops, EntityId id);
  std::string some_author();
  Bytes some_bytes();
  std::optional<ChunkPos> some_place();

  const ChunkKit& kit_;
  std::mt19937_64 random_;
  std::uint64_t stretch_ticks_;
  sim::SimDisk disk_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<journal::JournalFolder> journal_;
  std::uint64_t tick_ = 0;
  Records now_;
  std::map<std::uint64_t, Records> past_;
  std::vector<TickOp> ops_;
  std::map<std::string, RecordKey> keys_;
  std::map<std::string, std::uint64_t> imaged_;  // the stretch whose image it has, counted from 1
  std::set<std::string> unsaved_;
};

// A plan as the changes of a tick.
std::vector<Op> ops_of(const RollbackPlan& plan);

}  // namespace varve::test
