#include "harness/environment.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>

#include "varve/version.h"

namespace varve::bench {
namespace {

namespace fs = std::filesystem;

std::string first_line(const char* path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::size_t memory_size() {
  return static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

bool is_inside(std::string_view path, std::string_view mount_point) {
  if (mount_point == "/") return true;
  return path.starts_with(mount_point) &&
         (path.size() == mount_point.size() || path[mount_point.size()] == '/');
}

}  // namespace

std::string describe_file_system(const std::string& path) {
  std::error_code ignored;
  const std::string absolute = fs::canonical(path, ignored).string();
  std::ifstream in("/proc/self/mountinfo");
  std::string best_point;
  std::string best = "unknown";
  for (std::string line; std::getline(in, line);) {
    // "36 35 98:0 /root /mount/point options [optional ...] - type source super-options"
    std::istringstream words(line);
    std::string word, point, options, type, source, super_options;
    words >> word >> word >> word >> word >> point >> options;
    while (words >> word && word != "-") continue;
    if (!(words >> type >> source >> super_options)) continue;
    // Later lines lie on top of earlier ones, hence >=.
    if (!is_inside(absolute, point) || point.size() < best_point.size()) continue;
    best_point = point;
    best = fmt::format("{} ({}; {})", type, options, super_options);
  }
  return best;
}

bool is_memory_file_system(const std::string& path) {
  struct statfs info;
  if (::statfs(path.c_str(), &info) != 0) return false;
  return info.f_type == TMPFS_MAGIC || info.f_type == RAMFS_MAGIC;
}

Environment describe_environment(const std::string& data_dir) {
  utsname system{};
  ::uname(&system);
#ifdef __clang__
  const std::string compiler = "clang " __clang_version__;
#else
  const std::string compiler = "g++ " __VERSION__;
#endif
  return {
      {"varve", version()},
      {"date", fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::time(nullptr)))},
      {"cpu", fmt::format("{}, {} cores online", cpu_name(), ::sysconf(_SC_NPROCESSORS_ONLN))},
      {"memory", fmt::format("{} MiB", memory_size() >> 20)},
      {"kernel", fmt::format("{} {} {}", system.sysname, system.release, system.machine)},
      {"load before", first_line("/proc/loadavg")},
      {"file system", describe_file_system(data_dir)},
      {"compiler", compiler},
      {"build type", VARVE_BENCH_BUILD_TYPE},
  };
}

void warm_memory(bool quick) {
  constexpr std::size_t kPageSize = 4096;
  const std::size_t wanted = quick ? std::size_t{64} << 20 : std::size_t{2} << 30;
  const std::size_t size = std::min(wanted, memory_size() / 4);
  const auto block = std::make_unique_for_overwrite<std::byte[]>(size);
  for (std::size_t offset = 0; offset < size; offset += kPageSize) {
    // Volatile, or the compiler drops writes to memory that is about to be freed.
    static_cast<volatile std::byte&>(block[offset]) = std::byte{1};
  }
}

}  // namespace varve::bench
