#include "harness/data_folder.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "harness/environment.h"

namespace varve::bench {

namespace fs = std::filesystem;

Result<DataFolder> DataFolder::create(std::string_view parent, bool any_file_system) {
  std::error_code failure;
  fs::path in = parent;
  if (in.empty()) in = fs::is_directory("build", failure) ? "build" : ".";
  fs::create_directories(in, failure);
  if (failure) {
    return io_error(fmt::format("{}: cannot be made a folder: {}", in.string(), failure.message()));
  }
  if (!any_file_system && is_memory_file_system(in.string())) {
    return invalid_argument(fmt::format(
        "{} is in memory, where a sync costs nothing; name a folder on a disk with --dir",
        in.string()));
  }
  std::string path = (in / "varve_bench.XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) {
    return io_error(
        fmt::format("{}: no folder can be made in it: {}", in.string(), std::strerror(errno)));
  }
  return DataFolder(std::move(path));
}

DataFolder::DataFolder(DataFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

DataFolder::~DataFolder() {
  std::error_code ignored;  // What cannot be removed is left for the user to see.
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace varve::bench
