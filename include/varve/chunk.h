// How a chunk lives in memory. The game chooses: Varve ships raw bytes, and a game
// brings its own type in a page of code.
//
// A chunk is a value. While more than one party holds it (a save that runs, a ChunkRef
// the game keeps) it does not change: the first edit after that works on a clone. So a
// save costs the game thread nothing but references, and what was handed out stays as it
// was. Large chunks keep their sections behind references of their own, so that a clone
// copies a few pointers and an edit copies one section.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "varve/bytes.h"
#include "varve/key.h"
#include "varve/result.h"

namespace varve {

class ChunkRef;

// Lends blocks to encode() and gets them back when what was made of them is written.
//
// Thread safety: all calls may be made from any thread.
class BufferPool {
 public:
  BufferPool();
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // A block of `size` indeterminate bytes.
  Buffer take(std::size_t size);
  // Shares a filled block; it comes back once nobody holds the Bytes.
  Bytes share(Buffer filled);

 private:
  struct Blocks;
  std::shared_ptr<Blocks> blocks_;
};

// Thread safety: const calls may run on several threads at once, the others are made
// by World on the game thread while nobody else holds the chunk.
// Exceptions that leave a call become the error of the save, load or edit they belong to.
class Chunk {
 public:
  virtual ~Chunk() = default;

  // The bytes to store. Runs on a background thread, or on one that waits for the save, once per
  // save of a chunk that changed. A failure keeps this chunk dirty; the others are saved.
  virtual Result<Bytes> encode(BufferPool& pool) const = 0;

  // A chunk that looks the same and shares nothing that either will change in place. One
  // that shares its sections must replace a section it changes, unless it knows to be the
  // only one who has it. Called on the game thread alone.
  virtual std::unique_ptr<Chunk> clone() const = 0;

  // Makes the change `edit` describes, in bytes whose meaning the type defines (a cell
  // and its new value). An edit assigns, it never increments: applied twice it must come
  // to the same. Returns whether anything changed; after an error nothing has.
  virtual Result<bool> apply(ByteView edit) = 0;

  // Whether apply() would change anything. Asked before a chunk is cloned; a type
  // that cannot tell cheaply leaves this as it is and pays with a clone.
  virtual bool would_change(ByteView edit) const {
    (void)edit;
    return true;
  }

  // What stands in a cell; both in bytes whose meaning the type defines. For history: a type that
  // leaves this as it is has no history of cells. invalid_argument for what never is a cell,
  // not_found for one that this chunk has not, where chunks differ.
  virtual Result<Bytes> read_cell(ByteView cell) const {
    (void)cell;
    return unsupported("this chunk type knows no cells");
  }

  // Roughly what it occupies, for the memory budget.
  virtual std::size_t memory_size() const = 0;

 protected:
  Chunk() = default;
  // Copies the contents of a type, not who holds it.
  Chunk(const Chunk&) noexcept {}
  Chunk& operator=(const Chunk&) noexcept { return *this; }

  // A type's own setters call one of these when they really changed something, and only then:
  // it is what makes the chunk dirty. With the edit that would have done the same, a journal logs
  // that; without it, the whole chunk.
  void mark_changed() noexcept { changed_ = changed_as_whole_ = true; }
  void mark_changed(ByteView edit) noexcept;
  // Whether the edit is of use to anybody. If not, mark_changed({}) says the same.
  bool wants_edits() const noexcept { return edits_ != nullptr; }

 private:
  friend class ChunkRef;
  friend class ChunkAccess;

  mutable std::atomic<std::uint32_t> holder_count_ = 0;
  bool changed_ = false;
  bool changed_as_whole_ = false;
  // Where edits of setters go while somebody wants them.
  std::vector<Bytes>* edits_ = nullptr;
};

// Holds a chunk that does not change while it is held. Copying it is cheap.
class ChunkRef {
 public:
  ChunkRef() = default;
  ChunkRef(std::unique_ptr<Chunk> chunk) noexcept  // NOLINT(google-explicit-constructor)
      : ChunkRef(chunk.release()) {}
  explicit ChunkRef(const Chunk* chunk) noexcept : chunk_(chunk) {
    if (chunk_ != nullptr) chunk_->holder_count_.fetch_add(1, std::memory_order_relaxed);
  }
  ChunkRef(const ChunkRef& other) noexcept : ChunkRef(other.chunk_) {}
  ChunkRef(ChunkRef&& other) noexcept : chunk_(std::exchange(other.chunk_, nullptr)) {}
  ChunkRef& operator=(ChunkRef other) noexcept {
    std::swap(chunk_, other.chunk_);
    return *this;
  }
  ~ChunkRef() {
    if (chunk_ != nullptr && chunk_->holder_count_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete chunk_;
  }

  const Chunk* get() const noexcept { return chunk_; }
  const Chunk& operator*() const noexcept { return *chunk_; }
  const Chunk* operator->() const noexcept { return chunk_; }
  explicit operator bool() const noexcept { return chunk_ != nullptr; }

  // The chunk as the type the world was opened with.
  template <class T>
  const T& as() const noexcept {
    return static_cast<const T&>(*chunk_);
  }

  friend bool operator==(const ChunkRef&, const ChunkRef&) = default;

 private:
  friend class ChunkAccess;

  const Chunk* chunk_ = nullptr;
};

// Makes chunks from what is stored and from what the generator makes.
//
// Thread safety: decode() runs on several background threads at once.
class ChunkType {
 public:
  virtual ~ChunkType() = default;

  virtual std::string_view name() const = 0;
  // `corruption` if `payload` is no chunk of this type. It may come from a damaged or
  // hostile file: check before allocating.
  virtual Result<std::unique_ptr<Chunk>> decode(const ChunkPos& pos,
                                                const Bytes& payload) const = 0;

  // For a type whose chunks have cells (Chunk::read_cell): those an edit writes to, and the edit
  // that gives a cell a value that was read from it.
  virtual Result<std::vector<Bytes>> cells_of(ByteView edit) const {
    (void)edit;
    return unsupported("this chunk type knows no cells");
  }
  virtual Result<Bytes> cell_edit(ByteView cell, ByteView value) const {
    (void)cell;
    (void)value;
    return unsupported("this chunk type knows no cells");
  }
};

// --- Raw bytes -----------------------------------------------------------------------

// A chunk that is just bytes. An edit is a position and the bytes to put there. A cell is any part
// of it: u32 LE offset, u32 LE size; its value is the bytes.
class RawChunk final : public Chunk {
 public:
  explicit RawChunk(Bytes contents) noexcept : stored_(std::move(contents)) {}

  ByteView view() const noexcept { return own_.empty() ? stored_.view() : own_.view(); }

  // The edit that puts `bytes` at `offset`, for World::edit.
  static Bytes edit_of(std::uint32_t offset, ByteView bytes);
  static Bytes cell_of(std::uint32_t offset, std::uint32_t size);
  // The same as a setter. Refused if it reaches past the end.
  Status set(std::size_t offset, ByteView bytes);

  Result<Bytes> encode(BufferPool& pool) const override;
  std::unique_ptr<Chunk> clone() const override;
  Result<bool> apply(ByteView edit) override;
  bool would_change(ByteView edit) const override;
  Result<Bytes> read_cell(ByteView cell) const override;
  std::size_t memory_size() const override { return sizeof(*this) + view().size(); }

 private:
  // What it was made of, shared with whoever made it, until the first change; then
  // `own_` has the bytes.
  Bytes stored_;
  Buffer own_;
};

// The type of raw chunks. With `chunk_size` every chunk has exactly that size and any
// other payload is refused; with 0 any size goes.
std::shared_ptr<const ChunkType> raw_chunks(std::size_t chunk_size = 0);

}  // namespace varve
