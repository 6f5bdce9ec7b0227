// A chunk type of the game's own: voxels in layers. Clones share the layers, so that a chunk that
// is saved and edited at once costs a copy of one layer, not of the chunk.
#include <varve/world.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

namespace {

using varve::Bytes, varve::ByteView, varve::Result, varve::Status;

constexpr std::size_t kSide = 16;
constexpr std::size_t kLayerSize = kSide * kSide;  // a byte for each voxel

enum class Block : std::uint8_t { air, stone, water };
constexpr std::uint8_t kBlockCount = 3;

struct Voxel {
  std::uint8_t x = 0;
  std::uint8_t y = 0;
  std::uint8_t z = 0;
};

bool is_inside(Voxel v) { return v.x < kSide && v.y < kSide && v.z < kSide; }

// As bytes: u8 version (1), u16 LE with a bit for each layer that is not all air, then these
// layers from below, 256 bytes each.
class VoxelChunk final : public varve::Chunk {
 public:
  using Layer = std::array<Block, kLayerSize>;
  static constexpr std::size_t kHeaderSize = 3;
  static constexpr std::uint8_t kVersion = 1;

  VoxelChunk() { layers_.fill(air()); }

  Block at(Voxel v) const { return (*layers_[v.y])[index_in_layer(v)]; }

  // Layers are never changed, only replaced: whoever else shares one keeps what they have.
  void set(Voxel v, Block block) {
    if (at(v) == block) return;
    auto layer = std::make_shared<Layer>(*layers_[v.y]);
    (*layer)[index_in_layer(v)] = block;
    set_layer(v.y, std::move(layer));
  }
  void fill_layer(std::size_t y, Block block) {
    if (std::ranges::all_of(*layers_[y], [&](Block b) { return b == block; })) return;
    auto layer = std::make_shared<Layer>();
    layer->fill(block);
    set_layer(y, std::move(layer));
  }

  // An edit as bytes: x, y, z, block.
  static Bytes edit_of(Voxel v, Block block) {
    const std::array edit = {std::byte{v.x}, std::byte{v.y}, std::byte{v.z},
                             static_cast<std::byte>(block)};
    return Bytes::copy_of(edit);
  }
  Result<bool> apply(ByteView edit) override {
    const auto [voxel, block] = parsed(edit);
    if (edit.size() != 4 || !is_inside(voxel) || static_cast<std::uint8_t>(block) >= kBlockCount)
      return varve::invalid_argument("voxels: not an edit of a voxel of this chunk");
    if (at(voxel) == block) return false;
    set(voxel, block);
    return true;
  }
  // Asked while somebody else holds the chunk, before it is cloned.
  bool would_change(ByteView edit) const override {
    const auto [voxel, block] = parsed(edit);
    return edit.size() != 4 || !is_inside(voxel) || at(voxel) != block;
  }

  Result<Bytes> encode(varve::BufferPool& pool) const override {
    varve::Buffer out = pool.take(kHeaderSize + kSide * kLayerSize);
    std::size_t size = kHeaderSize;
    std::uint16_t mask = 0;
    for (std::size_t y = 0; y < kSide; ++y) {
      if (*layers_[y] == *air()) continue;
      mask |= static_cast<std::uint16_t>(1U << y);
      std::memcpy(out.data() + size, layers_[y]->data(), kLayerSize);
      size += kLayerSize;
    }
    out.data()[0] = std::byte{kVersion};
    out.data()[1] = static_cast<std::byte>(mask);
    out.data()[2] = static_cast<std::byte>(mask >> 8);
    out.resize(size);
    return pool.share(std::move(out));
  }

  // Refuses everything encode() would not have made.
  static Result<std::unique_ptr<varve::Chunk>> decode(ByteView in) {
    if (in.size() < kHeaderSize || in[0] != std::byte{kVersion})
      return varve::corruption("voxels: not a voxel chunk of version 1");
    const auto mask = std::to_integer<unsigned>(in[1]) | std::to_integer<unsigned>(in[2]) << 8;
    auto chunk = std::make_unique<VoxelChunk>();
    std::size_t offset = kHeaderSize;
    for (std::size_t y = 0; y < kSide; ++y) {
      if ((mask >> y & 1) == 0) continue;
      if (in.size() - offset < kLayerSize) return varve::corruption("voxels: a layer is cut off");
      const ByteView cells = in.subspan(offset, kLayerSize);
      offset += kLayerSize;
      if (std::ranges::any_of(cells, [](std::byte b) { return b >= std::byte{kBlockCount}; }))
        return varve::corruption("voxels: a block there is no such kind of");
      auto layer = std::make_shared<Layer>();
      std::memcpy(layer->data(), cells.data(), kLayerSize);
      if (*layer == *air()) return varve::corruption("voxels: a layer of air is written out");
      chunk->layers_[y] = std::move(layer);
    }
    if (offset != in.size()) return varve::corruption("voxels: bytes after the last layer");
    return chunk;
  }

  std::unique_ptr<varve::Chunk> clone() const override {
    return std::make_unique<VoxelChunk>(*this);
  }

  std::size_t memory_size() const override {
    const auto is_air = [](const auto& layer) { return layer == air(); };
    const auto air_count = std::ranges::count_if(layers_, is_air);
    return sizeof(*this) + (kSide - static_cast<std::size_t>(air_count)) * sizeof(Layer);
  }

 private:
  struct Edit {
    Voxel voxel;
    Block block = Block::air;
  };
  static Edit parsed(ByteView edit) {
    if (edit.size() != 4) return {};
    const auto u8 = [&](std::size_t i) { return std::to_integer<std::uint8_t>(edit[i]); };
    return {.voxel = {u8(0), u8(1), u8(2)}, .block = static_cast<Block>(u8(3))};
  }
  static std::size_t index_in_layer(Voxel v) { return v.z * kSide + v.x; }
  static const std::shared_ptr<const Layer>& air() {
    static const auto layer = std::make_shared<const Layer>();
    return layer;
  }
  void set_layer(std::size_t y, std::shared_ptr<const Layer> layer) {
    layers_[y] = std::move(layer);
    mark_changed();  // this is what makes the chunk dirty
  }

  std::array<std::shared_ptr<const Layer>, kSide> layers_;
};

class VoxelType final : public varve::ChunkType {
 public:
  std::string_view name() const override { return "voxels"; }
  Result<std::unique_ptr<varve::Chunk>> decode(const varve::ChunkPos&,
                                               const Bytes& payload) const override {
    return VoxelChunk::decode(payload);
  }
};

// --- Using it --------------------------------------------------------------------------

constexpr varve::ChunkPos kHere(0, 0, 0);
constexpr Voxel kWell{.x = 8, .y = 0, .z = 8};
constexpr Voxel kTower{.x = 2, .y = 1, .z = 3};

Status expect(bool is_so, const std::string& what) {
  if (!is_so) return varve::corruption("not as expected: " + what);
  std::cout << what << "\n";
  return {};
}

Status build(const varve::WorldOptions& options) {
  auto opened = varve::World::create("memory:voxels", options);
  if (!opened) return opened.error();
  varve::World& world = **opened;
  if (auto put = world.put(kHere, std::make_unique<VoxelChunk>()); !put) return put;

  // By the setters of the type, or by bytes, which may come over a network.
  const auto floor = world.edit<VoxelChunk>(kHere, [](VoxelChunk& chunk) {
    chunk.fill_layer(0, Block::stone);
    chunk.set(kTower, Block::stone);
  });
  if (!floor) return floor.error();
  const varve::ChunkRef before = world.get(kHere);
  const auto well = world.edit(kHere, VoxelChunk::edit_of(kWell, Block::water));
  if (!well) return well.error();
  const auto again = world.edit(kHere, VoxelChunk::edit_of(kWell, Block::water));
  if (!again) return again.error();

  if (auto so = expect(*floor && *well, "both edits changed something"); !so) return so;
  if (auto so = expect(!*again, "the same edit again changes nothing"); !so) return so;
  const bool kept = before.as<VoxelChunk>().at(kWell) == Block::stone;
  if (auto so = expect(kept, "what was held before the edit is as it was"); !so) return so;
  const auto outside = world.edit(kHere, VoxelChunk::edit_of({.x = 16}, Block::stone));
  if (auto so = expect(!outside, "an edit outside the chunk is refused"); !so) return so;
  return world.close();
}

Status look(const varve::WorldOptions& options) {
  auto opened = varve::World::open("memory:voxels", options);
  if (!opened) return opened.error();
  varve::World& world = **opened;
  const auto chunk = world.load_now(kHere);
  if (!chunk) return chunk.error();
  const auto& voxels = chunk->as<VoxelChunk>();
  const bool same = voxels.at(kWell) == Block::water && voxels.at(kTower) == Block::stone;
  if (auto so = expect(same, "opened again: the well and the tower are there"); !so) return so;

  const auto stored = world.store().read_chunk(kHere);
  if (!stored) return stored.error();
  if (!*stored) return varve::not_found("the chunk was not saved");
  const std::string size = std::to_string((*stored)->size());
  if (auto so = expect(size == "515", "two layers of sixteen are stored: " + size + " bytes"); !so)
    return so;
  const bool refused = !VoxelChunk::decode((*stored)->slice(0, (*stored)->size() - 1));
  if (auto so = expect(refused, "a chunk that lacks a byte is refused"); !so) return so;
  return world.close();
}

}  // namespace

int main() {
  varve::WorldOptions options;
  options.chunk_type = std::make_shared<VoxelType>();
  Status done = build(options);
  if (done) done = look(options);
  if (done) return 0;
  std::cerr << "own_chunk_type: " << done.error().message() << "\n";
  return 1;
}
