#include "support/format_page.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "support/bytes_text.h"

namespace varve::test {

Bytes example_of(std::string_view page, std::string_view heading) {
  std::ifstream in(VARVE_FORMATS_DIR "/" + std::string(page));
  const std::string wanted = "### " + std::string(heading);
  bool is_under_heading = false;
  bool is_inside = false;
  std::string digits;
  for (std::string line; std::getline(in, line);) {
    if (is_inside && line == "```") return hex(digits);
    if (is_inside) digits += line.substr(0, line.find(';'));
    if (line.starts_with("#")) is_under_heading = line == wanted;
    if (is_under_heading && line == "```hex") is_inside = true;
  }
  std::fprintf(stderr, "%.*s has no example \"%s\"\n", static_cast<int>(page.size()), page.data(),
               wanted.c_str());
  std::abort();
}

}  // namespace varve::test
