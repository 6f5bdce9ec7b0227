// The vocabulary of the nebula format: a save that is a directory with one file per
// chunk, a scene of entities and a text file about the world.
//
//   my_world/world.ron                     WorldMeta
//   my_world/entities.bin                  Scene
//   my_world/chunks/<face>_<x>_<y>_<lod>.chunk   VoxelChunk, compressed
//
// A save of this format is opened like any other, through a World or a Store. What
// is here gives its bytes a meaning: the payload of a chunk, the data of an entity and
// the global `file:world.ron`. docs/formats/nebula_v1.md has every byte.
//
// Decoders take bytes from anywhere: what they refuse is `corruption`, or `unsupported`
// for a version from the future. What they allocate is bounded by their input: 64 times its
// size for bytes, 256 times for RON, and for a chunk two times its cells. Encoders refuse
// what could not be read back as invalid_argument.
//
// Thread safety: all functions may be called from any thread. Nothing throws; only a
// VoxelChunk may where Chunk says so.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "varve/bytes.h"
#include "varve/chunk.h"
#include "varve/key.h"
#include "varve/result.h"
#include "varve/store.h"

namespace varve::nebula {

// --- Positions -----------------------------------------------------------------------

// The six sides of a cube planet.
enum class Face : std::uint8_t { pos_x, neg_x, pos_y, neg_y, pos_z, neg_z };
inline constexpr int kFaceCount = 6;

// The coordinates of a chunk are face, x, y and level of detail, in this order:
// "chunk:0,3,-2,0". Levels go from 0, the finest, to 255.
constexpr ChunkPos chunk_pos(Face face, std::int32_t x, std::int32_t y, std::uint8_t lod = 0) {
  return ChunkPos(static_cast<std::int32_t>(face), x, y, lod);
}

// --- The world as a whole ------------------------------------------------------------

inline constexpr std::uint32_t kSaveVersion = 1;

// The global it is kept in; a save that was just created has none.
inline constexpr std::string_view kMetaGlobal = "file:world.ron";

// What world.ron says. Times of the calendar are RFC 3339 texts, which are kept as they are.
struct WorldMeta {
  std::uint32_t save_version = kSaveVersion;
  std::uint64_t seed = 0;
  double world_time = 0;  // seconds
  std::string display_name = {};
  std::string created_at = {};
  std::string last_saved_at = {};
  double play_time = 0;  // seconds
  // Fields somebody else added, by name and as compact RON, in their order. They are
  // written back behind the others.
  std::vector<std::pair<std::string, std::string>> other_fields = {};

  friend bool operator==(const WorldMeta&, const WorldMeta&) = default;
};

// Older versions become this one. A field that is not there has its default, but for
// save_version, which must be. A version above kSaveVersion is unsupported, and so is 0,
// which no program ever wrote.
Result<WorldMeta> decode_meta(std::string_view text);
// The text of world.ron, to put into kMetaGlobal. save_version must be kSaveVersion.
Result<std::string> encode_meta(const WorldMeta& meta);

// --- Chunks --------------------------------------------------------------------------

// What is in a cell; 0 is air.
using VoxelType = std::uint16_t;

inline constexpr int kChunkSide = 32;
inline constexpr std::size_t kCellCount = 32 * 32 * 32;

struct Cell {
  std::uint8_t x = 0;
  std::uint8_t y = 0;
  std::uint8_t z = 0;

  constexpr bool is_valid() const noexcept {
    return x < kChunkSide && y < kChunkSide && z < kChunkSide;
  }
  constexpr std::size_t index() const noexcept { return x + 32u * y + 1024u * z; }
};

// 32 x 32 x 32 cells. Clones share their sections (eight slabs of four layers of z), and a
// section that was made of one type takes no memory of its own until it is changed. For its history
// a cell is named by its index, u16 LE; its value is the type, u16 LE.
class VoxelChunk final : public Chunk {
 public:
  // All of one type.
  explicit VoxelChunk(VoxelType all = 0);
  // By Cell::index(): what a generator fills.
  explicit VoxelChunk(std::span<const VoxelType, kCellCount> cells);
  ~VoxelChunk() override;
  // From the payload of a chunk: an NVCK of version 1 or 2.
  static Result<std::unique_ptr<VoxelChunk>> decode(ByteView payload);

  // `cell` must be valid.
  VoxelType get(Cell cell) const noexcept;
  // All of them by Cell::index(), for those who look at many: a mesher.
  void copy_to(std::span<VoxelType, kCellCount> out) const noexcept;
  // Returns whether anything changed. invalid_argument for a cell outside.
  Result<bool> set(Cell cell, VoxelType type);

  // The edit that does the same, for World::edit: u16 LE cell index, u16 LE type. An edit
  // may hold several of these in a row; they are made all or none, and of two for one cell
  // the later counts. The edit of a cell outside is one that is refused.
  static Bytes edit_of(Cell cell, VoxelType type);
  // The cell's name, for WorldHistory::block_history.
  static Bytes cell_of(Cell cell);

  Result<Bytes> encode(BufferPool& pool) const override;
  std::unique_ptr<Chunk> clone() const override;
  Result<bool> apply(ByteView edit) override;
  bool would_change(ByteView edit) const override;
  Result<Bytes> read_cell(ByteView cell) const override;
  std::size_t memory_size() const override;

 private:
  static constexpr std::size_t kSectionCount = 8;
  static constexpr std::size_t kSectionCellCount = kCellCount / kSectionCount;
  struct Section;

  VoxelChunk(const VoxelChunk& other);
  VoxelType at(std::size_t cell_index) const noexcept;
  Section& own_section(std::size_t index);

  // Null where every cell of a section is `uniform_`.
  std::array<std::shared_ptr<Section>, kSectionCount> sections_;
  std::array<VoxelType, kSectionCount> uniform_ = {};
  // Which sections no other chunk has ever shared, so that they may be written into. Only
  // the game thread looks at it: how many share a section cannot be asked while threads
  // that encode let go of theirs.
  mutable std::array<bool, kSectionCount> is_own_ = {};
};

// For WorldOptions::chunk_type.
std::shared_ptr<const ChunkType> voxel_chunks();

// --- Scenes --------------------------------------------------------------------------

inline constexpr std::uint32_t kSceneVersion = 1;

struct Component {
  std::string type_name = {};
  // RON text, or bytes whose meaning the game knows.
  std::variant<std::string, Bytes> data = {};

  friend bool operator==(const Component&, const Component&) = default;
};

struct SceneEntity {
  std::optional<std::string> name = {};
  std::uint64_t stable_id = 0;
  std::vector<Component> components = {};

  friend bool operator==(const SceneEntity&, const SceneEntity&) = default;
};

// Both are places in Scene::entities, counted from 0.
struct Relationship {
  std::uint64_t parent = 0;
  std::uint64_t child = 0;

  friend bool operator==(const Relationship&, const Relationship&) = default;
};

struct PrefabRef {
  std::string path = {};
  std::uint64_t root_entity = 0;  // a place in Scene::entities

  friend bool operator==(const PrefabRef&, const PrefabRef&) = default;
};

// A scene as its file has it. Nothing says that places lie inside the list.
struct Scene {
  std::uint32_t version = kSceneVersion;
  std::vector<SceneEntity> entities = {};
  std::vector<Relationship> relationships = {};
  std::vector<PrefabRef> prefab_refs = {};

  friend bool operator==(const Scene&, const Scene&) = default;
};

// The two forms of a scene: NSCD, as in entities.bin, and RON, as in *.scene.ron.
Result<Scene> decode_scene(ByteView nscd);
Result<Bytes> encode_scene(const Scene& scene);
Result<Scene> parse_scene(std::string_view ron);
Result<std::string> write_scene(const Scene& scene);

// --- Entities ------------------------------------------------------------------------

// What Entity::data holds in a nebula save: one entity with what the scene says of it
// elsewhere, named by stable ids instead of places. Equal records are equal bytes.
struct EntityRecord {
  std::optional<std::string> name = {};
  // None is called "varve.parents" or "varve.owner": in a scene these hold what it has no
  // other word for.
  std::vector<Component> components = {};
  // Entities it is a child of, rising. They need not be in the save.
  std::vector<EntityId> parents = {};
  // Prefabs whose root it is.
  std::vector<std::string> prefabs = {};

  friend bool operator==(const EntityRecord&, const EntityRecord&) = default;
};

Result<Bytes> encode_entity(const EntityRecord& record);
Result<EntityRecord> decode_entity(ByteView data);

// A scene as changes to commit, and a save's entities as a scene. Entities are in the order
// of their ids. A scene that has an id twice, or a relation or prefab at a place that is not
// there, is refused: `corruption`. Owners and parents outside the scene are kept in
// components of their own, see EntityRecord.
Result<std::vector<EntityChange>> to_changes(const Scene& scene);
// All of one generation if `view` is pinned, or nobody commits meanwhile.
Result<Scene> to_scene(const StoreView& view);

}  // namespace varve::nebula
