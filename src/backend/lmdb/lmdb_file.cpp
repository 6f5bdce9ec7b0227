#include "backend/lmdb/lmdb_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/try.h"
#include "io/path.h"

namespace varve::lmdb {
namespace {

constexpr std::uint32_t kMagic = 0xBEEFC0DE;
constexpr std::uint32_t kVersion = 1;
constexpr std::uint16_t kMetaPageFlag = 0x08;
constexpr std::uint32_t kPageSizeMin = 512;
constexpr std::uint32_t kPageSizeMax = 65536;

// Where LMDB's 64-bit form keeps them in each of its two head pages.
constexpr std::size_t kFlagsOffset = 10;
constexpr std::size_t kMagicOffset = 16;
constexpr std::size_t kVersionOffset = 20;
constexpr std::size_t kPageSizeOffset = 40;
constexpr std::size_t kHeadSize = 152;

// LMDB writes its numbers as the machine has them, and so they are read.
template <class T>
T native(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// The page size it claims.
Result<std::uint32_t> check_head(const File& file, std::uint64_t offset) {
  std::byte head[kHeadSize];
  VARVE_TRY(file.read_exactly(offset, head));
  const auto magic = native<std::uint32_t>(head + kMagicOffset);
  const auto flags = native<std::uint16_t>(head + kFlagsOffset);
  if (magic != kMagic || (flags & kMetaPageFlag) == 0) {
    return corruption(
        fmt::format("{}: at offset {} there is no head of an LMDB file", file.path(), offset));
  }
  if (const auto version = native<std::uint32_t>(head + kVersionOffset); version != kVersion) {
    return unsupported(fmt::format("{}: version {} of LMDB's files; this build reads {}",
                                   file.path(), version, kVersion));
  }
  const auto page_size = native<std::uint32_t>(head + kPageSizeOffset);
  // It is divided by.
  if (!std::has_single_bit(page_size) || page_size < kPageSizeMin || page_size > kPageSizeMax) {
    return corruption(fmt::format("{}: its head claims pages of {} bytes", file.path(), page_size));
  }
  return page_size;
}

Status check_no_link(const std::string& path) {
  std::error_code failed;
  const auto status = std::filesystem::symlink_status(path, failed);
  if (status.type() == std::filesystem::file_type::not_found) return {};
  if (failed) return io_error(fmt::format("{}: {}", path, failed.message()));
  if (status.type() == std::filesystem::file_type::regular) return {};
  return invalid_argument(fmt::format("{}: it is no plain file, so LMDB is kept from it", path));
}

}  // namespace

Status check_no_links(std::string_view dir) {
  VARVE_TRY(check_no_link(path_join(dir, kDataFile)));
  return check_no_link(path_join(dir, kLockFile));
}

Status check_file(Vfs& vfs, std::string_view dir) {
  const std::string path = path_join(dir, kDataFile);
  VARVE_TRY(check_no_links(dir));
  VARVE_ASSIGN(const std::unique_ptr<File> file, vfs.open(path, OpenMode::read));
  if constexpr (sizeof(void*) != 8) return {};  // The numbers are elsewhere then.
  VARVE_ASSIGN(const std::uint32_t page_size, check_head(*file, 0));
  VARVE_ASSIGN(const std::uint32_t same_size, check_head(*file, page_size));
  if (page_size == same_size) return {};
  return corruption(fmt::format("{}: its two heads claim pages of {} and of {} bytes", path,
                                page_size, same_size));
}

Result<FileId> file_id(const std::string& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0) {
    return io_error(fmt::format("{}: {}", path, std::generic_category().message(errno)));
  }
  return FileId{found.st_dev, found.st_ino};
}

}  // namespace varve::lmdb
