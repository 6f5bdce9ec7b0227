// Brings the disk to rest between two samples, so that each arm pays for its own
// work and for nobody else's. Three debts were seen to pass from one arm to the
// next otherwise:
// - an engine's own threads still compact;
// - files that were removed or replaced wait for the journal's next commit, which
//   on a file system mounted with discard made the following sync ten times slower;
// - a disk with a budget (cloud volumes refill one at a fixed rate) is slower once
//   it is spent.
// A game's saves are seconds or minutes apart and meet a disk at rest too.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "io/file.h"
#include "varve/result.h"

namespace varve::bench {

class DeviceSettler {
 public:
  // Keeps a small file of its own in `dir`. It must be on the disk to be settled.
  static Result<DeviceSettler> create(const std::string& dir);

  // Returns once this process has written nothing for `quiet` and the journal's
  // commits are through.
  Status settle(std::chrono::milliseconds quiet);

 private:
  explicit DeviceSettler(std::unique_ptr<File> file) : file_(std::move(file)) {}

  std::unique_ptr<File> file_;
};

}  // namespace varve::bench
