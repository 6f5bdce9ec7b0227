// A small save with something of everything in it, on a simulated disk.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "crash/store_subject.h"
#include "io/sim/sim_disk.h"
#include "store/nebula/nebula_store.h"

namespace varve::nebula::test {

inline constexpr std::string_view kSavePath = "world";

Bytes entity_payload(std::string_view text);
CommitStats must_commit(Store& store, Commit commit);
std::unique_ptr<Store> must_open(Vfs& vfs, std::string_view path = kSavePath);
std::unique_ptr<Store> must_open_to_read(Vfs& vfs, std::string_view path = kSavePath);
VerifyReport verify(const Store& store);

// Chunks of three shapes, two entities, two players, three globals one of which is
// world.ron; made, changed by two commits, and closed.
struct SampleSave {
  SampleSave();

  sim::DiskImage image;
  crash::Records records;
  std::uint64_t tick = 0;
  std::uint64_t generation = 0;
};
const SampleSave& sample_save();

// Contents of a file, and new ones for it. The test ends if that does not work.
Bytes read_file(Vfs& vfs, const std::string& path);
void write_file(Vfs& vfs, const std::string& path, ByteView contents);
// Every file of a save but its lock, by its path.
std::vector<std::string> files_of(Vfs& vfs, const std::string& folder = std::string(kSavePath));

// What became of the records of a save that was damaged.
struct ReadBack {
  std::set<std::string> damaged;  // read as corruption
  std::set<std::string> unknown;  // read as never saved

  friend bool operator==(const ReadBack&, const ReadBack&) = default;
};
// Reads every record of `expected`. One that is neither as it was nor among the above fails
// the test.
ReadBack read_back(const StoreView& view, const crash::Records& expected);

// Opens a save that was damaged, to look at it and to write; both must agree. Checks all that
// a save promises about damage. Above all: what cannot be read is named by verify(), and
// so is the file of a record the catalog has forgotten.
struct DamageCheck {
  std::set<std::string> damaged;
  std::set<std::string> unknown;
  OpenReport report;
  VerifyReport verified;
  std::uint64_t tick = 0;
};
DamageCheck check_damaged(const sim::DiskImage& image, const crash::Records& expected);

// The image with a change of a test's.
sim::DiskImage changed(const sim::DiskImage& image, const std::function<void(Vfs&)>& change);

}  // namespace varve::nebula::test
