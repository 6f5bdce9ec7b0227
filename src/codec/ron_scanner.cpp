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

// What a plain decimal number beyond the range of a double rounds to: infinity or zero.
double round_out_of_range(std::string_view number) {
  const std::size_t e = std::min(number.find('e'), number.size());
  const std::string_view figures = number.substr(0, e);
  const std::size_t first = figures.find_first_not_of("0.");
  if (first == std::string_view::npos) return 0;
  // The power of ten of the first digit that counts, give or take one.
  const std::size_t point = std::min(figures.find('.'), figures.size());
  auto power = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  if (e != number.size()) {
    std::int64_t exponent = 0;
    const std::string_view digits = number.substr(e + 1);
    // One that does not even fit here outweighs any number of digits.
    if (std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec != std::errc()) {
      exponent = std::numeric_limits<std::int64_t>::max() / 2;
      if (digits.front() == '-') exponent = -exponent;
    }
    exponent = std::clamp(exponent, std::numeric_limits<std::int64_t>::min() / 2,
                          std::numeric_limits<std::int64_t>::max() / 2);
    power += exponent;
  }
  return power > 0 ? std::numeric_limits<double>::infinity() : 0;
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

Status Scanner::charge(std::size_t size) {
  if (size > left_size_) {
    return error(fmt::format("the value takes more than the limit of {} bytes of memory",
                             output_size_limit_));
  }
  left_size_ -= size;
  return {};
}

Result<std::string> Scanner::own(std::string_view text) {
  if (!text.empty()) VARVE_TRY(charge(text.size() + 1));
  return std::string(text);
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

Result<std::string_view> Scanner::name(bool& is_raw) {
  is_raw = take("r#");
  const auto is_part = is_raw ? is_raw_name_part : is_name_part;
  const std::size_t start = offset_;
  while (is_part(peek())) ++offset_;
  if (offset_ == start) return error("expected a name");
  return text_.substr(start, offset_ - start);
}

bool Scanner::skip_digits(int base) noexcept {
  if (digit_value(peek()) >= base) return false;
  while (peek() == '_' || digit_value(peek()) < base) ++offset_;
  return true;
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
  const std::size_t digits_start = offset_;
  if (!skip_digits(base)) return error("expected a digit");
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t magnitude = 0;
  bool fits = true;
  for (const char c : text_.substr(digits_start, offset_ - digits_start)) {
    if (c == '_') continue;
    const auto digit = static_cast<std::uint64_t>(digit_value(c));
    fits = fits && magnitude <= (kMax - digit) / static_cast<std::uint64_t>(base);
    magnitude = magnitude * static_cast<std::uint64_t>(base) + digit;
  }
  const Integer value{magnitude, negative && magnitude != 0};
  if (!fits || !value.is_valid()) return error_at(start, "integer of more than 64 bits");
  return Value{value};
}

Result<Value> Scanner::decimal(bool negative, std::size_t start) {
  const std::size_t number_start = offset_;
  const bool has_whole = skip_digits(10);
  bool is_float = false;
  if (take('.')) {
    is_float = true;
    const bool has_fraction = skip_digits(10);
    if (!has_whole && !has_fraction) return error_at(start, "expected a digit");
  } else if (!has_whole) {
    return error("expected a digit");
  }
  if (take('e') || take('E')) {
    is_float = true;
    if (!take('-')) take('+');
    if (!skip_digits(10)) return error("expected a digit of the exponent");
  }
  if (!is_float) {
    offset_ = number_start;
    return integer(negative, 10, start);
  }
  // As from_chars takes it: without underscores and without the plus of an exponent.
  const std::string_view spelled = text_.substr(number_start, offset_ - number_start);
  VARVE_ASSIGN(std::string number, own(spelled));
  std::erase_if(number, [](char c) { return c == '_' || c == '+'; });
  std::replace(number.begin(), number.end(), 'E', 'e');
  double value = 0;
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), value);
  if (parsed.ec == std::errc::result_out_of_range) value = round_out_of_range(number);
  refund(spelled.size() + 1);
  return Value{Float{negative ? -value : value}};
}

Result<std::string> Scanner::string() {
  if (peek() == 'r') return raw_string();
  const std::size_t start = offset_++;
  // An escape is never shorter than what it stands for, so that what is spelled is
  // room enough and the string need not grow.
  std::size_t end = offset_;
  for (;; end += 2) {
    end = text_.find_first_of("\"\\", end);
    if (end == std::string_view::npos) return error_at(start, "string that does not end");
    if (text_[end] == '"') break;
  }
  if (end != offset_) VARVE_TRY(charge(end - offset_ + 1));
  // Made at its size: reserve() may take up to twice as much as was charged.
  std::string out(end - offset_, '\0');
  out.clear();
  while (!take('"')) {
    const std::size_t stop = std::min(text_.substr(0, end).find('\\', offset_), end);
    out += text_.substr(offset_, stop - offset_);
    offset_ = stop;
    if (stop == end) continue;
    VARVE_ASSIGN(const char32_t c, escape());
    append_utf8(out, c);
  }
  return out;
}

Result<std::string> Scanner::raw_string() {
  const std::size_t start = offset_++;
  while (take('#')) {
  }
  const std::string_view hashes = text_.substr(start + 1, offset_ - start - 1);
  ++offset_;
  std::size_t stop = text_.find('"', offset_);
  while (stop != std::string_view::npos && !text_.substr(stop + 1).starts_with(hashes)) {
    stop = text_.find('"', stop + 1);
  }
  if (stop == std::string_view::npos) return error_at(start, "raw string that does not end");
  VARVE_ASSIGN(std::string out, own(text_.substr(offset_, stop - offset_)));
  offset_ = stop + 1 + hashes.size();
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
