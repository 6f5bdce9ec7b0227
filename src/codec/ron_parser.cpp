#include <algorithm>
#include <utility>
#include <vector>

#include "base/try.h"
#include "codec/ron.h"
#include "codec/ron_scanner.h"
#include "codec/utf8.h"

namespace varve::ron {
namespace {

class Parser {
 public:
  Parser(std::string_view text, std::size_t output_size_limit) noexcept
      : in_(text, output_size_limit) {}

  Result<Value> document() {
    VARVE_TRY(in_.skip_blanks());
    if (in_.peek() == '#') return in_.error("extensions are not supported");
    VARVE_TRY(in_.charge(sizeof(Value)));
    VARVE_ASSIGN(Value root, value());
    VARVE_TRY(in_.skip_blanks());
    if (!in_.at_end()) return in_.error("unexpected text after the value");
    return root;
  }

 private:
  // Stands at a value, not at blanks.
  Result<Value> value() {
    if (depth_ == kDepthMax) return in_.error("nested too deeply");
    ++depth_;
    Result<Value> parsed = value_at_depth();
    --depth_;
    return parsed;
  }

  Result<Value> value_at_depth() {
    if (in_.at_string()) {
      VARVE_ASSIGN(std::string text, in_.string());
      return Value{std::move(text)};
    }
    if (in_.at_name()) return named();
    if (in_.at_number()) return in_.number();
    switch (in_.peek()) {
      case '\'': {
        VARVE_ASSIGN(const char32_t c, in_.character());
        return Value{c};
      }
      case '(':
        return parenthesised({});
      case '[':
        return list();
      case '{':
        return map();
      default:
        return in_.error(in_.at_end() ? "expected a value, found the end" : "expected a value");
    }
  }

  // A keyword, or a struct or variant with its name.
  Result<Value> named() {
    const std::size_t start = in_.offset();
    bool is_raw = false;
    VARVE_ASSIGN(const std::string_view name, in_.name(is_raw));
    if (!is_raw && is_reserved(name)) return keyword(name, start);
    const std::size_t after_name = in_.offset();
    VARVE_TRY(in_.skip_blanks());
    if (in_.peek() == '(') return parenthesised(name);
    in_.rewind(after_name);
    if (in_.peek() == '"' || in_.peek() == '\'') {
      return in_.error_at(start, "byte strings are not supported");
    }
    VARVE_ASSIGN(std::string owned, in_.own(name));
    return Value{Unit{std::move(owned)}};
  }

  Result<Value> keyword(std::string_view word, std::size_t start) {
    if (word == "true") return Value{true};
    if (word == "false") return Value{false};
    if (word == "None") return Value{Option{}};
    if (word == "Some") return some();
    in_.rewind(start);
    return in_.number();
  }

  Result<Value> some() {
    VARVE_TRY(in_.skip_blanks());
    if (!in_.take('(')) return in_.error("expected '(' after Some");
    VARVE_TRY(in_.skip_blanks());
    Option option;
    VARVE_ASSIGN(Value inner, value());
    VARVE_TRY(append(option.value, std::move(inner)));
    VARVE_ASSIGN(const bool more, next_item(')'));
    if (more) return in_.error("expected one value in Some");
    return Value{std::move(option)};
  }

  // Doubles the room itself, so that it is charged before it is allocated.
  template <class Item>
  Status append(std::vector<Item>& items, Item item) {
    if (const std::size_t room = items.capacity(); items.size() == room) {
      const std::size_t wanted = std::max<std::size_t>(1, room * 2);
      VARVE_TRY(in_.charge(wanted * sizeof(Item)));
      items.reserve(wanted);
      in_.refund(room * sizeof(Item));
    }
    items.push_back(std::move(item));
    return {};
  }

  // After an item: true if another follows, false if `close` was reached and taken.
  Result<bool> next_item(char close) {
    VARVE_TRY(in_.skip_blanks());
    const bool had_comma = in_.take(',');
    if (had_comma) VARVE_TRY(in_.skip_blanks());
    if (in_.take(close)) return false;
    if (had_comma) return true;
    return in_.error(std::string("expected ',' or '") + close + "'");
  }

  // After an opening bracket: true if an item follows, false if `close` was taken.
  Result<bool> first_item(char close) {
    in_.rewind(in_.offset() + 1);
    VARVE_TRY(in_.skip_blanks());
    return !in_.take(close);
  }

  Result<Value> list() {
    List out;
    VARVE_ASSIGN(bool more, first_item(']'));
    while (more) {
      VARVE_ASSIGN(Value item, value());
      VARVE_TRY(append(out.items, std::move(item)));
      VARVE_ASSIGN(more, next_item(']'));
    }
    return Value{std::move(out)};
  }

  Result<Value> map() {
    Map out;
    VARVE_ASSIGN(bool more, first_item('}'));
    while (more) {
      VARVE_ASSIGN(Value key, value());
      VARVE_TRY(colon());
      VARVE_ASSIGN(Value item, value());
      VARVE_TRY(append(out.entries, MapEntry{std::move(key), std::move(item)}));
      VARVE_ASSIGN(more, next_item('}'));
    }
    return Value{std::move(out)};
  }

  Result<Value> parenthesised(std::string_view name) {
    VARVE_ASSIGN(const bool has_item, first_item(')'));
    if (!has_item) {
      if (name.empty()) return Value{Unit{}};
      VARVE_ASSIGN(std::string owned, in_.own(name));
      return Value{Tuple{std::move(owned), {}}};
    }
    VARVE_ASSIGN(const bool is_record, at_field());
    return is_record ? record(name) : tuple(name);
  }

  // Whether a name and a colon come next, which is what tells `(x: 1)` from `(x)`.
  Result<bool> at_field() {
    if (!in_.at_name()) return false;
    const std::size_t start = in_.offset();
    bool is_raw = false;
    VARVE_TRY(in_.name(is_raw));
    VARVE_TRY(in_.skip_blanks());
    const bool found = in_.peek() == ':';
    in_.rewind(start);
    return found;
  }

  Result<Value> tuple(std::string_view name) {
    Tuple out;
    VARVE_ASSIGN(out.name, in_.own(name));
    for (bool more = true; more;) {
      VARVE_ASSIGN(Value item, value());
      VARVE_TRY(append(out.items, std::move(item)));
      VARVE_ASSIGN(more, next_item(')'));
    }
    return Value{std::move(out)};
  }

  Result<Value> record(std::string_view name) {
    const std::size_t start = in_.offset();
    Record out;
    VARVE_ASSIGN(out.name, in_.own(name));
    for (bool more = true; more;) {
      if (!in_.at_name()) return in_.error("expected the name of a field");
      bool is_raw = false;
      VARVE_ASSIGN(const std::string_view field_name, in_.name(is_raw));
      VARVE_ASSIGN(std::string owned, in_.own(field_name));
      VARVE_TRY(colon());
      VARVE_ASSIGN(Value item, value());
      VARVE_TRY(append(out.fields, Field{std::move(owned), std::move(item)}));
      VARVE_ASSIGN(more, next_item(')'));
    }
    const std::size_t names_size = out.fields.size() * sizeof(std::string_view);
    VARVE_TRY(in_.charge(names_size));
    if (names_a_field_twice(out)) return in_.error_at(start, "a field of this struct stands twice");
    in_.refund(names_size);
    return Value{std::move(out)};
  }

  Status colon() {
    VARVE_TRY(in_.skip_blanks());
    if (!in_.take(':')) return in_.error("expected ':'");
    return in_.skip_blanks();
  }

  Scanner in_;
  int depth_ = 0;
};

}  // namespace

Result<Value> parse(std::string_view text, std::size_t output_size_limit) {
  if (!is_utf8(text)) {
    std::size_t offset = 0;
    while (const std::size_t size = decode_utf8(text.substr(offset)).size) offset += size;
    return Scanner(text, 0).error_at(offset, "not UTF-8");
  }
  return Parser(text, output_size_limit).document();
}

}  // namespace varve::ron
