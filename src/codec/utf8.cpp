#include "codec/utf8.h"

#include <cassert>
#include <cstdint>

#include "base/endian.h"

namespace varve {

bool is_unicode_scalar(char32_t character) noexcept {
  return character <= 0x10ffff && (character < 0xd800 || character > 0xdfff);
}

DecodedCharacter decode_utf8(std::string_view text) noexcept {
  if (text.empty()) return {};
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {lead, 1};
  // 0x80..0xbf continue a character and 0xf8 up never occur.
  if (lead < 0xc0 || lead >= 0xf8) return {};
  const std::size_t size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (text.size() < size) return {};
  char32_t character = lead & (0x7fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return {};
    character = character << 6 | (next & 0x3fu);
  }
  constexpr char32_t kFirstOfSize[] = {0, 0, 0x80, 0x800, 0x10000};
  if (character < kFirstOfSize[size] || !is_unicode_scalar(character)) return {};
  return {character, size};
}

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    // Names and messages are nearly all ASCII: eight characters at a time.
    if (text.size() >= 8) {
      const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
      if ((load_le<std::uint64_t>(bytes) & 0x8080808080808080u) == 0) {
        text.remove_prefix(8);
        continue;
      }
    }
    const std::size_t size = decode_utf8(text).size;
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

void append_utf8(std::string& out, char32_t c) {
  assert(is_unicode_scalar(c));
  auto put = [&out](char32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xc0 | c >> 6);
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3f));
  } else {
    put(0xf0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3f));
    put(0x80 | (c >> 6 & 0x3f));
  }
  put(0x80 | (c & 0x3f));
}

}  // namespace varve
