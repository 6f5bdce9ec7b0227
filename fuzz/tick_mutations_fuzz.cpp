// Invariants checked: no input reads out of bounds; a tick that is accepted is in order, encodes to
// exactly the same bytes (one of version 1 to others, which mean the same), and is applied whole or
// not at all; applied twice it does what it does once. Looking for one thing in it finds what is
// there.
#include "../tests/journal/search_model.h"
#include "fuzz_target.h"
#include "varve/entity_state.h"

namespace varve::fuzz {

bool check_input(ByteView in) {
  const Bytes data = Bytes::copy_of(in);
  const auto tick = decode_mutations(data);
  if (!tick) {
    (void)journal::search_component(data, make_entity(7, 1), 2);
    (void)journal::search_global(data, "rain");
    return false;
  }
  const auto again = encode_mutations(*tick);
  VARVE_INVARIANT(again);
  if (data.data()[0] == std::byte{1}) {
    const auto same = decode_mutations(*again);
    VARVE_INVARIANT(same && *same == *tick);
  } else {
    VARVE_INVARIANT(*again == data);
  }
  VARVE_INVARIANT(test::search_difference(data, *tick).empty());
  EntityState state;
  if (!state.apply(*tick)) {
    VARVE_INVARIANT(state == EntityState());
    return true;
  }
  const EntityState once = state;
  VARVE_INVARIANT(state.apply(*tick) && state == once && state.digest() == once.digest());
  return true;
}

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  TickRecorder recorder;
  const auto add = [&] { out.emplace_back(encode_mutations(recorder.take())->text()); };
  add();
  const auto bytes = [](std::string_view text) { return Bytes::copy_of(text); };
  recorder.edit_chunk(ChunkPos(3, -2), bytes("edit"));
  add();
  recorder.set_author("ann");
  recorder.spawn(make_entity(7, 1), ChunkPos(1, 2, 3).in(*Space::named("there")));
  recorder.insert(make_entity(7, 1), 1, bytes("value"));
  recorder.spawn(make_entity(9, 0));
  recorder.despawn(make_entity(9, 0));
  recorder.put_player("ann", bytes("player"));
  recorder.set_singleton(3, bytes("noon"));
  recorder.put_global("rain", std::nullopt);
  add();
  for (std::uint32_t i = 0; i < 40; ++i) {
    recorder.spawn(make_entity(i * i, i % 3), ChunkPos(static_cast<int>(i), 0));
    recorder.insert(make_entity(i * i, i % 3), 2, bytes("v" + std::to_string(i % 7)));
  }
  add();
  for (std::uint32_t i = 0; i < 20; ++i) {
    recorder.insert(make_entity(i, 0), 2, bytes("v" + std::to_string(i % 7)));
    recorder.remove(make_entity(i, i), 3);
    recorder.move(make_entity(i, 0), std::nullopt);
  }
  for (std::uint32_t i = 0; i < 10; ++i) {
    recorder.insert(make_entity(300 + i * 50 + i % 3, 0), 7, bytes("x" + std::to_string(i)));
  }
  recorder.despawn(make_entity(100, 4));
  recorder.add_image(ChunkPos(1), bytes("before"));
  recorder.put_chunk(ChunkPos(1), bytes("after"));
  add();
  // And one of an old log.
  out.emplace_back("\x01\x06\x01\x01\x02\x05\x01\x01\x02\x61\x62", 11);
  return out;
}

}  // namespace varve::fuzz
