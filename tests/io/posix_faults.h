// Makes system calls of this test program misbehave.
//
// The program defines pread(), pwrite(), fdatasync(), fsync(), ftruncate(),
// fallocate() and close() itself, which takes precedence over the C library's; each
// does the real call unless a fault was asked for. So the product's own loops are
// tested without a hook in them. Faults and counts belong to the calling thread.
#pragma once

#include <cstddef>

namespace varve::test {

enum class Call { pread, pwrite, fdatasync, fsync, ftruncate, fallocate, close, kCount };

class PosixFaults {
 public:
  PosixFaults() { reset(); }
  ~PosixFaults() { reset(); }

  // After `good` more calls, the next `times` fail with this errno.
  void fail(Call call, int error_number, int times = 1, int good = 0);
  // pread and pwrite transfer at most so many bytes a call; 0: no bytes at all.
  void limit_transfers(std::size_t size_max);
  // Calls made since construction, failed ones included.
  int count(Call call) const;

 private:
  static void reset();
};

}  // namespace varve::test
