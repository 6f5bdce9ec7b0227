#include "world/chunk_source.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/guarded.h"
#include "base/try.h"

namespace varve {
namespace {

Error named(const Error& error, const ChunkPos& pos) { return error.with_context(to_string(pos)); }

}  // namespace

ChunkSource::ChunkSource(const Store& store, std::shared_ptr<const ChunkType> type,
                         std::shared_ptr<const Generator> generator)
    : store_(store), type_(std::move(type)), generator_(std::move(generator)) {}

Result<LoadedChunk> ChunkSource::load(const ChunkPos& pos, LoadKind kind) const {
  return guarded(
      ErrorCode::invalid_argument, [&] { return "loading " + to_string(pos); },
      [&] { return load_unguarded(pos, kind); });
}

Result<LoadedChunk> ChunkSource::load_unguarded(const ChunkPos& pos, LoadKind kind) const {
  LoadedChunk loaded;
  std::optional<Bytes> payload;
  if (kind == LoadKind::stored) {
    VARVE_ASSIGN(payload, store_.read_chunk(pos));
  }
  if (payload) {
    Result<std::unique_ptr<Chunk>> chunk =
        guarded(ErrorCode::corruption, fmt::format("decoding it as '{}'", type_->name()),
                [&] { return type_->decode(pos, *payload); });
    if (!chunk) return named(chunk.error(), pos);
    if (*chunk == nullptr) return corruption(to_string(pos) + ": its type made no chunk of it");
    loaded.chunk = *std::move(chunk);
  } else if (kind != LoadKind::entities) {
    VARVE_ASSIGN(loaded.chunk, generate(pos));
    loaded.generated = true;
  }
  if (store_.capabilities().entities) {
    Result<std::vector<Entity>> entities = store_.read_entities_of(pos);
    if (!entities) {
      loaded.entities_error = entities.error().with_context("entities of " + to_string(pos));
    } else {
      loaded.entities = *std::move(entities);
    }
  }
  return loaded;
}

Result<ChunkRef> ChunkSource::generate(const ChunkPos& pos) const {
  if (!generator_) {
    const std::optional<GeneratorId> wanted = store_.generator();
    return not_found(
        to_string(pos) +
        (wanted ? fmt::format(": never saved, and the generator '{}' {} of this save was not given",
                              wanted->name, wanted->version)
                : ": never saved, and the world has no generator"));
  }
  // Not corruption, whatever the decoder calls it: nothing stored is damaged.
  const auto blame = [&](const Error& error) {
    const GeneratorId id = generator_->id();
    return invalid_argument(fmt::format("{}: generator '{}' {}: {}", to_string(pos), id.name,
                                        id.version, error.message()));
  };
  Result<Bytes> payload =
      guarded(ErrorCode::invalid_argument, "generating", [&] { return generator_->generate(pos); });
  if (!payload) return blame(payload.error());
  Result<std::unique_ptr<Chunk>> chunk = guarded(
      ErrorCode::invalid_argument, fmt::format("decoding what it made as '{}'", type_->name()),
      [&] { return type_->decode(pos, *payload); });
  if (!chunk) return blame(chunk.error());
  if (*chunk == nullptr) return blame(invalid_argument("no chunk came of what it made"));
  return ChunkRef(*std::move(chunk));
}

}  // namespace varve
