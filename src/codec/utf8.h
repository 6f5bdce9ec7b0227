// UTF-8 as Unicode defines it: no surrogates, nothing above U+10FFFF, no encoding
// longer than needed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace varve {

bool is_utf8(std::string_view text) noexcept;

struct DecodedCharacter {
  char32_t character = 0;
  std::size_t size = 0;
};
// The first character of `text`; size 0 if it is cut short or not UTF-8.
DecodedCharacter decode_utf8(std::string_view text) noexcept;

// Everything but surrogates up to U+10FFFF: what a Rust char can be.
bool is_unicode_scalar(char32_t character) noexcept;

// Appends a character, which must be a Unicode scalar.
void append_utf8(std::string& out, char32_t character);

}  // namespace varve
