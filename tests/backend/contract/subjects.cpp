#include "backend/contract/subject.h"

#include "backend/log/log_backend.h"
#include "backend/log/small_log.h"
#include "backend/memory_backend.h"
#include "io/sim/sim_disk.h"
#include "support/scratch_dir.h"

namespace varve::test {
namespace {

class MemorySubject final : public BackendSubject {
 public:
  explicit MemorySubject(BackendTraits traits) : traits_(std::move(traits)) {}
  Result<std::unique_ptr<Backend>> open() override { return make_memory_backend(traits_); }
  bool persists() const override { return false; }

 private:
  BackendTraits traits_;
};

// The real disk, with upkeep on its thread.
class FileSubject final : public BackendSubject {
 public:
  Result<std::unique_ptr<Backend>> open() override { return open_file_backend(dir_.file("log")); }

 private:
  ScratchDir dir_;
};

// The real disk, through LMDB.
class LmdbSubject final : public BackendSubject {
 public:
  Result<std::unique_ptr<Backend>> open() override { return open_lmdb_backend(dir_.file("lmdb")); }
  // Each batch is synced twice.
  bool is_quick() const override { return false; }

 private:
  ScratchDir dir_;
};

// A simulated disk, where every few batches bring on a checkpoint and reclaim space.
class SmallLogSubject final : public BackendSubject {
 public:
  Result<std::unique_ptr<Backend>> open() override {
    return log::open_log(disk_, "log", small_log_options());
  }

 private:
  sim::SimDisk disk_;
};

// Limits a test can reach.
BackendTraits small() {
  BackendTraits traits = memory_backend_traits();
  traits.key_size_max = 40;
  traits.value_size_max = 100;
  traits.batch_size_max = 2000;
  return traits;
}

// Only keys that begin alike are written together.
BackendTraits by_prefix() {
  BackendTraits traits = memory_backend_traits();
  traits.atomic_scope = AtomicScope::prefix;
  traits.atomic_prefix_size = 3;
  return traits;
}

}  // namespace

std::vector<BackendSubjectMaker> all_backend_subjects() {
  std::vector<BackendSubjectMaker> subjects{
      {"memory", [] { return std::make_unique<MemorySubject>(memory_backend_traits()); }},
      {"file", [] { return std::make_unique<FileSubject>(); }},
      {"smalllog", [] { return std::make_unique<SmallLogSubject>(); }},
      // No backend of ours, but the limits need somebody who has them.
      {"small", [] { return std::make_unique<MemorySubject>(small()); }},
      {"byprefix", [] { return std::make_unique<MemorySubject>(by_prefix()); }},
  };
  // Without it tests/backend/lmdb/ says that this is skipped.
  if (has_lmdb_backend()) {
    subjects.push_back({"lmdb", [] { return std::make_unique<LmdbSubject>(); }});
  }
  return subjects;
}

}  // namespace varve::test
