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

Bytes freeze_without_slack(Buffer&& out, std::size_t output_size_limit) {
  const bool is_mostly_slack = out.size() < out.capacity() / 2;
  const bool copy_fits =
      out.capacity() <= output_size_limit && out.size() <= output_size_limit - out.capacity();
  if (is_mostly_slack && copy_fits) return Bytes::copy_of(out.view());
  return std::move(out).freeze();
}

}  // namespace varve
