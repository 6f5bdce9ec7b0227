// Invariants checked: no input reads out of bounds or allocates more than it has bytes for;
// whatever is looked up has ticks of the stretch, rising; an index that is accepted as a whole says
// of each row what looking it up says, and is spelled as the writer would spell it.
#include "fuzz_target.h"
#include "journal/history_blob.h"

namespace varve::fuzz {
namespace {

using journal::HistoryBlob;
using journal::Stretch;
using journal::Touched;
using journal::TouchedKey;
using journal::TouchedKind;

constexpr Stretch kStretch{.first_tick = 1'200, .tick_count = 1'200};

void check_ticks(const std::vector<std::uint64_t>& ticks) {
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    VARVE_INVARIANT(ticks[i] >= kStretch.first_tick && ticks[i] <= kStretch.last_tick());
    VARVE_INVARIANT(i == 0 || ticks[i] > ticks[i - 1]);
  }
}

Touched::Ticks& list_of(Touched& touched, const TouchedKey& key) {
  switch (key.kind) {
    case TouchedKind::chunk:
      return touched.chunks[key.pos];
    case TouchedKind::entity:
      return touched.entities[key.id];
    case TouchedKind::player:
      return touched.players[key.name];
    case TouchedKind::global:
      return touched.globals[key.name];
    case TouchedKind::singleton:
      break;
  }
  return touched.singletons[static_cast<ComponentId>(key.id)];
}

}  // namespace

bool check_input(ByteView in) {
  const Bytes bytes = Bytes::copy_of(in);
  const auto blob = HistoryBlob::open(bytes, kStretch);
  if (!blob) return false;
  const bool is_valid = blob->check().ok();
  Touched again;
  for (std::size_t n = 0; n < journal::kTouchedKindCount; ++n) {
    const auto kind = static_cast<TouchedKind>(n);
    // Rows overlap nothing but themselves; those of a hostile one are many all the same.
    for (std::size_t row = 0; row < blob->count(kind) && row < 4'096; ++row) {
      std::vector<std::uint64_t> at_row;
      const Status read = blob->ticks_at(kind, row, {}, at_row);
      check_ticks(at_row);
      VARVE_INVARIANT(read || at_row.empty());
      // Names of spaces stay for the life of a process: only honest ones are made.
      if (kind == TouchedKind::chunk && !is_valid) continue;
      const auto key = blob->key_at(kind, row);
      VARVE_INVARIANT(key || !is_valid);
      if (!key) continue;
      std::vector<std::uint64_t> found;
      const Status looked_up = blob->ticks_of(*key, {}, found);
      check_ticks(found);
      if (!is_valid) continue;
      VARVE_INVARIANT(looked_up && found == at_row);
      for (const std::uint64_t tick : found) {
        list_of(again, *key).push_back(static_cast<std::uint32_t>(tick - kStretch.first_tick));
      }
    }
  }
  if (!is_valid || in.size() > 16'384) return is_valid;
  VARVE_INVARIANT(*journal::encode_history(kStretch, again) == bytes);
  return true;
}

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  Touched touched;
  const auto add = [&] { out.emplace_back(journal::encode_history(kStretch, touched)->text()); };
  add();
  TickRecorder recorder;
  const Bytes some = Bytes::copy_of("some");
  recorder.edit_chunk(ChunkPos(3, -2), some);
  recorder.put_player("ann", some);
  touched.note(0, recorder.take());
  add();
  for (std::uint32_t tick = 1; tick < 1'200; tick += 170) {
    for (std::uint32_t i = 1; i < 9; ++i) recorder.insert(make_entity(i * tick, i % 3), 1, some);
    recorder.edit_chunk(ChunkPos(1, 2, 3).in(*Space::named("there")), some);
    recorder.edit_chunk(ChunkPos(static_cast<std::int32_t>(tick)), some);
    recorder.set_singleton(tick % 4, some);
    recorder.put_global("rain", std::nullopt);
    recorder.put_global("sun", std::nullopt);
    touched.note(tick, recorder.take());
  }
  add();
  return out;
}

}  // namespace varve::fuzz
