// The log of ticks: one entry a tick in segment files, docs/formats/rgb_wal_v1.md. Knows ticks and bytes,
// not what the bytes mean.
//
// Invariants:
// 1. Ticks rise strictly, in each segment and from one to the next. A tick that is left out changed
//    nothing.
// 2. What append() and sync() acknowledged as durable survives any crash; of the rest a prefix does.
// 3. A sector that holds something durable is not written again. With alignment each synced group of
//    entries begins on a boundary; the first group begins behind the header's sector.
// 4. A segment begins when all before it is durable. Entries of an earlier segment at or behind a later one's
//    first tick were given up (a sync of them failed) and are not read.
// 5. A bad entry in the last segment with nothing valid behind is a torn tail: it is cut and reported. Anywhere
//    else it is corruption, and so is a tail that ends before the tick a clean close left a mark of.
//
// Thread safety: append(), sync(), truncate_before() and close() by one thread at a time; reading by any,
// meanwhile too. A thread of the log makes the next segment ready and syncs what waits for its time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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
  // Where synced groups begin: a power of two up to 4096. 0: 512 if each tick is synced, else 1.
  std::uint32_t alignment = 0;
  // Off for tests that want everything inside the calls, in one order.
  bool background = true;
};

// What opening found.
struct TickLogReport {
  std::optional<std::uint64_t> cut_after;  // a torn tail was cut behind this tick
  std::vector<Error> problems;             // damage; what is behind it in that segment is not read
};

class TickLog {
 public:
  // Opens the log in `dir`, or makes it. `busy` if another process writes it.
  static Result<std::unique_ptr<TickLog>> open(Vfs& vfs, std::string_view dir,
                                               const TickLogOptions& options);
  // To look at it, while another process writes it or not. Writes nothing.
  static Result<std::unique_ptr<TickLog>> open_to_read(Vfs& vfs, std::string_view dir);
  virtual ~TickLog() = default;

  virtual const TickLogReport& report() const = 0;
  virtual std::optional<std::uint64_t> first_tick() const = 0;
  // Segments are numbered from 1 on: a log that was never cut begins with that. nullopt if there is none.
  virtual std::optional<std::uint64_t> first_segment_id() const = 0;
  virtual std::optional<std::uint64_t> latest_tick() const = 0;
  virtual std::optional<std::uint64_t> durable_tick() const = 0;
  struct Sizes {
    std::uint64_t segment_count = 0;
    std::uint64_t entry_bytes = 0;   // in use, headers and padding included
    std::uint64_t stored_size = 0;   // of all files
  };
  virtual Sizes sizes() const = 0;

  // `payload` is compressed here. invalid_argument, and nothing changed, if `tick` is not behind the last.
  // A failure of the disk leaves the log as it was before; if that cannot be told for sure, the log is latched: it
  // takes nothing more, and says why, until it is opened again.
  virtual Status append(std::uint64_t tick, ByteView payload) = 0;
  virtual Status sync() = 0;

  // Entries with ticks in [from, to), rising, until `visit` returns false. corruption at the first that is
  // damaged, naming the segment, the offset and the last good tick; history_truncated (ErrorCode::not_found) naming
  // the oldest tick if `from` lies before the log.
  using Visit = std::function<Result<bool>(std::uint64_t tick, const Bytes& payload)>;
  virtual Status read(std::uint64_t from, std::uint64_t to, const Visit& visit) const = 0;

  // Whether there are segments all of whose entries are before `tick`.
  virtual bool can_truncate_before(std::uint64_t tick) const = 0;
  // Removes them. Their files may be used again for new ones.
  virtual Status truncate_before(std::uint64_t tick) = 0;

  // Makes everything durable, leaves the mark of a clean close, lets go.
  virtual Status close() = 0;
};

}  // namespace varve::journal
