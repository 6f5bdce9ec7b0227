// What tests of bad days share: flat worlds on the sample disk store, changed and read by
// their first byte.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "contract/one_file_store.h"
#include "varve/format.h"
#include "world/sample_world.h"

namespace varve::test {

inline WorldOptions flat_options() {
  return {.chunk_type = raw_chunks(kFlatChunkSize), .generator = std::make_shared<FlatGenerator>()};
}

// Registered formats stay for the life of the process.
inline void register_once(std::unique_ptr<const Format> format) {
  const Result<const Format*> known = find_format(format->name());
  if (!known) {
    ASSERT_TRUE(register_format(std::move(format)));
  }
}

inline Result<std::unique_ptr<World>> create_on(Vfs& vfs, const std::string& path) {
  auto store = OneFileStore::create(vfs, path);
  if (!store) return store.error();
  return World::on(*std::move(store), flat_options());
}

inline Result<std::unique_ptr<World>> open_on(Vfs& vfs, const std::string& path) {
  auto store = OneFileStore::open(vfs, path);
  if (!store) return store.error();
  return World::on(*std::move(store), flat_options());
}

inline void set(World& world, const ChunkPos& pos, std::uint8_t value) {
  ASSERT_TRUE(world.load_now(pos));
  const std::byte byte{value};
  ASSERT_TRUE(world.edit(pos, RawChunk::edit_of(0, {&byte, 1})));
}

inline int get(World& world, const ChunkPos& pos) {
  const auto chunk = world.load_now(pos);
  return chunk ? static_cast<int>(chunk->as<RawChunk>().view()[0]) : -1;
}

}  // namespace varve::test
