#include "codec/ron_scanner.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

#include "base/try.h"
#include "codec/utf8.h"

namespace varve::ron {
namespace {

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// 16 for anything that is no digit in any base.
int digit_value(char c) noexcept {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 16;
}

}  // namespace

bool is_name_start(char c) noexcept { return is_letter(c) || c == '_'; }
bool is_name_part(char c) noexcept { return is_name_start(c) || is_digit(c); }
bool is_raw_name_part(char c) noexcept {
  return is_name_part(c) || c == '.' || c == '+' || c == '-';
}

bool is_reserved(std::string_view name) noexcept {
  constexpr std::string_view kWords[] = {"true", "false", "None", "Some", "inf", "NaN"};
  return std::find(std::begin(kWords), std::end(kWords), name) != std::end(kWords);
}

bool Scanner::take(char c) noexcept {
  if (at_end() || text_[offset_] != c) return false;
  ++offset_;
  return true;
}

bool Scanner::take(std::string_view word) noexcept {
  if (!text_.substr(offset_).starts_with(word)) return false;
  offset_ += word.size();
  return true;
}

Error Scanner::error_at(std::size_t offset, std::string_view why) const {
  const std::string_view before = text_.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_end = before.rfind('\n');
  const std::string_view on_line =
      before.substr(line_end == std::string_view::npos ? 0 : line_end + 1);
  // Columns count characters, not bytes: continuation bytes are left out.
  const auto column = 1 + std::count_if(on_line.begin(), on_line.end(), [](char c) {
                        return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
                      });
  return corruption(fmt::format("ron: line {}, column {}: {}", line, column, why));
}

Status Scanner::skip_blanks() {
  for (;;) {
    const char c = peek();
    if (!at_end() && (c == ' ' || c == '\n' || c == '\t' || c == '\r')) {
      ++offset_;
    } else if (take("//")) {
      offset_ = std::min(text_.find('\n', offset_), text_.size());
    } else if (c == '/' && peek(1) == '*') {
      VARVE_TRY(skip_block_comment());
    } else {
      return {};
    }
  }
}

Status Scanner::skip_block_comment() {
  const std::size_t start = offset_;
  offset_ += 2;
  for (std::size_t open_count = 1; open_count != 0;) {
    offset_ = std::min(text_.find_first_of("*/", offset_), text_.size());
    if (at_end()) return error_at(start, "comment that does not end");
    if (take("*/")) {
      --open_count;
    } else if (take("/*")) {
      ++open_count;
    } else {
      ++offset_;
    }
  }
  return {};
}

bool Scanner::at_name() const noexcept { return is_name_start(peek()) && !at_raw_string(); }

bool Scanner::at_number() const noexcept {
  const char c = peek();
  return is_digit(c) || c == '+' || c == '-' || c == '.';
}

bool Scanner::at_string() const noexcept { return peek() == '"' || at_raw_string(); }

bool Scanner::at_raw_string() const noexcept {
  // r"...", r#"..."# and so on; r#name is a raw name.
  if (peek() != 'r') return false;
  const std::size_t quote = text_.find_first_not_of('#', offset_ + 1);
  return quote != std::string_view::npos && text_[quote] == '"';
}

Result<std::string> Scanner::name(bool& is_raw) {
  is_raw = take("r#");
  const auto is_part = is_raw ? is_raw_name_part : is_name_part;
  const std::size_t start = offset_;
  while (is_part(peek())) ++offset_;
  if (offset_ == start) return error("expected a name");
  return std::string(text_.substr(start, offset_ - start));
}

// Digits of `base` without the underscores between them; empty if there are none.
std::string Scanner::digits(int base) {
  std::string out;
  if (digit_value(peek()) >= base) return out;
  for (; peek() == '_' || digit_value(peek()) < base; ++offset_) {
    if (peek() != '_') out += peek();
  }
  return out;
}

Result<Value> Scanner::number() {
  const std::size_t start = offset_;
  const bool negative = peek() == '-';
  if (peek() == '-' || peek() == '+') ++offset_;
  Result<Value> value = [&]() -> Result<Value> {
    const double sign = negative ? -1 : 1;
    if (take("inf")) return Value{Float{sign * std::numeric_limits<double>::infinity()}};
    if (take("NaN")) return Value{Float{std::numeric_limits<double>::quiet_NaN()}};
    if (take("0x")) return integer(negative, 16, start);
    if (take("0o")) return integer(negative, 8, start);
    if (take("0b")) return integer(negative, 2, start);
    return decimal(negative, start);
  }();
  if (value && is_name_part(peek())) return error("unexpected character in a number");
  return value;
}

Result<Value> Scanner::integer(bool negative, int base, std::size_t start) {
  const std::string figures = digits(base);
  if (figures.empty()) return error("expected a digit");
  std::uint64_t magnitude = 0;
  const auto parsed =
      std::from_chars(figures.data(), figures.data() + figures.size(), magnitude, base);
  constexpr std::uint64_t kI64MinMagnitude = std::uint64_t{1} << 63;
  if (parsed.ec != std::errc() || (negative && magnitude > kI64MinMagnitude)) {
    return error_at(start, "integer of more than 64 bits");
  }
  return Value{Integer{magnitude, negative && magnitude != 0}};
}

Result<Value> Scanner::decimal(bool negative, std::size_t start) {
  const std::size_t figures_start = offset_;
  std::string figures = digits(10);
  const bool has_whole = !figures.empty();
  bool is_float = false;
  if (take('.')) {
    is_float = true;
    const std::string fraction = digits(10);
    if (!has_whole && fraction.empty()) return error_at(start, "expected a digit");
    figures += '.';
    figures += fraction;
  }
  if (figures.empty()) return error("expected a digit");
  if (peek() == 'e' || peek() == 'E') {
    ++offset_;
    is_float = true;
    figures += 'e';
    if (peek() == '-' || peek() == '+') {
      if (peek() == '-') figures += '-';
      ++offset_;
    }
    const std::string exponent = digits(10);
    if (exponent.empty()) return error("expected a digit of the exponent");
    figures += exponent;
  }
  if (!is_float) {
    offset_ = figures_start;
    return integer(negative, 10, start);
  }
  double value = 0;
  const auto parsed = std::from_chars(figures.data(), figures.data() + figures.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != figures.data() + figures.size()) {
    return error_at(start, "float out of range");
  }
  return Value{Float{negative ? -value : value}};
}

Result<std::string> Scanner::string() {
  if (peek() == 'r') return raw_string();
  const std::size_t start = offset_++;
  std::string out;
  for (;;) {
    const std::size_t stop = text_.find_first_of("\"\\", offset_);
    if (stop == std::string_view::npos) return error_at(start, "string that does not end");
    out += text_.substr(offset_, stop - offset_);
    offset_ = stop;
    if (take('"')) return out;
    VARVE_ASSIGN(const char32_t c, escape());
    append_utf8(out, c);
  }
}

Result<std::string> Scanner::raw_string() {
  const std::size_t start = offset_++;
  std::string end = "\"";
  while (take('#')) end += '#';
  ++offset_;
  const std::size_t stop = text_.find(end, offset_);
  if (stop == std::string_view::npos) return error_at(start, "raw string that does not end");
  std::string out(text_.substr(offset_, stop - offset_));
  offset_ = stop + end.size();
  return out;
}

Result<char32_t> Scanner::character() {
  const std::size_t start = offset_++;
  if (peek() == '\'') return error_at(start, "empty character");
  char32_t c = 0;
  if (peek() == '\\') {
    VARVE_ASSIGN(c, escape());
  } else {
    const DecodedCharacter decoded = decode_utf8(text_.substr(offset_));
    c = decoded.character;
    offset_ += decoded.size;
  }
  if (!take('\'')) return error_at(start, "character that does not end");
  return c;
}

Result<char32_t> Scanner::escape() {
  const std::size_t start = offset_++;
  const char kind = peek();
  if (at_end()) return error_at(start, "escape that does not end");
  ++offset_;
  switch (kind) {
    case '"':
    case '\'':
    case '\\':
      return static_cast<char32_t>(kind);
    case 'n':
      return U'\n';
    case 'r':
      return U'\r';
    case 't':
      return U'\t';
    case 'b':
      return U'\b';
    case 'f':
      return U'\f';
    case '0':
      return U'\0';
    case 'x':
      return hex_escape(2, 2);
    case 'u': {
      if (!take('{')) return error_at(start, "expected '{' after \\u");
      VARVE_ASSIGN(const char32_t c, hex_escape(1, 6));
      if (!take('}')) return error_at(start, "expected '}' after one to six digits");
      return c;
    }
    default:
      return error_at(start, "unknown escape");
  }
}

Result<char32_t> Scanner::hex_escape(std::size_t digit_count_min, std::size_t digit_count_max) {
  const std::size_t start = offset_;
  char32_t c = 0;
  while (offset_ - start < digit_count_max && digit_value(peek()) < 16) {
    c = c << 4 | static_cast<char32_t>(digit_value(peek()));
    ++offset_;
  }
  if (offset_ - start < digit_count_min) return error("expected a hexadecimal digit");
  if (!is_unicode_scalar(c)) return error_at(start, "escape is not a Unicode character");
  return c;
}

}  // namespace varve::ron
