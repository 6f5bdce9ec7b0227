// Chunks that have payloads in common, and what a sample disk keeps of them.
#pragma once

#include "base/byte_reader.h"
#include "sample_store.h"
#include "store/varve/shared_payload.h"

namespace varve::test {

inline const VarveOptions kSharing{.sharing_memory_size = 1 << 16};

// Nothing a compression makes anything of, the same for the same number.
inline Bytes noise_of(std::uint64_t number, std::size_t size = 1000) {
  Buffer out(size);
  std::uint64_t state = number * 0x9e3779b97f4a7c15 + 1;
  for (std::byte& byte : out.span()) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<std::byte>(state >> 56);
  }
  return std::move(out).freeze();
}

inline ChunkPos at(int x) { return ChunkPos(x, 0); }

inline Reference reference_at(const SampleDisk& disk, int x) {
  const SaveKey key = chunk_key(0, at(x));
  const auto found = decode_reference(key, disk.get(key), false);
  EXPECT_TRUE(found) << x << ": " << found.error().message();
  return found ? *found : Reference();
}
inline bool is_shared(const SampleDisk& disk, int x) {
  return looks_like_reference(disk.get(chunk_key(0, at(x))));
}
// 0 if there is none.
inline std::uint64_t count_at(const SampleDisk& disk, const Hash128& hash) {
  const SaveKey key = shared_count_key(hash);
  if (!disk.has(key)) return 0;
  return decode_shared_count(read_plain_frame(key, disk.get(key)).value()).value();
}
inline SaveHeader header_of(const SampleDisk& disk) {
  return decode_save_header(read_plain_frame(header_key(), disk.get(header_key())).value()).value();
}
// Whether the header says that payloads may be shared.
inline bool says_shared(const SampleDisk& disk) {
  return (header_of(disk).features & kFeatureSharedPayloads) != 0;
}

// The chunks `from` up to, not including, `to`, all with one payload.
inline Commit same_chunks(int from, int to, const Bytes& payload) {
  Commit commit;
  for (int x = from; x < to; ++x) commit.chunks.push_back({at(x), payload});
  return commit;
}

inline void expect_clean(const Store& store) {
  const VerifyReport report = verify(store);
  EXPECT_TRUE(report.clean()) << problems_of(report);
}

}  // namespace varve::test
