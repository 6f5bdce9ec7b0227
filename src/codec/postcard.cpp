#include "codec/postcard.h"

#include "codec/utf8.h"

namespace varve {

bool PostcardReader::boolean() noexcept {
  const std::uint8_t value = in_.u8();
  if (value > 1) in_.fail("bool or option tag that is neither 0 nor 1");
  return in_.ok() && value == 1;
}

std::size_t PostcardReader::sequence(std::size_t item_size_min) noexcept {
  return in_.count(in_.varint(), item_size_min);
}

std::string_view PostcardReader::text() noexcept {
  const std::string_view text = as_text(bytes());
  if (is_utf8(text)) return text;
  in_.fail("text that is not UTF-8");
  return {};
}

std::uint32_t PostcardReader::variant(std::uint32_t variant_count) noexcept {
  const auto index = static_cast<std::uint32_t>(in_.varint(0xffffffff));
  if (index < variant_count) return index;
  in_.fail("unknown enum variant");
  return 0;
}

void PostcardWriter::text(std::string_view v) {
  if (!is_utf8(v)) return out_.fail();
  bytes(as_byte_view(v));
}

void PostcardWriter::bytes(ByteView v) {
  out_.varint(v.size());
  out_.bytes(v);
}

}  // namespace varve
