// Invariants checked: no key, place, header, generator, reference or count reads out of bounds, and
// what decodes is written the same again; whatever a header and its copy hold, the later good one
// is what is found. The first byte picks the decoder; the rest is what it gets.
#include <algorithm>

#include "fuzz_target.h"
#include "store/varve/header_records.h"
#include "store/varve/payload_frame.h"
#include "store/varve/save_header.h"
#include "store/varve/save_keys.h"
#include "store/varve/save_tables.h"
#include "store/varve/shared_payload.h"

namespace varve::fuzz {
namespace {

// The record's key without its tag, which the decoders take on trust.
bool same_behind_tag(ByteView key, const SaveKey& again) {
  return equal(key.subspan(1), again.view().subspan(1));
}

bool check_chunk(ByteView in) {
  const auto key = decode_chunk_key(in);
  VARVE_INVARIANT(!key || same_behind_tag(in, chunk_key(key->space, key->pos)));
  return key.ok();
}

bool check_owned_entity(ByteView in) {
  const auto key = decode_owned_entity_key(in);
  VARVE_INVARIANT(!key || same_behind_tag(in, entity_key_of(key->owner, key->id)));
  return key.ok();
}

bool check_entity(ByteView in) {
  const auto id = decode_entity_key(in);
  VARVE_INVARIANT(!id || same_behind_tag(in, entity_place_key(*id)));
  return id.ok();
}

bool check_numbers(ByteView in) {
  const auto space = decode_number_key(in, 2);
  VARVE_INVARIANT(!space || same_behind_tag(in, space_key(static_cast<SpaceNumber>(*space))));
  const auto generator = decode_number_key(in, 4);
  VARVE_INVARIANT(!generator || same_behind_tag(in, generator_key(*generator)));
  return space || generator;
}

bool check_place(ByteView in) {
  const auto place = decode_place(in);
  VARVE_INVARIANT(!place || equal(encode_place(*place), in));
  return place.ok();
}

bool check_header(ByteView in) {
  const auto header = decode_save_header(in);
  VARVE_INVARIANT(!header || equal(encode_save_header(*header), in));
  return header.ok();
}

// The first byte is the size of the header; the copy is what follows it.
bool check_headers(ByteView in) {
  if (in.empty()) return false;
  const std::size_t size = std::min<std::size_t>(static_cast<std::size_t>(in[0]), in.size() - 1);
  const ByteView first = in.subspan(1, size);
  const ByteView copy = in.subspan(1 + size);
  const auto backend = make_memory_backend();
  WriteBatch batch;
  batch.put(header_key(), plain_frame(header_key(), first));
  batch.put(header_copy_key(), plain_frame(header_copy_key(), copy));
  VARVE_INVARIANT(backend->write(batch).ok());
  const auto a = decode_save_header(first);
  const auto b = decode_save_header(copy);
  const auto found = find_header(*backend);
  if (!found) {
    VARVE_INVARIANT(!a || !b);
    return false;
  }
  const bool is_first = a && (!b || a->generation >= b->generation);
  VARVE_INVARIANT(found->header == (is_first ? *a : *b));
  VARVE_INVARIANT(found->problems.empty() == (a && b && *a == *b));
  return true;
}

bool check_generator(ByteView in) {
  const auto id = decode_generator(in);
  VARVE_INVARIANT(!id || equal(encode_generator(*id), in));
  return id.ok();
}

bool check_shared_key(ByteView in) {
  const auto hash = decode_shared_key(in);
  VARVE_INVARIANT(!hash || same_behind_tag(in, shared_payload_key(*hash)));
  return hash.ok();
}

bool check_shared_count(ByteView in) {
  const auto count = decode_shared_count(in);
  VARVE_INVARIANT(!count || (*count >= 1 && *count <= kSharedCountMax));
  VARVE_INVARIANT(!count || equal(encode_shared_count(*count), in));
  return count.ok();
}

// With a checksum that is made to fit, which no mutation finds.
bool check_reference(ByteView in) {
  const SaveKey key = chunk_key(0, ChunkPos(3, -2));
  (void)decode_reference(key, in, false);
  if (in.size() < kFrameStartSize) return false;
  const Bytes sealed = sealed_for(key, in);
  const auto reference = decode_reference(key, sealed, false);
  if (!reference) return false;
  VARVE_INVARIANT(sealed.size() <= kReferenceSizeMax && looks_like_reference(sealed));
  VARVE_INVARIANT(encode_reference(key, sealed, reference->hash).value() == sealed);
  return true;
}

constexpr bool (*kChecks[])(ByteView) = {check_chunk,     check_owned_entity, check_entity,
                                         check_numbers,   check_place,        check_header,
                                         check_generator, check_shared_key,   check_shared_count,
                                         check_reference, check_headers};

std::string seed(std::size_t check, ByteView in) {
  return static_cast<char>(check) + std::string(as_text(in));
}

}  // namespace

bool check_input(ByteView in) {
  if (in.empty()) return false;
  return kChecks[static_cast<std::size_t>(in[0]) % std::size(kChecks)](in.subspan(1));
}

std::vector<std::string> seeds() {
  std::vector<std::string> out;
  for (const ChunkPos& pos :
       {ChunkPos(-1), ChunkPos(3, -2), ChunkPos(7, 70, -700), ChunkPos(1, 2, 3, 2147483647)}) {
    const PlacedChunk placed{2, pos};
    out.push_back(seed(0, chunk_key(2, pos)));
    out.push_back(seed(1, entity_key_of(placed, 17)));
    out.push_back(seed(4, encode_place(placed)));
  }
  out.push_back(seed(2, entity_place_key(17)));
  out.push_back(seed(3, space_key(7)));
  out.push_back(seed(3, generator_key(7)));
  out.push_back(seed(5, encode_save_header({.save_id = 9, .generation = 5, .tick = 1200})));
  out.push_back(seed(6, encode_generator({"hills", 3})));
  const Hash128 hash{.high = 5, .low = 6};
  const SaveKey key = chunk_key(0, ChunkPos(3, -2));
  out.push_back(seed(7, shared_payload_key(hash)));
  out.push_back(seed(8, encode_shared_count(300)));
  out.push_back(
      seed(9, encode_reference(key, plain_frame(key, as_byte_view("stone")), hash).value()));
  const Bytes header = encode_save_header({.save_id = 9, .generation = 5, .tick = 1200});
  const Bytes later = encode_save_header({.save_id = 9, .generation = 6, .tick = 1201});
  for (const Bytes& copy : {header, later, Bytes::copy_of("rot")}) {
    std::string both(1, static_cast<char>(header.size()));
    both.append(header.text()).append(copy.text());
    out.push_back(seed(10, as_byte_view(both)));
  }
  return out;
}

}  // namespace varve::fuzz
