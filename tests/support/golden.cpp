#include "support/golden.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace varve::test {

std::string shared_path(std::string_view name) {
  const char* from_environment = std::getenv("VARVE_SHARED_DIR");
  std::string path = from_environment != nullptr ? from_environment : VARVE_SHARED_DIR;
  path += '/';
  path += name;
  return path;
}

std::optional<Bytes> read_shared(std::string_view name) {
  std::ifstream in(shared_path(name), std::ios::binary);
  if (!in) return std::nullopt;
  const std::string contents{std::istreambuf_iterator<char>(in), {}};
  return Bytes::copy_of(contents);
}

}  // namespace varve::test
