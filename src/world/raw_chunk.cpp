#include <fmt/format.h>

#include <cstring>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/try.h"
#include "varve/chunk.h"
#include "world/chunk_access.h"

namespace varve {
namespace {

struct RawEdit {
  std::size_t offset = 0;
  ByteView bytes;
};

Status check_range(std::size_t offset, std::size_t size, std::size_t chunk_size) {
  if (offset <= chunk_size && size <= chunk_size - offset) return {};
  return invalid_argument(
      fmt::format("raw chunk: {} bytes at {} reach past the end at {}", size, offset, chunk_size));
}

// An edit as edit_of() makes it, if it stays inside a chunk of `chunk_size` bytes.
Result<RawEdit> parse_edit(ByteView edit, std::size_t chunk_size) {
  ByteReader r(edit);
  RawEdit parsed;
  parsed.offset = r.u32_le();
  parsed.bytes = r.rest();
  if (!r.ok()) {
    return invalid_argument(
        fmt::format("raw chunk: an edit of {} bytes, expected 4 and what to put", edit.size()));
  }
  VARVE_TRY(check_range(parsed.offset, parsed.bytes.size(), chunk_size));
  return parsed;
}

struct RawCell {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
};

Result<RawCell> parse_cell(ByteView cell) {
  ByteReader r(cell);
  const RawCell parsed{.offset = r.u32_le(), .size = r.u32_le()};
  if (r.at_end()) return parsed;
  return invalid_argument(fmt::format(
      "raw chunk: a cell of {} bytes, expected 4 for the offset and 4 for the size", cell.size()));
}

bool is_there(ByteView contents, const RawEdit& edit) {
  return equal(contents.subspan(edit.offset, edit.bytes.size()), edit.bytes);
}

class RawChunkType final : public ChunkType {
 public:
  explicit RawChunkType(std::size_t chunk_size) : chunk_size_(chunk_size) {}

  std::string_view name() const override { return "raw"; }

  Result<std::unique_ptr<Chunk>> decode(const ChunkPos&, const Bytes& payload) const override {
    if (chunk_size_ != 0 && payload.size() != chunk_size_) {
      return corruption(
          fmt::format("raw chunk: expected {} bytes, found {}", chunk_size_, payload.size()));
    }
    return std::make_unique<RawChunk>(payload);
  }

  Result<std::vector<Bytes>> cells_of(ByteView edit) const override {
    VARVE_ASSIGN(const RawEdit parsed, parse_edit(edit, ~std::uint32_t{0}));
    return std::vector<Bytes>{RawChunk::cell_of(static_cast<std::uint32_t>(parsed.offset),
                                                static_cast<std::uint32_t>(parsed.bytes.size()))};
  }
  Result<Bytes> cell_edit(ByteView cell, ByteView value) const override {
    VARVE_ASSIGN(const RawCell parsed, parse_cell(cell));
    if (value.size() == parsed.size) return RawChunk::edit_of(parsed.offset, value);
    return invalid_argument(
        fmt::format("raw chunk: {} bytes for a cell of {} bytes", value.size(), parsed.size));
  }

 private:
  std::size_t chunk_size_;
};

}  // namespace

Bytes RawChunk::edit_of(std::uint32_t offset, ByteView bytes) {
  ByteWriter out;
  out.reserve(sizeof(offset) + bytes.size());
  out.u32_le(offset);
  out.bytes(bytes);
  return out.take();
}

Bytes RawChunk::cell_of(std::uint32_t offset, std::uint32_t size) {
  ByteWriter out;
  out.u32_le(offset);
  out.u32_le(size);
  return out.take();
}

Result<Bytes> RawChunk::read_cell(ByteView cell) const {
  VARVE_ASSIGN(const RawCell parsed, parse_cell(cell));
  const Status fits = check_range(parsed.offset, parsed.size, view().size());
  if (!fits) return not_found(fits.error().message());
  return Bytes::copy_of(view().subspan(parsed.offset, parsed.size));
}

Status RawChunk::set(std::size_t offset, ByteView bytes) {
  VARVE_TRY(check_range(offset, bytes.size(), view().size()));
  if (equal(view().subspan(offset, bytes.size()), bytes)) return {};
  // Before anything is changed: this may be all the memory there is.
  const bool is_small = offset <= ~std::uint32_t{0};
  Bytes edit;
  if (wants_edits() && is_small) edit = edit_of(static_cast<std::uint32_t>(offset), bytes);
  if (own_.empty()) own_ = stored_.clone();
  // `bytes` may be a part of this very chunk: it overlaps what is written, and lives in
  // `stored_` until that is let go.
  std::memmove(own_.data() + offset, bytes.data(), bytes.size());
  stored_ = {};
  if (is_small) {
    mark_changed(edit);
  } else {
    mark_changed();
  }
  return {};
}

Result<Bytes> RawChunk::encode(BufferPool& pool) const {
  if (own_.empty()) return stored_;
  if (ChunkAccess::holder_count(*this) != 0) {
    // The bytes hold the chunk, so that it counts as held and an edit clones it for as long
    // as somebody reads them.
    return Bytes::pinning(std::make_shared<const ChunkRef>(this), own_.view());
  }
  // Nobody holds it by reference (it lies in a unique_ptr, or on the stack), so a reference
  // that comes and goes would delete it.
  Buffer copy = pool.take(own_.size());
  std::memcpy(copy.data(), own_.data(), own_.size());
  return pool.share(std::move(copy));
}

std::unique_ptr<Chunk> RawChunk::clone() const {
  // Copied at once if the bytes are its own: a clone is made because an edit comes.
  auto copy = std::make_unique<RawChunk>(stored_);
  if (!own_.empty()) {
    copy->own_.resize(own_.size());
    std::memcpy(copy->own_.data(), own_.data(), own_.size());
  }
  return copy;
}

Result<bool> RawChunk::apply(ByteView edit) {
  VARVE_ASSIGN(const RawEdit parsed, parse_edit(edit, view().size()));
  if (is_there(view(), parsed)) return false;
  VARVE_TRY(set(parsed.offset, parsed.bytes));
  return true;
}

bool RawChunk::would_change(ByteView edit) const {
  const auto parsed = parse_edit(edit, view().size());
  // A bad edit is left to apply(), which says what is wrong with it.
  return !parsed || !is_there(view(), *parsed);
}

std::shared_ptr<const ChunkType> raw_chunks(std::size_t chunk_size) {
  return std::make_shared<RawChunkType>(chunk_size);
}

}  // namespace varve
