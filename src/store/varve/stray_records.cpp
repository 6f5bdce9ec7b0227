#include "store/varve/stray_records.h"

#include <fmt/format.h>

namespace varve {

Status StrayRecords::status() const {
  if (!first_) return {};
  if (count_ == 1) {
    return corruption(
        fmt::format("1 record cannot be listed: {}; verify names it", first_->message()));
  }
  return corruption(
      fmt::format("{} records cannot be listed, of which the first is {}; verify names each",
                  count_, first_->message()));
}

}  // namespace varve
