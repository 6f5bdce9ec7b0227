#include <gtest/gtest.h>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "journal/history_world.h"
#include "varve/nebula.h"

namespace varve::test {
namespace {

class RawKit final : public ChunkKit {
 public:
  std::shared_ptr<const ChunkType> type() const override { return raw_chunks(); }

  Bytes some_chunk(std::mt19937_64& random) const override {
    std::string text(kSizeMin + random() % 3, '.');
    for (char& c : text) c = static_cast<char>('a' + random() % 6);
    return Bytes::copy_of(text);
  }
  Bytes some_edit(std::mt19937_64& random, const Bytes& chunk) const override {
    const std::size_t size = 1 + random() % 3;
    std::string text(size, '.');
    for (char& c : text) c = static_cast<char>('A' + random() % 26);
    return RawChunk::edit_of(static_cast<std::uint32_t>(random() % (chunk.size() - size + 1)),
                             as_byte_view(text));
  }
  std::optional<Bytes> edited(const Bytes& chunk, const Bytes& edit) const override {
    ByteReader r(edit);
    const std::size_t offset = r.u32_le();
    const ByteView bytes = r.rest();
    std::string text(chunk.text());
    if (offset + bytes.size() > text.size()) return std::nullopt;
    text.replace(offset, bytes.size(), as_text(bytes));
    return Bytes::copy_of(text);
  }
  std::vector<Bytes> cells() const override {
    std::vector<Bytes> cells;
    for (std::uint32_t i = 0; i < kSizeMin + 2; ++i) cells.push_back(RawChunk::cell_of(i, 1));
    return cells;
  }
  bool writes_to(const Bytes& edit, const Bytes& cell) const override {
    ByteReader e(edit), c(cell);
    const std::size_t offset = e.u32_le(), at = c.u32_le();
    return at >= offset && at < offset + e.rest().size();
  }
  std::optional<Bytes> cell_of(const Bytes& chunk, const Bytes& cell) const override {
    ByteReader c(cell);
    const std::size_t at = c.u32_le();
    if (at >= chunk.size()) return std::nullopt;
    return Bytes::copy_of(chunk.text().substr(at, 1));
  }

 private:
  static constexpr std::size_t kSizeMin = 10;
};

class VoxelKit final : public ChunkKit {
 public:
  std::shared_ptr<const ChunkType> type() const override { return nebula::voxel_chunks(); }

  Bytes some_chunk(std::mt19937_64& random) const override {
    nebula::VoxelChunk chunk(static_cast<nebula::VoxelType>(random() % 3));
    EXPECT_TRUE(chunk.set(cell(random() % kCells), static_cast<nebula::VoxelType>(random() % 9)));
    return encoded(chunk);
  }
  Bytes some_edit(std::mt19937_64& random, const Bytes&) const override {
    ByteWriter out;
    for (std::size_t n = 1 + random() % 3; n > 0; --n) {
      out.u16_le(static_cast<std::uint16_t>(cell(random() % kCells).index()));
      out.u16_le(static_cast<std::uint16_t>(random() % 500));
    }
    return out.take();
  }
  std::optional<Bytes> edited(const Bytes& payload, const Bytes& edit) const override {
    const auto chunk = nebula::VoxelChunk::decode(payload).value_or(nullptr);
    ByteReader r(edit);
    while (!r.at_end()) {
      const std::uint16_t index = r.u16_le();
      const nebula::VoxelType type = r.u16_le();
      EXPECT_TRUE(chunk->set(at_index(index), type));
    }
    return encoded(*chunk);
  }
  std::vector<Bytes> cells() const override {
    std::vector<Bytes> cells;
    for (std::size_t i = 0; i < kCells; ++i) cells.push_back(nebula::VoxelChunk::cell_of(cell(i)));
    return cells;
  }
  bool writes_to(const Bytes& edit, const Bytes& cell) const override {
    ByteReader c(cell), e(edit);
    const std::uint16_t index = c.u16_le();
    while (!e.at_end()) {
      const bool is_it = e.u16_le() == index;
      if (is_it) return true;
      e.skip(2);
    }
    return false;
  }
  std::optional<Bytes> cell_of(const Bytes& payload, const Bytes& cell) const override {
    const auto chunk = nebula::VoxelChunk::decode(payload).value_or(nullptr);
    ByteReader c(cell);
    ByteWriter out;
    out.u16_le(chunk->get(at_index(c.u16_le())));
    return out.take();
  }

 private:
  static constexpr std::size_t kCells = 12;

  static nebula::Cell at_index(std::size_t index) {
    return {static_cast<std::uint8_t>(index % 32), static_cast<std::uint8_t>(index / 32 % 32),
            static_cast<std::uint8_t>(index / 1024)};
  }
  // In all sections, some of them in one.
  static nebula::Cell cell(std::size_t number) { return at_index(number * 2'711); }
  static Bytes encoded(const nebula::VoxelChunk& chunk) {
    BufferPool pool;
    return chunk.encode(pool).value();
  }
};

}  // namespace

std::unique_ptr<ChunkKit> raw_kit() { return std::make_unique<RawKit>(); }
std::unique_ptr<ChunkKit> voxel_kit() { return std::make_unique<VoxelKit>(); }

}  // namespace varve::test
