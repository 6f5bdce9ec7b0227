#include "harness/device_settler.h"

#include <array>
#include <utility>

#include "base/try.h"
#include "harness/disk_usage.h"
#include "io/path.h"
#include "io/vfs.h"

namespace varve::bench {

Result<DeviceSettler> DeviceSettler::create(const std::string& dir) {
  VARVE_ASSIGN(auto file, posix_vfs().open(path_join(dir, "settle"), OpenMode::create));
  return DeviceSettler(std::move(file));
}

Status DeviceSettler::settle(std::chrono::milliseconds quiet) {
  // The first commit takes the removed blocks with it; they are discarded after
  // it, which the second one waits for.
  static constexpr std::array<std::byte, 4096> kBlock = {};
  for (int i = 0; i < 2; ++i) {
    VARVE_TRY(file_->append(kBlock));
    VARVE_TRY(file_->sync_data());
  }
  wait_for_quiet_process(quiet);
  return {};
}

}  // namespace varve::bench
