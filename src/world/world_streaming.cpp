// The calls of a World about which chunks are in memory.
#include <vector>

#include "base/guarded.h"
#include "base/try.h"
#include "world/window_boxes.h"
#include "world/world_core.h"

namespace varve {

Status World::request(const ChunkPos& pos, int priority) {
  Core& core = *core_;
  if (core.closed) return invalid_argument("the world is closed");
  VARVE_TRY(core.check_pos(pos));
  return guarded(ErrorCode::invalid_argument, "requesting a chunk", [&]() -> Status {
    core.want(pos, priority);
    if (core.is_here(pos)) {
      core.chunks.find(pos)->extra.used = true;
      core.here_already.push_back(pos);
    }
    return {};
  });
}

Status World::set_window(std::uint64_t id, const Window& window) {
  Core& core = *core_;
  if (core.closed) return invalid_argument("the world is closed");
  VARVE_TRY(core.check_pos(window.centre));
  VARVE_ASSIGN(const ChunkBox load, load_box(window));
  VARVE_ASSIGN(const ChunkBox keep, keep_box(window));
  return guarded(ErrorCode::invalid_argument, "moving a window", [&]() -> Status {
    const auto found = core.windows.find(id);
    const bool is_new = found == core.windows.end();
    if (!is_new && found->second.load_box == load && found->second.keep_box == keep) return {};
    const Core::PlacedWindow before = is_new ? Core::PlacedWindow{} : found->second;
    core.windows[id] = {.window = window, .load_box = load, .keep_box = keep};
    const auto want = [&](const ChunkPos& pos) { core.want(pos, priority_of(pos, window)); };
    // What comes into the margin again before it could leave, stays.
    std::erase_if(core.leaving, [&](const ChunkPos& pos) {
      return keep.contains(pos) && (is_new || !before.keep_box.contains(pos));
    });
    if (is_new) {
      for_each_in(load, want);
      return {};
    }
    for_each_in_difference(load, before.load_box, want);
    for_each_in_difference(before.keep_box, keep, [&](const ChunkPos& pos) {
      if (!core.is_kept(pos)) core.leave(pos);
    });
    return {};
  });
}

void World::remove_window(std::uint64_t id) {
  Core& core = *core_;
  const auto found = core.windows.find(id);
  if (found == core.windows.end() || core.closed) return;
  const ChunkBox box = found->second.keep_box;
  core.windows.erase(found);
  // Whatever is in memory or on its way there, and was kept by this window alone.
  std::vector<ChunkPos> gone;
  const auto consider = [&](const ChunkPos& pos) {
    if (box.contains(pos) && !core.is_kept(pos)) gone.push_back(pos);
  };
  core.chunks.map().for_each([&](const ChunkPos& pos, const auto&) { consider(pos); });
  for (const auto& [pos, load] : core.loads) consider(pos);
  for (const auto& [pos, ids] : core.entities_by_owner) consider(pos);
  for (const ChunkPos& pos : gone) core.leave(pos);
}

void World::evict(const ChunkPos& pos) {
  if (core_->closed || core_->is_being_edited(pos)) return;
  core_->collect();  // what was just saved need not wait
  core_->leave(pos);
}

}  // namespace varve
