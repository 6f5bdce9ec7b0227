// The words of RON: blanks, names, numbers, strings. For the parser, and in part for
// the writer, which must not write what the parser refuses.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "codec/ron.h"
#include "varve/result.h"

namespace varve::ron {

// The characters of a plain name, and those a raw one (r#...) may have besides.
bool is_name_start(char c) noexcept;
bool is_name_part(char c) noexcept;
bool is_raw_name_part(char c) noexcept;
// Words that mean something else where a name may stand.
bool is_reserved(std::string_view name) noexcept;
// Takes a string_view a field of memory.
bool names_a_field_twice(const Record& record);

class Scanner {
 public:
  // `text` must be UTF-8.
  Scanner(std::string_view text, std::size_t output_size_limit) noexcept
      : text_(text), output_size_limit_(output_size_limit), left_size_(output_size_limit) {}

  // To be called before memory is allocated; fails where the limit would be passed.
  Status charge(std::size_t size);
  // After memory that was charged is given back.
  void refund(std::size_t size) noexcept { left_size_ += size; }
  // A copy that is charged.
  Result<std::string> own(std::string_view text);

  bool at_end() const noexcept { return offset_ == text_.size(); }
  std::size_t offset() const noexcept { return offset_; }
  void rewind(std::size_t offset) noexcept { offset_ = offset; }

  // The character `ahead` of the next, or '\0' past the end.
  char peek(std::size_t ahead = 0) const noexcept {
    return ahead < text_.size() - offset_ ? text_[offset_ + ahead] : '\0';
  }
  // Skips it if it comes next.
  bool take(char c) noexcept;
  bool take(std::string_view word) noexcept;

  // "ron: line 3, column 7: why", for where the scanner stands or for `offset`.
  Error error(std::string_view why) const { return error_at(offset_, why); }
  Error error_at(std::size_t offset, std::string_view why) const;

  // Blanks and comments. A block comment that does not end is a failure.
  Status skip_blanks();

  bool at_name() const noexcept;
  bool at_number() const noexcept;
  bool at_string() const noexcept;

  // Each of these stands at the first character of its word.
  Result<std::string_view> name(bool& is_raw);
  Result<Value> number();
  Result<std::string> string();
  Result<char32_t> character();

 private:
  Status skip_block_comment();
  bool at_raw_string() const noexcept;
  Result<std::string> raw_string();
  Result<char32_t> escape();
  Result<char32_t> hex_escape(std::size_t digit_count_min, std::size_t digit_count_max);
  Result<Value> integer(bool negative, int base, std::size_t start);
  Result<Value> decimal(bool negative, std::size_t start);
  // Skips digits of `base` and the underscores between them; false if there are none.
  bool skip_digits(int base) noexcept;

  std::string_view text_;
  std::size_t offset_ = 0;
  std::size_t output_size_limit_;
  std::size_t left_size_;
};

}  // namespace varve::ron
