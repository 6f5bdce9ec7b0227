#include "backend/memory_backend.h"

#include <mutex>

#include "backend/batch_check.h"
#include "backend/memory_view.h"
#include "base/guarded.h"
#include "base/try.h"

namespace varve {
namespace {

class MemoryBackend final : public Backend {
 public:
  explicit MemoryBackend(BackendTraits traits)
      : traits_(std::move(traits)), current_(std::make_shared<const MemoryVersion>()) {}

  std::uint64_t sequence() const override { return view().sequence(); }
  Result<std::optional<Bytes>> get(ByteView key) const override { return view().get(key); }
  std::vector<Result<std::optional<Bytes>>> multi_get(
      const std::vector<Bytes>& keys) const override {
    return view().multi_get(keys);
  }
  Result<RangePage> range(const RangeQuery& query) const override { return view().range(query); }

  const BackendTraits& traits() const override { return traits_; }
  BackendStats stats() const override;
  WriteResult write(const WriteBatch& batch) override;
  Status sync() override { return check_open(); }
  Result<std::unique_ptr<ReadView>> snapshot() const override {
    return or_out_of_memory([&]() -> Result<std::unique_ptr<ReadView>> {
      VARVE_TRY(check_open());
      return std::make_unique<MemoryView>(traits_, current());
    });
  }
  Status refresh() override { return check_open(); }
  // There are no checksums: what is in memory is what was put there.
  Result<std::vector<Error>> verify(VerifyScope) const override {
    VARVE_TRY(check_open());
    return std::vector<Error>();
  }
  Status close() override {
    (void)exchange(nullptr);
    return {};
  }

 private:
  // Null once it is closed.
  SharedMemoryVersion current() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }
  // Returns what was there before, so that it is freed when nobody waits for the lock.
  SharedMemoryVersion exchange(SharedMemoryVersion next) {
    const std::lock_guard lock(mutex_);
    current_.swap(next);
    return next;
  }
  MemoryView view() const { return MemoryView(traits_, current()); }
  Status check_open() const {
    if (current() == nullptr) return closed_error(traits_);
    return {};
  }

  const BackendTraits traits_;
  std::mutex write_mutex_;  // held through a batch
  // Held only to copy or to swap the pointer.
  mutable std::mutex mutex_;
  SharedMemoryVersion current_;
};

BackendStats MemoryBackend::stats() const {
  BackendStats stats;
  const SharedMemoryVersion version = current();
  if (version == nullptr) return stats;
  stats.entry_count = version->map.size();
  stats.live_size = stats.stored_size = version->live_size;
  stats.index_size = version->map.size() * version->map.node_size();
  stats.sequence = version->sequence;
  return stats;
}

WriteResult MemoryBackend::write(const WriteBatch& batch) {
  // Declared before the lock: what nobody sees any more is freed after it.
  SharedMemoryVersion before;
  std::shared_ptr<MemoryVersion> next;
  return or_out_of_memory([&]() -> WriteResult {
    const std::lock_guard lock(write_mutex_);
    before = current();
    if (before == nullptr) return closed_error(traits_);
    VARVE_TRY(check_batch(traits_, batch));
    next = std::make_shared<MemoryVersion>(*before);
    if (!next->apply(batch)) return WriteResult(before->sequence);
    const std::uint64_t sequence = ++next->sequence;
    before = exchange(std::move(next));
    return WriteResult(sequence);
  });
}

}  // namespace

BackendTraits memory_backend_traits() {
  BackendTraits traits;
  traits.name = "memory";
  traits.durable = false;
  traits.value_size_max = (1u << 30) - 1;
  traits.batch_size_max = std::uint64_t{1} << 31;
  return traits;
}

std::unique_ptr<Backend> make_memory_backend(BackendTraits traits) {
  try {
    return std::make_unique<MemoryBackend>(std::move(traits));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

std::unique_ptr<Backend> make_memory_backend() {
  return make_memory_backend(memory_backend_traits());
}

}  // namespace varve
