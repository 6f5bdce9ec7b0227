// Follows a recorded log and knows, after every operation, what is durable and
// what is only pending.
//
// Pending changes are kept as atoms: the smallest pieces a crash keeps or loses
// as a whole. A write is one atom per 512-byte sector, each holding the sector as
// the program saw it then (a disk writes whole sectors), and, if the file grew, one
// for the size at each of some page boundaries on the way and at the end: data
// arrives a page at a time, and the size follows it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/sim/disk_op.h"

namespace varve::sim {

struct Atom {
  enum class Kind : std::uint8_t { sector, size, names };

  Kind kind = Kind::sector;
  // The file, or the directory, whose sync makes it durable. An exchange across
  // two directories has two.
  NodeId node = 0;
  NodeId node2 = 0;
  // sector: which one, and the page it lies in.
  std::uint64_t sector_index = 0;
  PageRef page = {};
  // size: the new one, and whether the file shrank.
  std::uint64_t size = 0;
  bool shrinks = false;
  // names: the operation. Of a rename across directories, the first of its two
  // atoms only adds the new name; the second does all of it.
  const DiskOp* op = nullptr;
  bool adds_only = false;
  // A sync of it failed: it may or may not be there, and no later sync helps.
  bool beyond_sync = false;
  // Counts operations, so that an older change of a name never undoes a newer one
  // that is durable already.
  std::uint64_t sequence = 0;
};

// One way a crash can end: which pending atoms made it, and perhaps one sector
// that was hit while being written.
struct CrashChoice {
  std::vector<bool> kept;
  std::optional<std::size_t> garbage_index;
  std::uint64_t garbage_seed = 0;
};

// The number of the operation that last changed a name durably, by directory and
// name.
using NameSequences = std::map<std::pair<NodeId, std::string>, std::uint64_t>;

class DiskReplay {
 public:
  explicit DiskReplay(const DiskImage& start) : view_(start), durable_(start) {}

  // The operation must outlive the replay. False if it makes no sense here, which
  // only a reordered log can cause.
  bool step(const DiskOp& op);

  const std::vector<Atom>& pending() const { return pending_; }
  // What the disk holds if the power goes now and ends that way.
  DiskImage crash(const CrashChoice& choice) const;

 private:
  void add_sectors(const DiskOp& op);
  void add_size(NodeId node, std::uint64_t old_size);
  void add_names(const DiskOp& op);
  void sync(NodeId node, bool failed);
  // Bytes behind a durable cut are gone from what a failed sync lost, too.
  void clear_lost_behind(NodeId node, std::uint64_t cut_at);
  void drop_superseded();

  DiskImage view_;     // what the program sees
  DiskImage durable_;  // what no crash can take
  NameSequences durable_names_;
  std::vector<Atom> pending_;
  std::uint64_t sequence_ = 0;
};

// "kept 1011, garbage in 2", for messages.
std::string describe(const CrashChoice& choice);

}  // namespace varve::sim
