#include "support/bytes_text.h"

#include <cctype>
#include <cstdio>
#include <cstdlib>

namespace varve::test {

Bytes hex(std::string_view digits) {
  std::string out;
  int high = -1;
  for (const char c : digits) {
    if (c == ' ' || c == '\n') continue;
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0) std::abort();
    const int value = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    if (high < 0) {
      high = value;
    } else {
      out.push_back(static_cast<char>(high * 16 + value));
      high = -1;
    }
  }
  if (high >= 0) std::abort();
  return Bytes::copy_of(out);
}

std::string to_hex(ByteView bytes) {
  std::string out;
  for (const std::byte b : bytes) {
    char pair[3];
    std::snprintf(pair, sizeof pair, "%02x", std::to_integer<unsigned>(b));
    out += pair;
  }
  return out;
}

}  // namespace varve::test
