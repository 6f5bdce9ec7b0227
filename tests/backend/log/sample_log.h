// A small log on a simulated disk with every kind of file in it, and the check of what is left of
// it after somebody damaged it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/log/log_backend.h"
#include "io/sim/sim_disk.h"

namespace varve::test {

using State = std::map<std::string, std::string>;

struct SampleLog {
  sim::DiskImage image;       // closed in good order
  std::vector<State> states;  // after each batch; the first is empty
  // Of all the keys there ever were.
  std::set<std::string> keys;

  const State& newest() const { return states.back(); }
  bool was_ever(const std::string& key, const std::optional<std::string>& value) const;
};
// The log `kSampleDir` after a few dozen batches; the same for the same seed.
SampleLog make_sample_log(std::uint64_t seed);
inline constexpr char kSampleDir[] = "log";

// --- Files of a disk -----------------------------------------------------------------

std::vector<std::string> files_of(Vfs& vfs, const std::string& dir = kSampleDir);
Bytes read_file(Vfs& vfs, const std::string& path);
void write_file(Vfs& vfs, const std::string& path, ByteView contents);
sim::DiskImage changed(const sim::DiskImage& image, const std::function<void(Vfs&)>& change);

// The part of a segment that says what lies where: headers and directories.
struct Part {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};
std::vector<Part> heads_of(Vfs& vfs, const std::string& segment_path);
bool is_segment(const std::string& path);

// --- What is left --------------------------------------------------------------------

struct Left {
  std::optional<Error> refusal = {};  // it does not open at all
  BackendReport report = {};
  std::set<std::string> damaged = {};  // keys whose reading is an error
  std::set<std::string> changed = {};  // keys that show something else than the newest
  // What is wrong with what stands around the values.
  std::vector<std::string> structure = {};
  bool says_so() const { return refusal || !report.problems.empty() || report.dropped_tail; }
};

// Expects of whatever opens: values that were really there, together at one moment; that nothing
// is missing without a word; and that all ways of reading agree.
Left look(const Backend& backend, const SampleLog& sample);
// Opens the damaged log to read and to write. What the latter finds; it goes on with the log
// and expects to find that again.
Left check_damaged(const sim::DiskImage& image, const SampleLog& sample);

}  // namespace varve::test
