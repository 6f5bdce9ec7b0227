// The log of ticks: one entry a tick in segment files, docs/formats/rgb_wal_v1.md. Knows ticks and
// bytes, not what the bytes mean.
//
// Invariants:
// 1. Ticks rise strictly, in each segment and from one to the next. A tick that is left out changed
//    nothing.
// 2. What append() and sync() acknowledged as durable survives any crash; of the rest a prefix
// does.
//    What append() accepted survives the end of the process.
// 3. A sector that holds something durable is not written again: what follows a sync begins on a
//    boundary.
// 4. A segment is written by one opening of the log, and has a name when its first entries are
//    durable and all before them is. It names the last tick before it and who holds that one:
//    entries of earlier segments behind that tick were given up (a sync of them failed) and are not
//    read.
// 5. A bad entry at the end of the last segment is a torn tail, is cut and reported, unless
// something
//    behind it was written when it was durable. Then, and anywhere else, it is corruption, and so
//    is a log that ends before the tick a clean close left a mark of.
//
// Thread safety: append() and sync() by one thread at a time; truncate_before() by one at a time,
// beside them too; reading by any, meanwhile too. Nobody is in a call during close(). A thread of
// the log makes files ready and syncs what waits for its time; append() does not wait for such a
// sync, nor for files that go.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "codec/compression.h"
#include "io/vfs.h"
#include "varve/backend.h"
#include "varve/bytes.h"
#include "varve/result.h"

namespace varve::journal {

struct TickLogOptions {
  Durability durability = {.kind = Durability::Kind::every_ms, .interval_ms = 50};
  CompressionId compression = CompressionId::lz4;
  std::uint64_t segment_size = std::uint64_t{64} << 20;
  // What follows a sync begins at a multiple of this: 512, the sector of most disks, to 4096, a
  // power of two.
  std::uint32_t alignment = 512;
  // Zeros are written at most so far ahead of the entries where append() waits for syncs, so that
  // these change bytes and not the size of a file. It begins with less and grows with the segment.
  std::uint64_t prepared_size = std::uint64_t{4} << 20;
  // What is not durable is kept in memory, in case a sync fails. So no more than about so much may
  // wait for one, whatever the durability.
  std::uint64_t unsynced_size_max = std::uint64_t{2} << 20;
  // Off for tests that want everything inside the calls, in one order.
  bool background = true;
};

// What opening found.
struct TickLogReport {
  // open() alone: an entry behind this tick was not whole and is not there any more.
  std::optional<std::uint64_t> cut_after;
  // Damage. If it is at the end, latest_tick() is the last tick before it. Whoever goes on from a
  // state of a later tick, say a snapshot's, appends that tick's successor next, if need be without
  // anything in it: what lies between is lost, and reading it is corruption for ever.
  std::vector<Error> problems;
  // What is written next does not follow from what was there.
  bool is_end_damaged = false;
};

class TickLog {
 public:
  // Opens the log in `dir`, or makes it. `busy` if another process writes it. Everything that is
  // found is durable when this returns: what may not have been is written once more.
  static Result<std::unique_ptr<TickLog>> open(Vfs& vfs, std::string_view dir,
                                               const TickLogOptions& options);
  // To look at it, while another process writes it or not: as it is now. Writes nothing.
  static Result<std::unique_ptr<TickLog>> open_to_read(Vfs& vfs, std::string_view dir);
  virtual ~TickLog() = default;

  virtual const TickLogReport& report() const = 0;
  virtual std::optional<std::uint64_t> first_tick() const = 0;
  // Whether segments before the first were cut off, or are missing.
  virtual bool begins_cut() const = 0;
  virtual std::optional<std::uint64_t> latest_tick() const = 0;
  virtual std::optional<std::uint64_t> durable_tick() const = 0;
  struct Sizes {
    std::uint64_t segment_count = 0;
    std::uint64_t entry_bytes = 0;  // in use, headers and padding included
    std::uint64_t stored_size = 0;  // of the segments' files
  };
  virtual Sizes sizes() const = 0;

  // `payload` is compressed here. invalid_argument, and nothing changed, if `tick` is not behind
  // the last. A failure of the disk leaves the log as it was before; if that cannot be told for
  // sure, the log is latched: it takes nothing more, and says why, until it is opened again.
  virtual Status append(std::uint64_t tick, ByteView payload) = 0;
  virtual Status sync() = 0;

  // Entries with ticks in [from, to), rising, until `visit` returns false. corruption at the first
  // that is damaged, naming the segment, the offset and the last good tick; history_truncated
  // (ErrorCode::not_found) naming the oldest tick if `from` lies before the log.
  using Visit = std::function<Result<bool>(std::uint64_t tick, const Bytes& payload)>;
  virtual Status read(std::uint64_t from, std::uint64_t to, const Visit& visit) const = 0;

  // Those of `ticks`, which rise, that have an entry: each for about one read of the disk. Errors
  // as of read(); what is damaged beside them is none of theirs.
  virtual Status read_ticks(std::span<const std::uint64_t> ticks, const Visit& visit) const = 0;

  // Whether there are segments all of whose entries are before `tick`.
  virtual bool can_truncate_before(std::uint64_t tick) const = 0;
  // Removes them, but never the last. A file may be used again.
  virtual Status truncate_before(std::uint64_t tick) = 0;

  // Makes everything durable, leaves the mark of a clean close, lets go. Without it, what was not
  // durable is at the system's mercy.
  virtual Status close() = 0;
};

}  // namespace varve::journal
