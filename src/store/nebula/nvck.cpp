#include "store/nebula/nvck.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <memory>

#include "base/byte_reader.h"
#include "base/endian.h"
#include "base/try.h"

namespace varve::nebula {
namespace {

constexpr std::string_view kMagic = "NVCK";
constexpr std::uint8_t kVersion = 2;
constexpr std::uint8_t kFlagRle = 1;
constexpr std::size_t kRunSize = 4;

// With them one cell never lies in two words, so a body has no bits to spare.
constexpr bool is_width(unsigned width) {
  return width == 0 || width == 2 || width == 4 || width == 8 || width == 16;
}

constexpr unsigned width_for(std::size_t palette_count) {
  if (palette_count <= 1) return 0;
  if (palette_count <= 4) return 2;
  if (palette_count <= 16) return 4;
  return palette_count <= 256 ? 8 : 16;
}

constexpr std::size_t packed_size(unsigned width) { return kCellCount / 8 * width; }

// --- Reading -------------------------------------------------------------------------

// The types of a chunk, as the file has them: u16 LE each, at no alignment.
class Palette {
 public:
  Palette() = default;
  explicit Palette(ByteView types) : types_(types) {}
  std::size_t count() const noexcept { return types_.size() / 2; }
  VoxelType operator[](std::size_t place) const noexcept {
    return load_le<std::uint16_t>(types_.data() + 2 * place);
  }

 private:
  ByteView types_;
};

struct Header {
  bool is_rle = false;
  Palette palette;
  unsigned width = 0;
};

Error no_such_place(std::size_t place, std::size_t palette_count, std::size_t offset) {
  return corruption(fmt::format("nvck: place {} in a palette of {} types, at offset {}", place,
                                palette_count, offset));
}

Result<Header> read_header(ByteReader& r) {
  r.expect(kMagic);
  const std::uint8_t version = r.u8();
  VARVE_TRY(r.status("nvck"));
  if (version > kVersion) {
    return unsupported(
        fmt::format("nvck: version {}, this build reads up to {}", version, kVersion));
  }
  if (version == 0) return corruption("nvck: version 0 at offset 4");
  const std::uint8_t flags = version == 1 ? 0 : r.u8();
  VARVE_TRY(r.status("nvck: flags"));
  if ((flags & ~kFlagRle) != 0) {
    return corruption(fmt::format("nvck: unknown flags {:#04x} at offset 5", flags));
  }
  Header h;
  h.is_rle = (flags & kFlagRle) != 0;
  h.palette = Palette(r.bytes(std::uint64_t{r.u16_le()} * 2));
  const std::size_t width_offset = r.offset();
  h.width = r.u8();
  VARVE_TRY(r.status("nvck: palette"));
  if (h.palette.count() == 0) return corruption("nvck: the palette is empty");
  if (!is_width(h.width)) {
    return corruption(fmt::format("nvck: bit width {} at offset {}, expected 0, 2, 4, 8 or 16",
                                  h.width, width_offset));
  }
  // More bits than needed are fine: a palette may have had more types once.
  if (h.width < width_for(h.palette.count())) {
    return corruption(
        fmt::format("nvck: bit width {} at offset {} is too narrow for a palette of {} types",
                    h.width, width_offset, h.palette.count()));
  }
  return h;
}

Status read_runs(ByteReader& r, const Palette& palette, Cells out) {
  const std::size_t run_count = r.count(r.u32_le(), kRunSize);
  std::size_t filled_count = 0;
  for (std::size_t i = 0; i < run_count; ++i) {
    const std::size_t offset = r.offset();
    const std::size_t cell_count = r.u16_le();
    const std::size_t place = r.u16_le();
    if (cell_count == 0) return corruption(fmt::format("nvck: empty run at offset {}", offset));
    if (cell_count > out.size() - filled_count) {
      return corruption(fmt::format("nvck: the run at offset {} ends at cell {} of {}", offset,
                                    filled_count + cell_count, out.size()));
    }
    if (place >= palette.count()) return no_such_place(place, palette.count(), offset + 2);
    std::fill_n(out.data() + filled_count, cell_count, palette[place]);
    filled_count += cell_count;
  }
  VARVE_TRY(r.finish("nvck: runs"));
  if (filled_count != out.size()) {
    return corruption(fmt::format("nvck: the runs have {} of {} cells", filled_count, out.size()));
  }
  return {};
}

// For each byte of a body, the cells it stands for.
template <unsigned kWidth>
struct ByteTable {
  static constexpr std::size_t kPerByte = 8 / kWidth;
  std::array<std::array<VoxelType, kPerByte>, 256> cells;
  std::array<bool, 256> is_bad = {};

  explicit ByteTable(const Palette& palette) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      for (std::size_t i = 0; i < kPerByte; ++i) {
        const std::size_t place = place_in(byte, i);
        const bool is_there = place < palette.count();
        cells[byte][i] = is_there ? palette[place] : 0;
        is_bad[byte] |= !is_there;
      }
    }
  }
  static constexpr std::size_t place_in(std::size_t byte, std::size_t index) {
    return byte >> (index * kWidth) & ((1u << kWidth) - 1);
  }
};

// Which byte of the body is the first that names a place outside the palette.
template <unsigned kWidth>
Error first_bad(ByteView body, const ByteTable<kWidth>& table, const Palette& palette,
                std::size_t body_offset) {
  const auto at = std::find_if(body.begin(), body.end(), [&](std::byte b) {
    return table.is_bad[std::to_integer<std::size_t>(b)];
  });
  std::size_t place = 0;
  for (std::size_t i = 0; place < palette.count(); ++i)
    place = table.place_in(std::to_integer<std::size_t>(*at), i);
  return no_such_place(place, palette.count(),
                       body_offset + static_cast<std::size_t>(at - body.begin()));
}

template <unsigned kWidth>
Status unpack(ByteView body, const Palette& palette, Cells out, std::size_t body_offset) {
  const ByteTable<kWidth> table(palette);
  VoxelType* to = out.data();
  bool is_bad = false;
  for (std::size_t i = 0; i < body.size(); i += sizeof(std::uint64_t)) {
    auto word = load_le<std::uint64_t>(body.data() + i);
    for (std::size_t j = 0; j < sizeof word; ++j, word >>= 8, to += table.kPerByte) {
      const std::size_t byte = word & 0xff;
      std::memcpy(to, table.cells[byte].data(), sizeof table.cells[byte]);
      is_bad |= table.is_bad[byte];
    }
  }
  if (is_bad) return first_bad(body, table, palette, body_offset);
  return {};
}

Status unpack_wide(ByteView body, const Palette& palette, Cells out, std::size_t body_offset) {
  const std::size_t palette_count = palette.count();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t place = load_le<std::uint16_t>(body.data() + 2 * i);
    if (place >= palette_count) [[unlikely]]
      return no_such_place(place, palette_count, body_offset + 2 * i);
    out[i] = palette[place];
  }
  return {};
}

}  // namespace

Status decode_nvck(ByteView in, Cells out) {
  ByteReader r(in);
  VARVE_ASSIGN(const Header h, read_header(r));
  if (h.is_rle) return read_runs(r, h.palette, out);
  const std::size_t body_offset = r.offset();
  const ByteView body = r.bytes(packed_size(h.width));
  VARVE_TRY(r.finish("nvck: packed cells"));
  switch (h.width) {
    case 2:
      return unpack<2>(body, h.palette, out, body_offset);
    case 4:
      return unpack<4>(body, h.palette, out, body_offset);
    case 8:
      return unpack<8>(body, h.palette, out, body_offset);
    case 16:
      return unpack_wide(body, h.palette, out, body_offset);
    default:
      std::fill(out.begin(), out.end(), h.palette[0]);
      return {};
  }
}

// --- Writing -------------------------------------------------------------------------

namespace {

constexpr std::size_t kHeaderSize = 4 + 1 + 1 + 2 + 1;  // and the palette

// Four equal cells, or places, in a row.
std::uint64_t four_of(std::uint16_t value) { return value * 0x0001'0001'0001'0001u; }

template <unsigned kWidth>
void pack(std::span<const std::uint16_t> places, std::byte* to) {
  constexpr std::size_t kPerWord = 64 / kWidth;
  for (std::size_t i = 0; i < places.size(); i += kPerWord, to += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    for (std::size_t j = 0; j < kPerWord; ++j) word |= std::uint64_t{places[i + j]} << (j * kWidth);
    store_le(to, word);
  }
}

void write_runs(std::span<const std::uint16_t> places, std::byte* to) {
  for (std::size_t i = 0; i < places.size(); to += kRunSize) {
    const std::size_t start = i;
    while (i < places.size() && places[i] == places[start]) ++i;
    // A chunk has fewer cells than a run may count.
    store_le(to, static_cast<std::uint16_t>(i - start));
    store_le(to + 2, places[start]);
  }
}

}  // namespace

std::uint16_t NvckEncoder::place_of(VoxelType type) {
  std::uint16_t& place_and_one = place_and_one_[type];
  if (place_and_one == 0) [[unlikely]] {
    palette_[palette_count_] = type;
    place_and_one = static_cast<std::uint16_t>(++palette_count_);
  }
  return place_and_one - 1;
}

std::size_t NvckEncoder::prepare(ConstCells cells) {
  for (std::size_t i = 0; i < palette_count_; ++i) place_and_one_[palette_[i]] = 0;
  palette_count_ = 0;
  VoxelType last = cells[0];
  std::uint16_t last_place = place_of(last);
  std::size_t run_count = 1;
  constexpr std::size_t kStep = sizeof(std::uint64_t) / sizeof(VoxelType);
  for (std::size_t i = 0; i < cells.size(); i += kStep) {
    std::uint64_t four = 0;
    std::memcpy(&four, cells.data() + i, sizeof four);
    // Worlds are mostly air and stone: four cells that go on as before are one comparison.
    if (four == four_of(last)) {
      four = four_of(last_place);
      std::memcpy(places_.data() + i, &four, sizeof four);
      continue;
    }
    // Without a branch on what the cells are, which in noise would be guessed wrongly.
    for (std::size_t j = i; j < i + kStep; ++j) {
      run_count += cells[j] != last;
      last = cells[j];
      last_place = place_of(last);
      places_[j] = last_place;
    }
  }
  run_count_ = run_count;
  width_ = width_for(palette_count_);
  const std::size_t runs_size = 4 + kRunSize * run_count_;
  is_rle_ = runs_size < packed_size(width_);
  return kHeaderSize + 2 * palette_count_ + (is_rle_ ? runs_size : packed_size(width_));
}

void NvckEncoder::write(std::span<std::byte> out) const {
  std::byte* to = out.data();
  std::memcpy(to, kMagic.data(), kMagic.size());
  to[4] = std::byte{kVersion};
  to[5] = std::byte{is_rle_ ? kFlagRle : std::uint8_t{0}};
  store_le(to + 6, static_cast<std::uint16_t>(palette_count_));
  to += 8;
  for (std::size_t i = 0; i < palette_count_; ++i, to += 2) store_le(to, palette_[i]);
  *to++ = static_cast<std::byte>(width_);
  [[maybe_unused]] const std::size_t body_size =
      static_cast<std::size_t>(out.data() + out.size() - to);
  if (is_rle_) {
    assert(body_size == 4 + kRunSize * run_count_);
    store_le(to, static_cast<std::uint32_t>(run_count_));
    return write_runs(places_, to + 4);
  }
  assert(body_size == packed_size(width_));
  if (width_ == 2) pack<2>(places_, to);
  if (width_ == 4) pack<4>(places_, to);
  if (width_ == 8) pack<8>(places_, to);
  if (width_ == 16) pack<16>(places_, to);
}

Bytes encode_nvck(ConstCells cells) {
  const auto encoder = std::make_unique<NvckEncoder>();
  Buffer out(encoder->prepare(cells));
  encoder->write(out.span());
  return std::move(out).freeze();
}

}  // namespace varve::nebula
