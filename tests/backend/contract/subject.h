// A backend, as the contract suite needs it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "varve/backend.h"

namespace varve::test {

// One place where a backend is kept, with nothing in it at first. It outlives what it opens.
class BackendSubject {
 public:
  virtual ~BackendSubject() = default;

  // Opens what is kept here, the first time something empty. Nobody has it open.
  virtual Result<std::unique_ptr<Backend>> open() = 0;

  // Whether open() finds what was there before. If not, it finds nothing.
  virtual bool persists() const { return true; }
  // Whether a batch waits for no disk. Tests that try their luck beside other threads then write
  // more of them.
  virtual bool is_quick() const { return true; }
  // How many batches a crash may take from the end, if nobody called sync() since.
  virtual std::uint64_t crash_loss_max() const { return 0; }
  // The backend ends without close(). A subject on a disk of its own may let that
  // crash as well.
  virtual void crash(std::unique_ptr<Backend> backend) { backend.reset(); }
};

struct BackendSubjectMaker {
  std::string name;  // letters and digits: it becomes part of the names of tests
  std::function<std::unique_ptr<BackendSubject>()> make;
};

// Every backend the suite runs on. A new one adds itself here.
std::vector<BackendSubjectMaker> all_backend_subjects();

}  // namespace varve::test
