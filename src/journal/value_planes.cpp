#include "journal/value_planes.h"

#include <algorithm>
#include <array>
#include <vector>

namespace varve::journal {
namespace {

constexpr std::size_t kPaletteCountMax = 16;

// The different bytes of a plane, rising; empty if they are too many to be worth it.
class Palette {
 public:
  // `stride` apart, `count` of them.
  Palette(const std::byte* plane, std::size_t stride, std::size_t count) noexcept {
    std::array<bool, 256> is_there{};
    std::size_t found_count = 0;
    for (std::size_t i = 0; i < count; ++i) {
      bool& is_known = is_there[std::to_integer<std::size_t>(plane[i * stride])];
      if (is_known) continue;
      is_known = true;
      // Noise is recognised after a few bytes.
      if (++found_count > kPaletteCountMax) return;
    }
    if (packed_size(found_count, count) >= count) return;
    for (std::size_t value = 0; value < is_there.size(); ++value) {
      if (is_there[value]) values_[count_++] = static_cast<std::byte>(value);
    }
  }

  static std::size_t index_width(std::size_t palette_count) noexcept {
    if (palette_count <= 1) return 0;
    return palette_count <= 2 ? 1 : palette_count <= 4 ? 2 : 4;
  }
  static std::size_t indexes_size(std::size_t palette_count, std::size_t count) noexcept {
    return (count * index_width(palette_count) + 7) / 8;
  }
  static std::size_t packed_size(std::size_t palette_count, std::size_t count) noexcept {
    return palette_count + indexes_size(palette_count, count);
  }

  std::size_t count() const noexcept { return count_; }
  ByteView values() const noexcept { return {values_.data(), count_}; }

 private:
  std::array<std::byte, kPaletteCountMax> values_{};
  std::size_t count_ = 0;
};

void write_indexes(const std::byte* plane, std::size_t stride, std::size_t count,
                   const Palette& palette, ByteWriter& out) {
  std::array<std::uint8_t, 256> places{};
  for (std::size_t i = 0; i < palette.count(); ++i) {
    places[std::to_integer<std::size_t>(palette.values()[i])] = static_cast<std::uint8_t>(i);
  }
  const std::size_t width = Palette::index_width(palette.count());
  const auto to = out.extend(Palette::indexes_size(palette.count(), count));
  std::fill(to.begin(), to.end(), std::byte{0});
  if (to.empty()) return;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t bit = i * width;
    to[bit / 8] |=
        static_cast<std::byte>(places[std::to_integer<std::size_t>(plane[i * stride])] << bit % 8);
  }
}

void read_raw(ByteReader& in, std::size_t stride, std::size_t count, std::byte* plane) {
  const ByteView bytes = in.bytes(count);
  if (!in.ok()) return;
  if (Palette(bytes.data(), 1, count).count() != 0) return in.fail("a plane that is not packed");
  for (std::size_t i = 0; i < count; ++i) plane[i * stride] = bytes[i];
}

void read_packed(ByteReader& in, std::size_t palette_count, std::size_t stride, std::size_t count,
                 std::byte* plane) {
  const ByteView palette = in.bytes(palette_count);
  const ByteView indexes = in.bytes(Palette::indexes_size(palette_count, count));
  if (!in.ok()) return;
  const std::size_t width = Palette::index_width(palette_count);
  const std::size_t mask = (std::size_t{1} << width) - 1;
  std::size_t used = 0;
  for (std::size_t i = 0; i < count && width != 0; ++i) {
    const std::size_t bit = i * width;
    const std::size_t place = std::to_integer<std::size_t>(indexes[bit / 8]) >> bit % 8 & mask;
    if (place >= palette_count) return in.fail("a place outside its palette");
    used |= std::size_t{1} << place;
    plane[i * stride] = palette[place];
  }
  if (width == 0) {
    for (std::size_t i = 0; i < count; ++i) plane[i * stride] = palette[0];
    return;
  }
  // One spelling: the palette is what is used, rising, and nothing hides behind the last place.
  if (used != (std::size_t{1} << palette_count) - 1) return in.fail("a palette with unused bytes");
  if (std::adjacent_find(palette.begin(), palette.end(), std::greater_equal<>()) != palette.end()) {
    return in.fail("a palette that does not rise");
  }
  const std::size_t tail = count * width % 8;
  if (tail != 0 && std::to_integer<std::size_t>(indexes.back()) >> tail != 0) {
    in.fail("bits behind the last place of a plane");
  }
}

// What write_planes() makes of them.
std::size_t planes_size(ByteView values, std::size_t value_size) {
  const std::size_t count = values.size() / value_size;
  std::size_t size = 0;
  for (std::size_t p = 0; p < value_size; ++p) {
    const Palette palette(values.data() + p, value_size, count);
    size += 1 + (palette.count() != 0 ? Palette::packed_size(palette.count(), count) : count);
  }
  return size;
}

}  // namespace

void write_planes(ByteView values, std::size_t value_size, ByteWriter& out) {
  const std::size_t count = values.size() / value_size;
  for (std::size_t p = 0; p < value_size; ++p) {
    const std::byte* const plane = values.data() + p;
    const Palette palette(plane, value_size, count);
    out.u8(static_cast<std::uint8_t>(palette.count()));
    if (palette.count() != 0) {
      out.bytes(palette.values());
      write_indexes(plane, value_size, count, palette, out);
      continue;
    }
    const auto to = out.extend(count);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = plane[i * value_size];
  }
}

void read_planes(ByteReader& in, std::size_t value_size, std::span<std::byte> values) {
  const std::size_t count = values.size() / value_size;
  for (std::size_t p = 0; p < value_size && in.ok(); ++p) {
    const std::size_t palette_count = in.u8();
    if (palette_count == 0) {
      read_raw(in, value_size, count, values.data() + p);
    } else if (palette_count > kPaletteCountMax ||
               Palette::packed_size(palette_count, count) >= count) {
      in.fail("a plane that is packed in vain");
    } else {
      read_packed(in, palette_count, value_size, count, values.data() + p);
    }
  }
}

void write_planes_if_smaller(ByteView values, std::size_t value_size, ByteWriter& out) {
  const bool is_smaller = planes_size(values, value_size) < values.size();
  out.u8(is_smaller ? 1 : 0);
  if (is_smaller) return write_planes(values, value_size, out);
  out.bytes(values);
}

void pick_from_planes(ByteReader& in, std::size_t value_size, std::size_t count, std::size_t row,
                      std::span<std::byte> value) {
  for (std::size_t p = 0; p < value_size && in.ok(); ++p) {
    const std::size_t palette_count = in.u8();
    if (palette_count > kPaletteCountMax) return in.fail("a plane that is packed in vain");
    if (palette_count == 0) {
      const ByteView bytes = in.bytes(count);
      if (in.ok() && row < count) value[p] = bytes[row];
      continue;
    }
    const ByteView palette = in.bytes(palette_count);
    const ByteView indexes = in.bytes(Palette::indexes_size(palette_count, count));
    if (!in.ok() || row >= count) continue;
    const std::size_t width = Palette::index_width(palette_count);
    std::size_t place = 0;
    if (width != 0) {
      const std::size_t bit = row * width;
      const std::size_t mask = (std::size_t{1} << width) - 1;
      place = std::to_integer<std::size_t>(indexes[bit / 8]) >> bit % 8 & mask;
    }
    if (place >= palette_count) return in.fail("a place outside its palette");
    value[p] = palette[place];
  }
}

bool read_plane_choice(ByteReader& in, std::size_t value_size, std::size_t count) {
  const std::uint8_t choice = in.u8();
  if (choice > 1) in.fail("planes or not");
  if (!in.ok()) return false;
  // Looked at twice, once here: these are few.
  ByteReader ahead = in;
  if (choice == 1) {
    Buffer values(value_size * count);
    const std::size_t start = ahead.offset();
    read_planes(ahead, value_size, values.span());
    if (ahead.ok() && ahead.offset() - start >= values.size()) in.fail("planes in vain");
  } else {
    const ByteView values = ahead.bytes(value_size * count);
    if (ahead.ok() && planes_size(values, value_size) < values.size()) {
      in.fail("values that are not in planes");
    }
  }
  return in.ok() && choice == 1;
}

}  // namespace varve::journal
