#include <gtest/gtest.h>

#include <atomic>

#include "contract/one_file_store.h"
#include "contract/store_contract.h"
#include "contract/subject.h"
#include "io/sim/sim_disk.h"
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

}  // namespace

std::vector<SubjectMaker> all_subjects() {
  return {
      {"memory", [] { return std::make_unique<MemorySubject>(); }},
      {"onefile", [] { return std::make_unique<OneFileSubject>(); }},
      // No format of ours, but the refusals need somebody to refuse.
      {"narrow", [] { return std::make_unique<SimulatedSubject>(narrow()); }},
      {"middling", [] { return std::make_unique<SimulatedSubject>(middling()); }},
  };
}

INSTANTIATE_TEST_SUITE_P(Formats, StoreContract, testing::ValuesIn(all_subjects()),
                         [](const auto& each) { return each.param.name; });

}  // namespace varve::test
