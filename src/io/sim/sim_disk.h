// A disk in memory that records, fails and crashes.
//
// The same interface as the real disk, so that what runs here is the product's
// own code. The fault model:
//
// - A program sees its own writes at once, as through the page cache.
// - Durable is only what was synced. When the power goes, any subset of the later
//   changes may be there, in any order: each 512-byte sector by itself, each size
//   change apart from the data, each change of a directory by itself. A rename
//   inside one directory is there or not; one across directories may leave both
//   names, never neither.
// - One sector that was being written may hold garbage.
// - Any call may fail. A failed write may have written part of its data; any other
//   call that fails may have done its work all the same. After a failed sync, what
//   was pending may be lost even if a later sync succeeds.
// - What would be a fault of the program on a real disk is refused: cutting off a
//   part that is mapped, which there ends in SIGBUS.
//
// crash_states.h turns the recorded log into the states a crash may leave.
//
// Thread safety: as Vfs demands; one mutex guards everything. With one thread the
// log depends on the program and the seed alone.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "io/sim/disk_op.h"
#include "io/vfs.h"

namespace varve::sim {

// What a call that fails did before it failed.
enum class Effect : std::uint8_t { by_seed, none, part, all };

struct Fault {
  std::uint64_t op_number = 1;  // the Nth call, counted from 1
  ErrorCode code = ErrorCode::io;
  bool from_then_on = false;  // every later call fails too
  Effect effect = Effect::by_seed;
};

template <class Kind>
class SimLock;

class SimDisk final : public Vfs {
 public:
  static constexpr std::uint64_t kFileSizeMax = std::uint64_t{1} << 36;

  explicit SimDisk(DiskImage image = {}, std::uint64_t seed = 1);
  ~SimDisk() override;

  // Each disk is of a boot of its own: who crashes makes another one.
  std::uint64_t boot_id() override { return boot_id_; }

  // --- The operator's side.

  // How many calls were made so far, reads and failures included.
  std::uint64_t op_count() const;
  void set_fault(std::optional<Fault> fault);
  // Writes that would make the files larger than this together fail with
  // out_of_space; free_space() answers accordingly. Until it is set, each file may
  // be as large as kFileSizeMax.
  void set_capacity(std::uint64_t size);
  // Without links, link() and exchange() are unsupported, as on FAT and some network drives.
  void set_links(bool has_links);
  // Without holes, punch_hole() is unsupported, as on NFS before 4.2. Where there are any,
  // one is a write of zeros: each sector of it is kept or lost by itself. The capacity
  // counts the sizes of files, so that it gives no room back.
  void set_holes(bool has_holes);
  // Recording costs time; a disk that is only read back can do without.
  void set_recording(bool recording);
  // Puts a note of the driver between the operations.
  void mark(std::uint64_t value);
  OpLog log() const;
  // What a program would find now, had everything been written.
  DiskImage image() const;

  // --- The program's side.

  Result<std::unique_ptr<File>> open(std::string_view path, OpenMode mode) override;
  Result<FileInfo> info(std::string_view path) override;
  Result<std::vector<DirEntry>> list(std::string_view dir) override;
  Status rename(std::string_view from, std::string_view to) override;
  Status exchange(std::string_view a, std::string_view b) override;
  Status link(std::string_view existing, std::string_view added) override;
  Status remove(std::string_view path) override;
  Status create_dir(std::string_view path) override;
  Status remove_dir(std::string_view path) override;
  Status sync_dir(std::string_view path) override;
  // One after the other: the order stays the same from run to run.
  Status sync_data(std::span<File* const> files) override;
  Result<std::uint64_t> free_space(std::string_view path) override;
  // Keeps no file at `path`; a crash frees it, as the end of a process does.
  Result<std::unique_ptr<WriterLock>> lock_writer(std::string_view path) override;
  Result<std::unique_ptr<SlotLock>> lock_slot(std::string_view path, std::uint32_t index) override;
  Result<bool> is_slot_locked(std::string_view path, std::uint32_t index) override;

 private:
  friend class SimFile;
  template <class Kind>
  friend class SimLock;
  struct Mapping;

  // Counts a call; the error it must fail with, if it must.
  std::optional<Error> enter(std::string_view path, const char* what);
  static Status status_of(const std::optional<Error>& failure);
  static Error no_such(std::string_view path);
  void record(DiskOp op);
  // Applies a change to the view, shows it through mappings, and records it.
  void change(DiskOp op);
  // What the call that is failing now does all the same. `part` is for writes alone;
  // any other call then does nothing.
  Effect effect() const;
  bool takes_effect() const { return effect() == Effect::all; }
  bool fits(NodeId node, std::uint64_t new_size) const;
  bool cuts_a_mapping(NodeId node, std::uint64_t new_size) const;

  // For SimFile; in sim_disk_files.cpp.
  Status write(NodeId node, const std::string& path, std::uint64_t offset, ByteView data);
  Status set_size(NodeId node, const std::string& path, std::uint64_t size);
  Status extend(NodeId node, const std::string& path, std::uint64_t from, std::uint64_t to);
  Status punch(NodeId node, const std::string& path, std::uint64_t offset, std::uint64_t size);
  // Writes what a call that fails so, or does not, writes of `data`.
  Status put(NodeId node, std::uint64_t offset, ByteView data, const std::optional<Error>& failure);
  Status sync(NodeId node, OpKind kind, std::string_view path);
  Result<Bytes> map(NodeId node, const std::string& path, std::uint64_t offset, std::size_t size);
  void show_through_mappings(const DiskOp& op);

  // What a slot is called in `locks_`; the file must exist. In sim_disk_locks.cpp.
  Result<std::string> slot_key(std::string_view path, std::uint32_t index) const;

  const std::uint64_t boot_id_;
  mutable std::mutex mutex_;
  DiskImage view_;
  OpLog log_;
  std::uint64_t op_count_ = 0;
  std::optional<Fault> fault_;
  std::uint64_t seed_;
  std::optional<std::uint64_t> capacity_;
  bool has_links_ = true;
  bool has_holes_ = true;
  bool recording_ = true;
  std::vector<std::weak_ptr<Mapping>> mappings_;
  std::set<std::string, std::less<>> locks_;  // of writers and slots
};

}  // namespace varve::sim
