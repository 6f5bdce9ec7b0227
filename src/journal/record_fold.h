// A record that is carried forward, change by change.
//
// Thread safety: none of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "journal/record_tick.h"
#include "varve/chunk.h"
#include "varve/generator.h"
#include "varve/key.h"

namespace varve::journal {

// What edits of chunks need.
struct ChunkMaking {
  std::shared_ptr<const ChunkType> type = {};  // may be none
  std::shared_ptr<const Generator> generator = {};
  std::string type_name = {};                    // whose edits the journal has
  std::optional<GeneratorId> generator_id = {};  // the save's

  // unsupported, naming what is needed.
  Status check_type() const;
  // What was there before anybody saved it; nullopt if nothing makes it.
  Result<std::optional<Bytes>> generated(const ChunkPos& pos) const;
};

class RecordFold {
 public:
  // `making` outlives it.
  RecordFold(const ChunkMaking& making, RecordKey key, RecordValue value)
      : making_(making), key_(std::move(key)), value_(std::move(value)) {}

  Status apply(const RecordChange& change);
  // As it is now; of a chunk that was edited, encoded.
  Result<RecordValue> value();
  // What stands in a cell of a chunk: of one that nobody saved, what the generator makes, if there
  // is one here. nullopt if there is no chunk, or no such cell in it.
  Result<std::optional<Bytes>> cell(ByteView cell);

 private:
  // Makes `chunk_`, from the value or from the generator. False if there is neither.
  Result<bool> make_chunk();
  Status apply_edit(const Bytes& edit);

  const ChunkMaking& making_;
  RecordKey key_;
  RecordValue value_;
  // Of a chunk, once somebody looked inside. It is what `value_` says, or newer.
  std::unique_ptr<Chunk> chunk_;
  bool is_edited_ = false;
};

}  // namespace varve::journal
