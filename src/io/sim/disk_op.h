// One operation on the simulated disk, as recorded.
//
// A log of these replays without the program that made it: that is how crash
// states are enumerated and how mutants (a sync dropped, two steps swapped) are
// made from what really happened.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/sim/disk_image.h"
#include "varve/bytes.h"

namespace varve::sim {

enum class OpKind : std::uint8_t {
  read,       // anything that changes nothing: reads, look-ups, maps, opens
  create,     // a file gets node `node` and the name `place`
  make_dir,   // likewise a directory
  write,      // `data` at `offset` of `node`
  set_size,   // `node` is cut or grown with zeros to `size`
  sync_file,  // `node`
  sync_dir,   // `node`
  link,       // `node` also gets the name `place`
  rename,     // `node` moves from `place` to `place2`
  exchange,   // `node` at `place` and `node2` at `place2` change places
  remove,     // `node` loses the name `place`
  mark,       // not of the disk: the driver's note `value` ("commit 3 acknowledged")
};

struct DiskOp {
  OpKind kind = OpKind::read;
  // The call returned an error. What it did all the same is recorded as its data
  // (a failed write: the part that was written) or follows from its kind (a
  // failed sync: nothing pending will be made durable by a later one).
  bool failed = false;
  NodeId node = 0;
  NodeId node2 = 0;
  Place place = {};
  Place place2 = {};
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t value = 0;
  Bytes data = {};

  bool is_sync() const { return kind == OpKind::sync_file || kind == OpKind::sync_dir; }
};

using OpLog = std::vector<DiskOp>;

// Does to `image` what the running program sees at once (a failed operation: what
// it did all the same). False, and no change, if the operation makes no sense
// there, which happens only when a log was reordered: a write to a file that does
// not exist yet, a rename of a name that is not there.
bool apply_op(DiskImage& image, const DiskOp& op);

// "write node 3 offset 0 size 24", for messages.
std::string describe(const DiskOp& op);

}  // namespace varve::sim
