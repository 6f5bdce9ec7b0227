// Brings disk and page cache to rest between two samples, so that each arm pays for
// its own work and for nobody else's. Three debts would pass on otherwise:
// - an engine's own threads still compact while the next arm is measured;
// - names and blocks that changed without a sync wait for the journal's next commit,
//   which the next arm's sync would have to make;
// - a virtual machine hands freed memory back to its host, so that the page cache
//   of a growing file is made of cold pages: an append of 8 MB took 40 ms instead of
//   3. Arms that overwrite never paid that; the raw arm always did.
// A game's saves are seconds or minutes apart and meet a disk at rest too.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "io/file.h"
#include "varve/result.h"

namespace varve::bench {

class DeviceSettler {
 public:
  // Keeps two files of its own in `dir`. It must be on the disk to be settled.
  static Result<DeviceSettler> create(const std::string& dir);

  // Returns once this process has written nothing for `quiet`, `warm_size` bytes of
  // page cache are ready to be used again and the journal's commits are through.
  Status settle(std::chrono::milliseconds quiet, std::size_t warm_size);

 private:
  DeviceSettler(std::unique_ptr<File> commits, std::unique_ptr<File> scratch)
      : commits_(std::move(commits)), scratch_(std::move(scratch)) {}

  std::unique_ptr<File> commits_;  // grows by a block a commit
  std::unique_ptr<File> scratch_;  // never synced, empty between two calls
};

}  // namespace varve::bench
