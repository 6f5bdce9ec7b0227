// Invariants checked: no input reads out of bounds; a snapshot that is accepted encodes to exactly
// the same bytes, and its state can be copied and gone on with. Each input is also checked with its
// checksum made to fit, which no mutation finds.
#include <cstring>

#include "base/endian.h"
#include "fuzz_target.h"
#include "varve/checksum.h"
#include "varve/entity_state.h"

namespace varve::fuzz {
namespace {

constexpr std::size_t kHeaderSize = 33;
constexpr std::size_t kChecksumOffset = 29;

bool check_snapshot(const Bytes& data) {
  const auto snapshot = decode_snapshot(data);
  if (!snapshot) return false;
  const auto again = encode_snapshot(snapshot->tick, snapshot->state);
  VARVE_INVARIANT(again && *again == data);
  EntityState next = snapshot->state;
  const auto entity = next.next_entity();
  VARVE_INVARIANT(entity);
  TickMutations tick;
  tick.spawns.push_back({.entity = *entity});
  VARVE_INVARIANT(next.apply(tick));
  VARVE_INVARIANT(next.contains(*entity) && !snapshot->state.contains(*entity));
  VARVE_INVARIANT(!(next == snapshot->state));
  return true;
}

}  // namespace

bool check_input(ByteView in) {
  const bool is_accepted = check_snapshot(Bytes::copy_of(in));
  if (in.size() < kHeaderSize) return is_accepted;
  Buffer mended = Bytes::copy_of(in).clone();
  store_le<std::uint32_t>(mended.data() + kChecksumOffset, 0);
  store_le<std::uint32_t>(mended.data() + kChecksumOffset, crc32(mended.view()));
  return check_snapshot(std::move(mended).freeze()) || is_accepted;
}

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  EntityState state;
  TickRecorder recorder;
  const auto add = [&] {
    VARVE_INVARIANT(state.apply(recorder.take()));
    out.emplace_back(encode_snapshot(out.size(), state)->text());
  };
  add();
  for (std::uint32_t i = 1; i < 6; ++i) {
    recorder.spawn(make_entity(i * i, i), ChunkPos(static_cast<int>(i / 2), -1));
    recorder.insert(make_entity(i * i, i), i, Bytes::copy_of(std::string(i, 'v')));
  }
  add();
  recorder.spawn(make_entity(2, 0));
  recorder.move(make_entity(4, 2), ChunkPos(1, 2, 3).in(*Space::named("there")));
  recorder.despawn(make_entity(9, 3));
  recorder.set_singleton(3, Bytes::copy_of("noon"));
  recorder.put_player("ann", Bytes::copy_of("player"));
  recorder.put_global("rain", Bytes());
  add();
  return out;
}

}  // namespace varve::fuzz
