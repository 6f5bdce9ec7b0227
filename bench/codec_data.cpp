#include "codec_data.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/byte_writer.h"
#include "harness/random.h"

namespace varve::bench {
namespace {

constexpr std::size_t kSide = 512;

std::uint32_t hash_of(std::uint32_t x, std::uint32_t y, std::uint64_t seed) {
  return static_cast<std::uint32_t>(Random(seed ^ (std::uint64_t{x} << 32 | y)).next() >> 32);
}

// Smooth noise, 0 to 255: random values on a grid of `cell` pixels, linear between.
std::uint32_t noise(std::size_t x, std::size_t y, std::size_t cell, std::uint64_t seed) {
  const auto gx = static_cast<std::uint32_t>(x / cell);
  const auto gy = static_cast<std::uint32_t>(y / cell);
  const std::size_t fx = x % cell;
  const std::size_t fy = y % cell;
  const auto corner = [&](std::uint32_t dx, std::uint32_t dy) -> std::size_t {
    return hash_of(gx + dx, gy + dy, seed) & 255;
  };
  const std::size_t top = corner(0, 0) * (cell - fx) + corner(1, 0) * fx;
  const std::size_t bottom = corner(0, 1) * (cell - fx) + corner(1, 1) * fx;
  return static_cast<std::uint32_t>((top * (cell - fy) + bottom * fy) / (cell * cell));
}

enum Material : std::uint8_t { air, water, grass, soil, rock, coal, iron };

Material material_at(std::size_t x, std::size_t y, std::uint64_t seed) {
  const std::size_t surface = 120 + noise(x, 0, 128, seed) / 2 + noise(x, 0, 32, seed + 1) / 12;
  if (y < surface) return y > 200 ? water : air;
  const std::size_t depth = y - surface;
  if (depth < 3) return grass;
  if (depth < 24 + noise(x, 0, 16, seed + 2) / 16) return soil;
  if (noise(x, y, 48, seed + 3) > 176) return air;  // a cave
  const std::uint32_t vein = noise(x, y, 12, seed + 4);
  if (vein > 220) return depth > 160 ? iron : coal;
  return rock;
}

struct NbtWriter {
  enum Tag : std::uint8_t {
    end,
    i8,
    i16,
    i32,
    i64,
    f32,
    f64,
    i8s,
    text,
    list,
    compound,
    i32s,
    i64s
  };

  void string(std::string_view value) {
    out.u16_be(static_cast<std::uint16_t>(value.size()));
    out.bytes(as_byte_view(value));
  }
  void name(Tag tag, std::string_view value) {
    out.u8(tag);
    string(value);
  }
  void list_of(Tag tag, std::string_view key, std::size_t count) {
    name(list, key);
    out.u8(tag);
    out.u32_be(static_cast<std::uint32_t>(count));
  }

  ByteWriter out;
};

constexpr std::array<std::string_view, 8> kBlocks = {
    "minecraft:air",      "minecraft:stone",    "minecraft:deepslate", "minecraft:dirt",
    "minecraft:iron_ore", "minecraft:coal_ore", "minecraft:gravel",    "minecraft:grass_block"};

// 4,096 states of four bits each: one layer of stone after the other, in which ores
// come in clumps, as a real section has them.
void write_block_states(NbtWriter& nbt, std::uint32_t section, std::uint64_t seed) {
  nbt.name(NbtWriter::compound, "block_states");
  nbt.list_of(NbtWriter::compound, "palette", kBlocks.size());
  for (const std::string_view block : kBlocks) {
    nbt.name(NbtWriter::text, "Name");
    nbt.string(block);
    nbt.out.u8(NbtWriter::end);
  }
  nbt.name(NbtWriter::i64s, "data");
  nbt.out.u32_be(256);
  for (std::uint32_t word = 0; word < 256; ++word) {
    std::uint64_t packed = 0;
    for (std::uint32_t cell = 0; cell < 16; ++cell) {
      const std::uint32_t y = section * 16 + word / 16;
      const std::uint32_t clump = noise(cell + 16 * y, word % 16 + 16 * y, 5, seed);
      std::uint64_t state = y < 24 ? 2 : 1;
      if (clump > 205) state = 3 + (y / 2) % 4;
      if (clump < 40) state = 0;
      packed |= state << (4 * cell);
    }
    nbt.out.u64_be(packed);
  }
  nbt.out.u8(NbtWriter::end);
}

void write_light(NbtWriter& nbt, std::string_view name, std::uint32_t section, std::uint64_t seed) {
  nbt.name(NbtWriter::i8s, name);
  nbt.out.u32_be(2048);
  for (std::uint32_t i = 0; i < 2048; ++i) {
    const std::uint32_t level = noise(i % 8, i / 8 + section * 256, 6, seed) / 16;
    nbt.out.u8(level < 11 ? 0 : static_cast<std::uint8_t>(level * 17));
  }
}

}  // namespace

Buffer make_pixel_chunk(std::uint64_t seed) {
  Buffer chunk(kSide * kSide * kPixelSize);
  std::byte* to = chunk.data();
  for (std::size_t y = 0; y < kSide; ++y) {
    for (std::size_t x = 0; x < kSide; ++x, to += kPixelSize) {
      const Material material = material_at(x, y, seed);
      const std::uint32_t dice =
          hash_of(static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), seed + 5);
      // Solid matter is speckled and, now and then, damaged; sky and water are even.
      const bool solid = material > water;
      const bool speckled = solid && dice % 2 == 0;
      const bool damaged = solid && noise(x, y, 24, seed + 6) > 216;
      to[0] = static_cast<std::byte>(material);
      to[1] = static_cast<std::byte>(material * 16 + (speckled ? dice >> 8 & 7 : 0));
      to[2] = static_cast<std::byte>(damaged ? dice >> 16 & 15 : 0);
      to[3] = static_cast<std::byte>((solid ? 1 : 0) | (material == water ? 2 : 0));
    }
  }
  return chunk;
}

Bytes make_nbt_chunk(std::uint64_t seed) {
  constexpr std::uint32_t kSectionCount = 5;
  NbtWriter nbt;
  nbt.name(NbtWriter::compound, "");
  nbt.name(NbtWriter::i32, "DataVersion");
  nbt.out.u32_be(3465);
  nbt.name(NbtWriter::text, "Status");
  nbt.string("minecraft:full");
  nbt.list_of(NbtWriter::compound, "sections", kSectionCount);
  for (std::uint32_t section = 0; section < kSectionCount; ++section) {
    nbt.name(NbtWriter::i8, "Y");
    nbt.out.u8(static_cast<std::uint8_t>(section));
    write_block_states(nbt, section, seed);
    write_light(nbt, "BlockLight", section, seed + 1);
    write_light(nbt, "SkyLight", section, seed + 2);
    nbt.out.u8(NbtWriter::end);
  }
  constexpr std::uint32_t kChestCount = 24;
  nbt.list_of(NbtWriter::compound, "block_entities", kChestCount);
  Random random(seed + 3);
  for (std::uint32_t chest = 0; chest < kChestCount; ++chest) {
    nbt.name(NbtWriter::text, "id");
    nbt.string("minecraft:chest");
    for (const std::string_view axis : {"x", "y", "z"}) {
      nbt.name(NbtWriter::i32, axis);
      nbt.out.u32_be(static_cast<std::uint32_t>(random.below(80)));
    }
    nbt.name(NbtWriter::i64, "LootTableSeed");
    nbt.out.u64_be(random.next());
    nbt.out.u8(NbtWriter::end);
  }
  nbt.out.u8(NbtWriter::end);
  return nbt.out.take();
}

Buffer edit_one_percent(ByteView base, std::size_t cell_size, std::uint64_t seed) {
  Buffer edited = Bytes::copy_of(base).clone();
  Random random(seed);
  const std::size_t cell_count = base.size() / cell_size;
  for (std::size_t i = 0; i < cell_count / 100; ++i) {
    std::byte* const cell = edited.data() + random.below(cell_count) * cell_size;
    // Digging and building change what a cell is, not all of its bytes.
    cell[0] ^= static_cast<std::byte>(1 + random.below(7));
  }
  return edited;
}

}  // namespace varve::bench
