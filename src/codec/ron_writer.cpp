#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "base/try.h"
#include "codec/ron.h"
#include "codec/ron_scanner.h"
#include "codec/utf8.h"

namespace varve::ron {
namespace {

// The shortest digits that read back as the same double, with a decimal point and
// without an exponent, zeros filled in: what Rust prints. (std::to_chars in fixed
// form prints every digit of a large double instead of the shortest.)
void append_float(std::string& out, double value) {
  if (std::isnan(value)) return void(out += "NaN");
  if (std::signbit(value)) out += '-';
  if (std::isinf(value)) return void(out += "inf");
  char scientific[32];  // d.ddddddddddddddddde-308
  const auto end = std::to_chars(std::begin(scientific), std::end(scientific), std::abs(value),
                                 std::chars_format::scientific)
                       .ptr;
  const char* const e = std::find(scientific, end, 'e');
  // from_chars does not take the '+' of a positive exponent.
  int exponent = 0;
  std::from_chars(e[1] == '+' ? e + 2 : e + 1, end, exponent);
  std::string digits(scientific, static_cast<std::size_t>(e - scientific));
  std::erase(digits, '.');
  const auto digit_count = static_cast<int>(digits.size());
  if (exponent < 0) {
    out += "0.";
    out.append(static_cast<std::size_t>(-exponent - 1), '0');
    out += digits;
  } else if (exponent + 1 >= digit_count) {
    out += digits;
    out.append(static_cast<std::size_t>(exponent + 1 - digit_count), '0');
    out += ".0";
  } else {
    const auto whole_count = static_cast<std::size_t>(exponent + 1);
    out.append(digits, 0, whole_count);
    out += '.';
    out.append(digits, whole_count);
  }
}

// `quote` is the quotation mark around it; strings also escape the apostrophe, as
// the original program does.
void append_escaped(std::string& out, char32_t c, char quote) {
  switch (c) {
    case U'\n':
      return void(out += "\\n");
    case U'\r':
      return void(out += "\\r");
    case U'\t':
      return void(out += "\\t");
    case U'\0':
      return void(out += "\\0");
    case U'\\':
      return void(out += "\\\\");
    case U'\'':
      return void(out += "\\'");
    case U'"':
      return void(out += quote == '"' ? "\\\"" : "\"");
    default:
      break;
  }
  // Control characters would be invisible, and some editors drop them.
  if (c < 0x20 || (c >= 0x7f && c < 0xa0)) {
    fmt::format_to(std::back_inserter(out), "\\u{{{:x}}}", static_cast<std::uint32_t>(c));
    return;
  }
  append_utf8(out, c);
}

class Writer {
 public:
  explicit Writer(bool is_pretty) noexcept : is_pretty_(is_pretty) {}

  Result<std::string> document(const Value& root) {
    VARVE_TRY(value(root));
    return std::move(out_);
  }

 private:
  Status value(const Value& v) {
    if (depth_ == kDepthMax) return invalid_argument("ron: a value is nested too deeply");
    ++depth_;
    Status written = std::visit([this](const auto& data) { return write(data); }, v.data);
    --depth_;
    return written;
  }

  Status write(const Unit& unit) {
    if (!unit.name.empty()) return name(unit.name);
    out_ += "()";
    return {};
  }

  Status write(bool v) {
    out_ += v ? "true" : "false";
    return {};
  }

  Status write(const Integer& v) {
    if (!v.is_valid()) {
      return invalid_argument(fmt::format("ron: -{} is not an integer of 64 bits", v.magnitude));
    }
    if (v.negative) out_ += '-';
    fmt::format_to(std::back_inserter(out_), "{}", v.magnitude);
    return {};
  }

  Status write(const Float& v) {
    append_float(out_, v.value);
    return {};
  }

  Status write(char32_t c) {
    if (!is_unicode_scalar(c)) {
      return invalid_argument(
          fmt::format("ron: {:#x} is not a Unicode character", static_cast<std::uint32_t>(c)));
    }
    out_ += '\'';
    append_escaped(out_, c, '\'');
    out_ += '\'';
    return {};
  }

  Status write(const std::string& text) {
    out_ += '"';
    for (std::string_view rest = text; !rest.empty();) {
      const DecodedCharacter next = decode_utf8(rest);
      if (next.size == 0) return invalid_argument("ron: a text is not UTF-8");
      append_escaped(out_, next.character, '"');
      rest.remove_prefix(next.size);
    }
    out_ += '"';
    return {};
  }

  Status write(const Option& option) {
    if (option.value.empty()) {
      out_ += "None";
      return {};
    }
    if (option.value.size() != 1) {
      return invalid_argument(fmt::format("ron: an option of {} values", option.value.size()));
    }
    out_ += "Some(";
    VARVE_TRY(value(option.value.front()));
    out_ += ')';
    return {};
  }

  Status write(const List& list) {
    return block('[', ']', list.items, [this](const Value& item) { return value(item); });
  }

  Status write(const Map& map) {
    return block('{', '}', map.entries, [this](const MapEntry& entry) -> Status {
      VARVE_TRY(value(entry.key));
      out_ += ": ";
      return value(entry.value);
    });
  }

  Status write(const Tuple& tuple) {
    if (!tuple.name.empty()) VARVE_TRY(name(tuple.name));
    out_ += '(';
    for (std::size_t i = 0; i < tuple.items.size(); ++i) {
      if (i != 0) out_ += ", ";
      VARVE_TRY(value(tuple.items[i]));
    }
    out_ += ')';
    return {};
  }

  Status write(const Record& record) {
    if (names_a_field_twice(record)) {
      return invalid_argument(
          fmt::format("ron: a field of struct \"{}\" stands twice", record.name));
    }
    if (!record.name.empty()) VARVE_TRY(name(record.name));
    return block('(', ')', record.fields, [this](const Field& field) -> Status {
      VARVE_TRY(name(field.name));
      out_ += ": ";
      return value(field.value);
    });
  }

  // Items between brackets, each on a line of its own if pretty.
  template <class Item, class Write>
  Status block(char open, char close, const std::vector<Item>& items, Write write_item) {
    out_ += open;
    ++indent_;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (is_pretty_) {
        new_line();
      } else if (i != 0) {
        out_ += ", ";
      }
      VARVE_TRY(write_item(items[i]));
      if (is_pretty_) out_ += ',';
    }
    --indent_;
    if (is_pretty_ && !items.empty()) new_line();
    out_ += close;
    return {};
  }

  void new_line() {
    out_ += '\n';
    out_.append(indent_ * 4, ' ');
  }

  Status name(std::string_view name) {
    const bool is_plain = !name.empty() && is_name_start(name.front()) &&
                          std::all_of(name.begin(), name.end(), is_name_part) && !is_reserved(name);
    if (!is_plain) {
      if (name.empty() || !std::all_of(name.begin(), name.end(), is_raw_name_part)) {
        return invalid_argument(fmt::format("ron: \"{}\" cannot be written as a name", name));
      }
      out_ += "r#";
    }
    out_ += name;
    return {};
  }

  std::string out_;
  std::size_t indent_ = 0;
  int depth_ = 0;
  bool is_pretty_;
};

}  // namespace

Result<std::string> write_pretty(const Value& value) { return Writer(true).document(value); }

Result<std::string> write_compact(const Value& value) { return Writer(false).document(value); }

}  // namespace varve::ron
