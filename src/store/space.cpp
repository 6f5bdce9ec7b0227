// The names behind Space numbers. They are kept for the life of the process and never
// move, so that name() takes no lock: it is called for every comparison of two spaces.
#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "base/guarded.h"
#include "base/try.h"
#include "varve/key.h"

namespace varve {
namespace {

constexpr std::uint32_t kSpaceCountMax = 65'536;

struct SpaceNames {
  std::shared_mutex mutex;
  // The default space is number 0 and is not in here. Keys point into `names`.
  std::unordered_map<std::string_view, std::uint32_t> numbers;
  std::atomic<const std::string*> names[kSpaceCountMax] = {};
  std::uint32_t count = 1;
};

SpaceNames& space_names() {
  // Never destroyed: a Space may be named while the process ends.
  static SpaceNames& names = *new SpaceNames;
  return names;
}

}  // namespace

Result<Space> Space::named(std::string_view name) {
  if (name.empty()) return Space();
  return or_out_of_memory([&]() -> Result<Space> {
    SpaceNames& known = space_names();
    {
      const std::shared_lock lock(known.mutex);
      if (const auto it = known.numbers.find(name); it != known.numbers.end()) {
        return Space(it->second);
      }
    }
    VARVE_TRY(check_name(name));
    auto kept = std::make_unique<const std::string>(name);
    const std::unique_lock lock(known.mutex);
    if (const auto it = known.numbers.find(name); it != known.numbers.end()) {
      return Space(it->second);
    }
    if (known.count == kSpaceCountMax) {
      return unsupported(fmt::format("the space \"{}\" is one too many: a process knows at most {}",
                                     name, kSpaceCountMax));
    }
    known.numbers.emplace(*kept, known.count);
    known.names[known.count].store(kept.release(), std::memory_order_release);
    return Space(known.count++);
  });
}

std::string_view Space::name() const noexcept {
  if (id_ == 0) return {};
  return *space_names().names[id_].load(std::memory_order_acquire);
}

std::strong_ordering operator<=>(Space a, Space b) noexcept {
  // Nearly always the same space, and then no name is looked at.
  if (a.id_ == b.id_) return std::strong_ordering::equal;
  return a.name() <=> b.name();
}

}  // namespace varve
