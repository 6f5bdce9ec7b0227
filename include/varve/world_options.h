// Everything a game may choose about a World. The defaults are good ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "varve/chunk.h"
#include "varve/generator.h"
#include "varve/journal.h"
#include "varve/key.h"
#include "varve/log.h"

namespace varve {

class World;

struct AutosaveConfig {
  bool enabled = true;
  double interval_s = 300;
  // How many older saves are kept beside the newest one. Each opens by itself; more than that are
  // removed. A format that keeps none takes only 0.
  std::uint32_t max_backups = 1;
  // After a failure the next try comes this soon, then twice as late each time, but
  // never later than interval_s.
  double retry_s = 5;
};

// Saving each edited chunk soon after its edit instead of all of them now and then. A
// crash then loses less, and no two chunks are sure to be of the same tick.
struct WriteThroughConfig {
  bool enabled = false;
  // Chunks that may wait. Further edits of a chunk that waits already cost nothing.
  std::size_t async_save_queue_size = 64;
  enum class WhenFull : std::uint8_t {
    leave_dirty,  // the chunk waits for the next save instead
    wait,         // the edit blocks until there is room
  };
  WhenFull when_full = WhenFull::leave_dirty;
};

// Saves of players and globals between the saves of the whole world. 0: none.
// Such a save makes them newer than the chunks around them: what a player carried off
// just before a crash may be in the chest as well.
struct TimedSaveConfig {
  double players_s = 60;
  double globals_s = 0;
};

// A box of chunks that is kept in memory around a player or a camera.
struct Window {
  ChunkPos centre = {};
  // How far it reaches from the centre on each axis.
  std::array<std::int32_t, kCoordinateCountMax> radius = {};
  // Chunks beyond it in the direction of movement that are loaded ahead, signed.
  std::array<std::int32_t, kCoordinateCountMax> look_ahead = {};
  // Chunks stay until they are this far outside, so that walking to and fro on a border
  // does not load and drop them all the time.
  std::int32_t keep_margin = 1;
};

struct WorldOptions {
  // The name of a format. Empty: whatever the save is in, and for a new one the format its path
  // names ("memory:arena"), or else "varve".
  std::string format = {};

  std::shared_ptr<const ChunkType> chunk_type = {};  // none: raw_chunks()
  std::shared_ptr<const Generator> generator = {};   // none: what was never saved is not_found
  // Opens a save although another generator made it. Chunks that were never saved then
  // come out different.
  bool accept_other_generator = false;

  // None: as the format recommends. Where it recommends no backups, those that are there stay.
  std::optional<AutosaveConfig> autosave = {};
  WriteThroughConfig write_through = {};
  TimedSaveConfig timed_saves = {};

  // Makes every tick durable between saves and keeps the past: varve/journal.h. None: what changed
  // since the last save is lost in a crash.
  std::optional<JournalConfig> journal = {};

  // Chunks outside every window are dropped, the longest unused first, when all of them
  // together take more. 0: no limit.
  std::size_t memory_budget_size = 0;

  // Called on the game thread just before a save takes its snapshot, so that a game
  // with an ECS of its own hands over what changed once per save and not once per frame. It
  // may put and erase even while the world is paused. An error, or an exception, fails that
  // save; nothing of it is written and everything stays dirty.
  std::function<Status(World&)> before_save = {};

  LogCallback log = {};

  unsigned encode_thread_count = 0;  // 0: one less than there are cores, at most 4
  unsigned load_thread_count = 0;    // 0: one, or two where there are four cores
};

}  // namespace varve
