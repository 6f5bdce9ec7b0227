// What fills chunks nobody has saved.
#pragma once

#include "varve/bytes.h"
#include "varve/key.h"
#include "varve/result.h"
#include "varve/store.h"

namespace varve {

// A generator is pure: the same position gives the same bytes, on any machine, for as
// long as its version stays. Chunks that equal what it makes are never saved, so a
// generator that changed its mind silently would change the world. Whoever changes its
// output raises the version.
//
// Thread safety: generate() runs on several threads at once.
class Generator {
 public:
  virtual ~Generator() = default;

  // A save remembers both, and is not opened with another generator.
  virtual GeneratorId id() const = 0;

  // The chunk's payload, as its ChunkType would encode it. An error, or an exception,
  // fails the load of that chunk and nothing else.
  virtual Result<Bytes> generate(const ChunkPos& pos) const = 0;
};

}  // namespace varve
