// The locks of SimDisk: names in a set, which a crash forgets.
#include <fmt/format.h>

#include "base/try.h"
#include "io/sim/sim_disk.h"

namespace varve::sim {

// `Kind` is WriterLock or SlotLock.
template <class Kind>
class SimLock final : public Kind {
 public:
  explicit SimLock(SimDisk& disk) : disk_(disk) {}
  ~SimLock() override {
    if (!held_) return;
    const std::lock_guard guard(disk_.mutex_);
    disk_.locks_.erase(*held_);
  }
  // The disk's mutex is held. False if another has it.
  bool take(std::string key) {
    const auto [place, is_free] = disk_.locks_.insert(std::move(key));
    if (is_free) held_ = place;
    return is_free;
  }

 private:
  SimDisk& disk_;
  std::optional<std::set<std::string, std::less<>>::iterator> held_;
};

Result<std::unique_ptr<WriterLock>> SimDisk::lock_writer(std::string_view path) {
  const std::lock_guard guard(mutex_);
  if (auto failure = enter(path, "lock")) return *failure;
  // A lock file needs a directory to lie in, though none is kept here.
  const auto place = view_.place(path);
  if (!place) return no_such(path);
  std::string key = fmt::format("{}/{}", place->dir, place->name);
  // Made first: a lock nobody holds because memory ran out could never be taken again.
  auto lock = std::make_unique<SimLock<WriterLock>>(*this);
  if (!lock->take(std::move(key))) {
    return busy(fmt::format("{}: held for writing by another part of this program", path));
  }
  return lock;
}

Result<std::string> SimDisk::slot_key(std::string_view path, std::uint32_t index) const {
  const auto node = view_.find(path);
  if (!node) return no_such(path);
  if (view_.node(*node)->is_dir) {
    return invalid_argument(fmt::format("{}: not an ordinary file", path));
  }
  // The key of a writer starts with a number.
  return fmt::format("slot {} of {}", index, *node);
}

Result<std::unique_ptr<SlotLock>> SimDisk::lock_slot(std::string_view path, std::uint32_t index) {
  const std::lock_guard guard(mutex_);
  if (auto failure = enter(path, "taking a slot")) return *failure;
  VARVE_ASSIGN(std::string key, slot_key(path, index));
  auto lock = std::make_unique<SimLock<SlotLock>>(*this);
  if (!lock->take(std::move(key))) return busy(fmt::format("{}: slot {} is held", path, index));
  return lock;
}

Result<bool> SimDisk::is_slot_locked(std::string_view path, std::uint32_t index) {
  const std::lock_guard guard(mutex_);
  if (auto failure = enter(path, "asking for a slot")) return *failure;
  record({.kind = OpKind::read});
  VARVE_ASSIGN(const std::string key, slot_key(path, index));
  return locks_.contains(key);
}

}  // namespace varve::sim
