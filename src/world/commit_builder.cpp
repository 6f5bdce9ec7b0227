#include "world/commit_builder.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "base/guarded.h"
#include "base/try.h"
#include "io/thread_rank.h"
#include "store/commit_check.h"

namespace varve {
namespace {

// About as many as a core waits for at a time.
constexpr std::size_t kAskedForCount = 16;

using ChunkEntries = std::vector<const BatchEntry<ChunkPos, ChunkRef>*>;

Result<Bytes> encode_chunk(const ChunkPos& pos, const Chunk& chunk, const Capabilities& can,
                           const Encoding& encoding) {
  VARVE_ASSIGN(Bytes payload, chunk.encode(encoding.buffers));
  if (payload.size() > can.payload_size_max) return too_large(to_string(pos), payload.size(), can);
  return payload;
}

std::vector<Result<Bytes>> encode_all(const ChunkEntries& entries, const Capabilities& can,
                                      const Encoding& encoding, Progress& progress) {
  // Chunks lie anywhere in memory: asking for a few of them takes as long as waiting for one.
  for (std::size_t i = 0; i < std::min(entries.size(), kAskedForCount); ++i)
    if (entries[i]->value) __builtin_prefetch(entries[i]->value->get());
  std::vector<Result<Bytes>> encoded(entries.size());
  std::atomic<std::size_t> done_count = 0;
  const auto encode = [&](std::size_t index) {
    const auto& entry = *entries[index];
    if (entry.value) {
      encoded[index] = guarded(
          ErrorCode::invalid_argument, [&] { return "encoding " + to_string(entry.key); },
          [&] { return encode_chunk(entry.key, **entry.value, can, encoding); });
      encoding.encode_count.fetch_add(1, std::memory_order_relaxed);
      if (encoded[index]) give_way(encoded[index]->size());
    }
    const std::size_t done = done_count.fetch_add(1, std::memory_order_relaxed) + 1;
    progress.report(static_cast<double>(done) / static_cast<double>(entries.size()));
  };
  // By reference, since a function that holds so much would need memory.
  encoding.threads.run_all(entries.size(), std::ref(encode));
  return encoded;
}

std::vector<NamedChange> named_changes(const ChangesList& changes, NamedBatch Changes::* kind) {
  std::vector<NamedChange> named;
  for (const auto* entry : newest(changes, kind))
    named.push_back({.name = entry->key, .data = entry->value});
  return named;
}

}  // namespace

BuiltCommit build_commit(const ChangesList& changes, const Capabilities& can,
                         const Encoding& encoding, Progress& progress) {
  BuiltCommit built;
  const ChunkEntries chunks = newest(changes, &Changes::chunks);
  std::vector<Result<Bytes>> encoded = encode_all(chunks, can, encoding, progress);
  built.commit.chunks.reserve(chunks.size());
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (!encoded[i]) {
      built.problems.push_back(
          {.key = to_string(chunks[i]->key), .error = std::move(encoded[i]).error()});
      built.unsaved.push_back(chunks[i]->key);
      continue;
    }
    built.commit.chunks.push_back({.pos = chunks[i]->key,
                                   .payload = chunks[i]->value
                                                  ? std::optional<Bytes>(*std::move(encoded[i]))
                                                  : std::nullopt});
  }
  for (const auto* entry : newest(changes, &Changes::entities))
    built.commit.entities.push_back({.id = entry->key, .value = entry->value});
  built.commit.players = named_changes(changes, &Changes::players);
  built.commit.globals = named_changes(changes, &Changes::globals);
  progress.report(1);
  return built;
}

}  // namespace varve
