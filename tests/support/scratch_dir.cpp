#include "support/scratch_dir.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace varve::test {

ScratchDir::ScratchDir() {
  path_ = (std::filesystem::temp_directory_path() / "varve-test-XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr) {
    std::perror("mkdtemp");
    std::abort();
  }
}

ScratchDir::~ScratchDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace varve::test
