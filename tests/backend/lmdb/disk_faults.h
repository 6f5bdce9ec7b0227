// Makes the disk LMDB writes to misbehave.
//
// The program defines pwrite(), writev(), fdatasync(), fsync(), ftruncate() and statvfs() itself,
// which takes precedence over the C library's, also for LMDB's shared library; each does the real
// call unless a fault was asked for. For one thread: the program has no other.
#pragma once

#include <cstdint>

namespace varve::test {

enum class Fault : std::uint8_t {
  io_error,  // EIO, and nothing is written
  no_space,  // ENOSPC, and nothing is written
  cut,       // half of it is written; a call that writes nothing fails with EIO
};

class DiskFaults {
 public:
  DiskFaults();
  ~DiskFaults();
  DiskFaults(const DiskFaults&) = delete;
  DiskFaults& operator=(const DiskFaults&) = delete;

  // Call `index`, counted from 0 and over all kinds, misbehaves, and with `for_ever` all after it.
  void fail(std::uint64_t index, Fault fault, bool for_ever = false);
  // Only syncs misbehave, from the next on.
  void fail_syncs(int error_number, int times);
  // So many bytes may still be added to files.
  void limit_space(std::uint64_t size);
  void mend();

  // Since construction.
  std::uint64_t call_count() const;
  std::uint64_t sync_count() const;
  bool was_hit() const;
};

}  // namespace varve::test
