#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <cassert>
#include <cstring>

#include "base/endian.h"
#include "base/guarded.h"
#include "base/try.h"
#include "store/nebula/nvck.h"
#include "varve/nebula.h"

namespace varve::nebula {
namespace {

constexpr std::size_t kAssignmentSize = 4;

struct Assignment {
  std::size_t cell_index = 0;
  VoxelType type = 0;
};

Assignment assignment_at(ByteView edit, std::size_t index) {
  const std::byte* from = edit.data() + kAssignmentSize * index;
  return {load_le<std::uint16_t>(from), load_le<std::uint16_t>(from + 2)};
}

Status check_edit(ByteView edit) {
  if (edit.empty() || edit.size() % kAssignmentSize != 0) {
    return invalid_argument(
        fmt::format("voxel chunk: an edit of {} bytes, expected 4 for each cell", edit.size()));
  }
  for (std::size_t i = 0; i < edit.size() / kAssignmentSize; ++i) {
    if (const std::size_t cell = assignment_at(edit, i).cell_index; cell >= kCellCount) {
      return invalid_argument(
          fmt::format("voxel chunk: an edit of cell {}, there are {}", cell, kCellCount));
    }
  }
  return {};
}

// Calls visit(assignment) for the last assignment of each cell, in no order that counts,
// until it returns false. The edit was checked.
template <class Visit>
void for_each_final(ByteView edit, const Visit& visit) {
  const std::size_t count = edit.size() / kAssignmentSize;
  if (count == 1) return void(visit(assignment_at(edit, 0)));
  std::bitset<kCellCount> seen;
  for (std::size_t i = count; i-- > 0;) {
    const Assignment assignment = assignment_at(edit, i);
    if (seen[assignment.cell_index]) continue;
    seen.set(assignment.cell_index);
    if (!visit(assignment)) return;
  }
}

Result<std::uint16_t> parse_cell(ByteView cell) {
  if (cell.size() == 2) {
    if (const auto index = load_le<std::uint16_t>(cell.data()); index < kCellCount) return index;
  }
  return invalid_argument(fmt::format("voxel chunk: a cell is 2 bytes below {}, not {} bytes",
                                      kCellCount, cell.size()));
}

Bytes u16_bytes(std::uint16_t value) {
  Buffer out(2);
  store_le(out.data(), value);
  return std::move(out).freeze();
}

// A cell outside has a name that is refused.
std::uint16_t index_of(Cell cell) {
  constexpr std::uint16_t kNoCell = 0xffff;
  return cell.is_valid() ? static_cast<std::uint16_t>(cell.index()) : kNoCell;
}

// The edit of one cell, without memory of its own.
std::array<std::byte, kAssignmentSize> assignment_of(std::uint16_t index, VoxelType type) {
  std::array<std::byte, kAssignmentSize> edit;
  store_le(edit.data(), index);
  store_le(edit.data() + 2, type);
  return edit;
}

bool is_uniform(std::span<const VoxelType> cells) {
  // Each equals the one before it.
  return std::memcmp(cells.data(), cells.data() + 1, (cells.size() - 1) * sizeof(VoxelType)) == 0;
}

class VoxelChunkType final : public ChunkType {
 public:
  std::string_view name() const override { return "nebula voxels"; }

  Result<std::unique_ptr<Chunk>> decode(const ChunkPos&, const Bytes& payload) const override {
    VARVE_ASSIGN(std::unique_ptr<VoxelChunk> chunk, VoxelChunk::decode(payload));
    return chunk;
  }

  Result<std::vector<Bytes>> cells_of(ByteView edit) const override {
    VARVE_TRY(check_edit(edit));
    std::vector<Bytes> cells;
    for_each_final(edit, [&](const Assignment& a) {
      cells.push_back(u16_bytes(static_cast<std::uint16_t>(a.cell_index)));
      return true;
    });
    return cells;
  }
  Result<Bytes> cell_edit(ByteView cell, ByteView value) const override {
    VARVE_ASSIGN(const std::uint16_t index, parse_cell(cell));
    if (value.size() != sizeof(VoxelType)) {
      return invalid_argument(
          fmt::format("voxel chunk: {} bytes for a cell, expected 2", value.size()));
    }
    return Bytes::copy_of(ByteView(assignment_of(index, load_le<VoxelType>(value.data()))));
  }
};

}  // namespace

struct VoxelChunk::Section {
  std::array<VoxelType, kSectionCellCount> cells;
};

VoxelChunk::VoxelChunk(VoxelType all) { uniform_.fill(all); }

VoxelChunk::VoxelChunk(std::span<const VoxelType, kCellCount> cells) {
  for (std::size_t i = 0; i < kSectionCount; ++i) {
    const auto slab = cells.subspan(i * kSectionCellCount, kSectionCellCount);
    if (is_uniform(slab)) {
      uniform_[i] = slab[0];
      continue;
    }
    sections_[i] = std::make_shared_for_overwrite<Section>();
    std::copy(slab.begin(), slab.end(), sections_[i]->cells.begin());
    is_own_[i] = true;
  }
}

VoxelChunk::VoxelChunk(const VoxelChunk&) = default;
VoxelChunk::~VoxelChunk() = default;

Result<std::unique_ptr<VoxelChunk>> VoxelChunk::decode(ByteView payload) {
  return or_out_of_memory([&]() -> Result<std::unique_ptr<VoxelChunk>> {
    const auto cells = std::make_unique_for_overwrite<VoxelType[]>(kCellCount);
    const Cells flat(cells.get(), kCellCount);
    VARVE_TRY(decode_nvck(payload, flat));
    return std::make_unique<VoxelChunk>(flat);
  });
}

VoxelType VoxelChunk::at(std::size_t cell_index) const noexcept {
  const std::size_t section = cell_index / kSectionCellCount;
  return sections_[section] ? sections_[section]->cells[cell_index % kSectionCellCount]
                            : uniform_[section];
}

VoxelType VoxelChunk::get(Cell cell) const noexcept {
  assert(cell.is_valid());
  return at(cell.index());
}

void VoxelChunk::copy_to(std::span<VoxelType, kCellCount> out) const noexcept {
  for (std::size_t i = 0; i < kSectionCount; ++i) {
    VoxelType* to = out.data() + i * kSectionCellCount;
    if (sections_[i]) {
      std::copy(sections_[i]->cells.begin(), sections_[i]->cells.end(), to);
    } else {
      std::fill_n(to, kSectionCellCount, uniform_[i]);
    }
  }
}

VoxelChunk::Section& VoxelChunk::own_section(std::size_t index) {
  std::shared_ptr<Section>& section = sections_[index];
  if (section && is_own_[index]) return *section;
  if (section) {
    section = std::make_shared<Section>(*section);
  } else {
    section = std::make_shared_for_overwrite<Section>();
    section->cells.fill(uniform_[index]);
  }
  is_own_[index] = true;
  return *section;
}

Result<bool> VoxelChunk::set(Cell cell, VoxelType type) {
  if (!cell.is_valid()) {
    return invalid_argument(
        fmt::format("voxel chunk: cell {},{},{} is outside", cell.x, cell.y, cell.z));
  }
  const std::size_t index = cell.index();
  if (at(index) == type) return false;
  return or_out_of_memory([&]() -> Result<bool> {
    own_section(index / kSectionCellCount).cells[index % kSectionCellCount] = type;
    mark_changed(assignment_of(static_cast<std::uint16_t>(index), type));
    return true;
  });
}

Bytes VoxelChunk::edit_of(Cell cell, VoxelType type) {
  return Bytes::copy_of(ByteView(assignment_of(index_of(cell), type)));
}

Bytes VoxelChunk::cell_of(Cell cell) { return u16_bytes(index_of(cell)); }

Result<Bytes> VoxelChunk::read_cell(ByteView cell) const {
  VARVE_ASSIGN(const std::uint16_t index, parse_cell(cell));
  return u16_bytes(at(index));
}

Result<Bytes> VoxelChunk::encode(BufferPool& pool) const {
  struct Desk {
    NvckEncoder encoder;
    std::array<VoxelType, kCellCount> cells;
  };
  // 300 KiB for each thread that encodes, and none that has to be cleared for each chunk.
  thread_local const std::unique_ptr<Desk> desk = std::make_unique<Desk>();
  copy_to(desk->cells);
  Buffer out = pool.take(desk->encoder.prepare(desk->cells));
  desk->encoder.write(out.span());
  return pool.share(std::move(out));
}

std::unique_ptr<Chunk> VoxelChunk::clone() const {
  // From now on both show the same sections, and neither may write into them.
  is_own_.fill(false);
  return std::unique_ptr<Chunk>(new VoxelChunk(*this));
}

Result<bool> VoxelChunk::apply(ByteView edit) {
  VARVE_TRY(check_edit(edit));
  std::array<bool, kSectionCount> is_touched = {};
  for_each_final(edit, [&](const Assignment& a) {
    if (at(a.cell_index) != a.type) is_touched[a.cell_index / kSectionCellCount] = true;
    return true;
  });
  if (is_touched == std::array<bool, kSectionCount>{}) return false;
  // All memory is taken before the first cell changes, so that an edit is made whole or not.
  for (std::size_t i = 0; i < kSectionCount; ++i) {
    if (is_touched[i]) own_section(i);
  }
  for_each_final(edit, [&](const Assignment& a) {
    const std::size_t section = a.cell_index / kSectionCellCount;
    if (is_touched[section]) sections_[section]->cells[a.cell_index % kSectionCellCount] = a.type;
    return true;
  });
  mark_changed(edit);
  return true;
}

bool VoxelChunk::would_change(ByteView edit) const {
  // A bad edit is left to apply(), which says what is wrong with it.
  if (!check_edit(edit)) return true;
  bool changes = false;
  for_each_final(edit, [&](const Assignment& a) {
    changes = at(a.cell_index) != a.type;
    return !changes;
  });
  return changes;
}

std::size_t VoxelChunk::memory_size() const {
  const auto section_count =
      std::count_if(sections_.begin(), sections_.end(), [](const auto& s) { return s != nullptr; });
  return sizeof(*this) + static_cast<std::size_t>(section_count) * sizeof(Section);
}

std::shared_ptr<const ChunkType> voxel_chunks() { return std::make_shared<VoxelChunkType>(); }

}  // namespace varve::nebula
