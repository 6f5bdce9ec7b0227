#include "codec/grow_output.h"

#include <fmt/format.h>

namespace varve {

Error over_limit(std::string_view what, std::size_t output_size_limit) {
  return corruption(
      fmt::format("{}: decodes to more than the limit of {} bytes", what, output_size_limit));
}

void replace_size(Buffer& out, std::size_t size) {
  if (size > out.capacity()) out = Buffer();
  out.resize(size);
}

Bytes freeze_without_slack(Buffer&& out) {
  if (out.size() < out.capacity() / 2) return Bytes::copy_of(out.view());
  return std::move(out).freeze();
}

}  // namespace varve
