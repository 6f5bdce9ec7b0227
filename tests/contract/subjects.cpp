#include <gtest/gtest.h>

#include <atomic>

#include "contract/one_file_store.h"
#include "contract/store_contract.h"
#include "contract/subject.h"
#include "io/sim/sim_disk.h"
#include "store/nebula/nebula_store.h"
#include "store/varve/varve_format.h"
#include "support/scratch_dir.h"

namespace varve::test {

std::string StoreSubject::backup_path(std::string_view path, std::uint32_t number) const {
  return OneFileStore::backup_path(path, number);
}

Bytes StoreSubject::payload(RecordKind, std::string_view text) const {
  return Bytes::copy_of(text);
}

namespace {

class MemorySubject final : public StoreSubject {
 public:
  const Format& format() const override { return **find_format("memory"); }
  std::string fresh_path() override {
    static std::atomic<int> count = 0;
    return "memory:contract " + std::to_string(++count);
  }
};

// Capabilities of a format that can hardly do anything.
Capabilities narrow() {
  Capabilities can = OneFileStore::everything();
  can.coordinate_count_min = can.coordinate_count_max = 3;
  can.spaces = can.entities = can.entities_without_owner = false;
  can.players = can.globals = can.generator = can.pins = can.backups = false;
  can.payload_size_max = 3'000'000;
  return can;
}

// Capabilities between that one and all.
Capabilities middling() {
  Capabilities can = OneFileStore::everything();
  can.coordinate_count_max = 1;
  can.entities_without_owner = can.players = can.pins = false;
  can.payload_size_max = 4'000'000;
  return can;
}

class OneFileSubject final : public StoreSubject {
 public:
  const Format& format() const override { return format_; }
  std::string fresh_path() override { return dir_.file("world " + std::to_string(++count_)); }

 private:
  ScratchDir dir_;
  OneFileFormat format_{posix_vfs()};
  int count_ = 0;
};

// On a simulated disk, which syncs in no time.
class SimulatedSubject final : public StoreSubject {
 public:
  explicit SimulatedSubject(Capabilities can) : format_(disk_, std::move(can)) {
    disk_.set_recording(false);
  }
  const Format& format() const override { return format_; }
  std::string fresh_path() override { return "world " + std::to_string(++count_); }

 private:
  sim::SimDisk disk_;
  OneFileFormat format_;
  int count_ = 0;
};

// A format on a disk of ours, or on the real one.
class NebulaSubject final : public StoreSubject {
 public:
  explicit NebulaSubject(bool simulated) : simulated_(simulated) { disk_.set_recording(false); }
  const Format& format() const override { return *format_; }
  std::string fresh_path() override {
    const std::string name = "world " + std::to_string(++count_);
    return simulated_ ? name : dir_.file(name);
  }
  std::string backup_path(std::string_view path, std::uint32_t number) const override {
    return nebula::backup_path(path, number);
  }
  Bytes payload(RecordKind kind, std::string_view text) const override {
    return nebula_payload(kind, text);
  }

 private:
  const bool simulated_;
  ScratchDir dir_;
  sim::SimDisk disk_;
  std::unique_ptr<const Format> format_ =
      nebula::make_nebula_format(simulated_ ? static_cast<Vfs&>(disk_) : posix_vfs());
  int count_ = 0;
};

class VarveSubject final : public StoreSubject {
 public:
  VarveSubject(bool simulated, SaveBackend backend, std::uint64_t sharing_memory_size = 0)
      : simulated_(simulated),
        format_(make_varve_format(
            simulated_ ? static_cast<Vfs&>(disk_) : posix_vfs(), "varve", backend,
            {.speed = SpeedClass::balanced, .sharing_memory_size = sharing_memory_size})) {
    disk_.set_recording(false);
  }
  const Format& format() const override { return *format_; }
  std::string fresh_path() override {
    const std::string name = "world " + std::to_string(++count_);
    return simulated_ ? name : dir_.file(name);
  }

 private:
  const bool simulated_;
  ScratchDir dir_;
  sim::SimDisk disk_;
  const std::unique_ptr<const Format> format_;
  int count_ = 0;
};

}  // namespace

Bytes nebula_payload(RecordKind kind, std::string_view text) {
  if (kind != RecordKind::entity) return Bytes::copy_of(text);
  nebula::EntityRecord record;
  record.components.push_back({"text", Bytes::copy_of(text)});
  return nebula::encode_entity(record).value();
}

std::vector<SubjectMaker> all_subjects() {
  std::vector<SubjectMaker> subjects{
      {"memory", [] { return std::make_unique<MemorySubject>(); }},
      {"onefile", [] { return std::make_unique<OneFileSubject>(); }},
      // No format of ours, but the refusals need somebody to refuse.
      {"narrow", [] { return std::make_unique<SimulatedSubject>(narrow()); }},
      {"middling", [] { return std::make_unique<SimulatedSubject>(middling()); }},
      {"nebula", [] { return std::make_unique<NebulaSubject>(false); }},
      {"nebulasimulated", [] { return std::make_unique<NebulaSubject>(true); }},
      {"varve", [] { return std::make_unique<VarveSubject>(false, SaveBackend::file); }},
      {"varvesimulated", [] { return std::make_unique<VarveSubject>(true, SaveBackend::file); }},
      {"varvesharing",
       [] { return std::make_unique<VarveSubject>(true, SaveBackend::file, 1 << 16); }},
  };
  if (has_lmdb_backend()) {
    subjects.push_back(
        {"varvelmdb", [] { return std::make_unique<VarveSubject>(false, SaveBackend::lmdb); }});
  }
  return subjects;
}

INSTANTIATE_TEST_SUITE_P(Formats, StoreContract, testing::ValuesIn(all_subjects()),
                         [](const auto& each) { return each.param.name; });

}  // namespace varve::test
