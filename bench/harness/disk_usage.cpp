#include "harness/disk_usage.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

namespace varve::bench {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// By definition, whatever the device or the file system use.
constexpr std::uint64_t kStatBlockSize = 512;
constexpr std::uint64_t kSectorSize = 512;

}  // namespace

std::uint64_t allocated_size(const std::string& dir) {
  std::uint64_t size = 0;
  std::error_code failure;
  // Engines remove files meanwhile; a name that is gone counts nothing.
  for (auto it = fs::recursive_directory_iterator(dir, failure);
       !failure && it != fs::recursive_directory_iterator(); it.increment(failure)) {
    struct stat info;
    if (::lstat(it->path().c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
      size += static_cast<std::uint64_t>(info.st_blocks) * kStatBlockSize;
    }
  }
  return size;
}

std::optional<std::uint64_t> device_written_size(const std::string& dir) {
  struct stat info;
  if (::stat(dir.c_str(), &info) != 0) return std::nullopt;
  std::ifstream in(
      fmt::format("/sys/dev/block/{}:{}/stat", major(info.st_dev), minor(info.st_dev)));
  // Reads: count, merged, sectors, ms. Writes: count, merged, sectors, ...
  std::uint64_t fields[7] = {};
  for (std::uint64_t& field : fields) {
    if (!(in >> field)) return std::nullopt;
  }
  return fields[6] * kSectorSize;
}

std::optional<std::uint64_t> process_written_size() {
  std::ifstream in("/proc/self/io");
  std::string name;
  std::uint64_t value = 0;
  while (in >> name >> value) {
    if (name == "write_bytes:") return value;
  }
  return std::nullopt;
}

void wait_for_quiet_process(std::chrono::milliseconds quiet) {
  constexpr auto kLimit = 10s;
  const auto start = std::chrono::steady_clock::now();
  auto last_change = start;
  auto written = process_written_size();
  for (auto now = start; now - start < kLimit && now - last_change < quiet;
       now = std::chrono::steady_clock::now()) {
    std::this_thread::sleep_for(std::min<std::chrono::milliseconds>(quiet, 20ms));
    if (const auto current = process_written_size(); current != written) {
      written = current;
      last_change = std::chrono::steady_clock::now();
    }
  }
}

}  // namespace varve::bench
