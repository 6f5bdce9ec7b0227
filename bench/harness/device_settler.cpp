#include "harness/device_settler.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/try.h"
#include "harness/disk_usage.h"
#include "io/path.h"
#include "io/vfs.h"

namespace varve::bench {
namespace {

// As large as the largest timed write: the kernel takes larger folios for larger
// writes, and keeps free memory apart by size.
constexpr std::size_t kScratchWriteSizeMax = std::size_t{8} << 20;

}  // namespace

Result<DeviceSettler> DeviceSettler::create(const std::string& dir) {
  VARVE_ASSIGN(auto commits, posix_vfs().open(path_join(dir, "commits"), OpenMode::create));
  VARVE_ASSIGN(auto scratch, posix_vfs().open(path_join(dir, "scratch"), OpenMode::create));
  return DeviceSettler(std::move(commits), std::move(scratch));
}

Status DeviceSettler::settle(std::chrono::milliseconds quiet, std::size_t warm_size) {
  wait_for_quiet_process(quiet);
  // Pages of the page cache that were freed last are used first; anonymous memory
  // would not do, it comes from and goes to other lists.
  static const std::vector<std::byte> zeros(kScratchWriteSizeMax);
  for (std::size_t done = 0; done < warm_size;) {
    const std::size_t size = std::min(warm_size - done, zeros.size());
    VARVE_TRY(scratch_->write_at(done, ByteView(zeros).first(size)));
    done += size;
  }
  VARVE_TRY(scratch_->truncate(0));
  // The first commit takes along what waits; what follows it (freeing blocks,
  // discards) is over when the second one can start.
  static constexpr std::array<std::byte, 4096> kBlock = {};
  for (int i = 0; i < 2; ++i) {
    VARVE_TRY(commits_->append(kBlock));
    VARVE_TRY(commits_->sync_data());
  }
  return {};
}

}  // namespace varve::bench
