// The only way to the disk.
//
// Everything above this room reads and writes through a Vfs, so that the same
// code runs on the real disk and on the simulated one, which crashes it at every
// point. Paths are '/'-separated and used as they are.
//
// Durability of names: creating, renaming, linking and removing change a
// directory. The change survives a crash only after sync_dir() of that directory
// returned success. If a rename or the sync_dir() after it fails, either name may
// be there after a crash: keep what both refer to. A later sync_dir() that succeeds
// says nothing about what an earlier one failed to write.
//
// Links: reading follows a symbolic link; opening for writing refuses a file that is
// one, and create_dir() a directory that is one, since a save that came from
// somebody else could point it anywhere on this machine. Other directories on the way
// are not looked at: a person may keep worlds behind a link.
//
// Thread safety: all calls may be made from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.h"
#include "varve/result.h"

namespace varve {

enum class OpenMode : std::uint8_t {
  read,        // must exist; writing is refused
  write,       // must exist; read and write
  create,      // read and write; made empty if it does not exist
  create_new,  // read and write; refused if it exists
  replace,     // read and write; cut to nothing if it exists
};

enum class FileKind : std::uint8_t { file, directory, other };

struct FileInfo {
  FileKind kind = FileKind::other;
  std::uint64_t size = 0;
  // What it occupies on the disk: less than its size if it has holes.
  std::uint64_t allocated_size = 0;
};

struct DirEntry {
  std::string name;
  FileKind kind = FileKind::other;
  // Of a file; 0 for whatever else it is.
  std::uint64_t size = 0;

  friend bool operator==(const DirEntry&, const DirEntry&) = default;
};

// The right to write one save, held by one process. Released by the destructor
// and, whatever happens, by the end of the process.
class WriterLock {
 public:
  virtual ~WriterLock() = default;
};

// Keeps everybody from becoming the writer of one save, for as long as it is held. Any number may
// be held beside each other, and no right to write anything is needed. Released as a WriterLock is.
class NoWriterLock {
 public:
  virtual ~NoWriterLock() = default;
};

// One of the numbered places in a file, held by one open file description. Released
// by the destructor and, whatever happens, by the end of the process.
class SlotLock {
 public:
  virtual ~SlotLock() = default;
};

class Vfs {
 public:
  virtual ~Vfs() = default;

  virtual Result<std::unique_ptr<File>> open(std::string_view path, OpenMode mode) = 0;

  // not_found if nothing is there. Symbolic links are followed.
  virtual Result<FileInfo> info(std::string_view path) = 0;
  // True if something is there; false if not; an error if that cannot be told.
  Result<bool> exists(std::string_view path);
  // The path of what is there, or may come to be there, without links: two of one thing are the
  // same text. Only its last name may be missing. On a disk that has no links it is the path as it
  // is.
  virtual Result<std::string> resolve(std::string_view path) { return std::string(path); }
  // Names in a directory, without "." and "..", sorted, each with what info() would say of it, for
  // less than asking for one after the other. What goes meanwhile is left out or of another kind.
  virtual Result<std::vector<DirEntry>> list(std::string_view dir) = 0;

  // Gives `from` the name `to`; whatever had it before is replaced in one step.
  virtual Status rename(std::string_view from, std::string_view to) = 0;
  // Swaps two names in one step. unsupported where the file system cannot.
  virtual Status exchange(std::string_view a, std::string_view b) = 0;
  // A second name for a file. unsupported where the file system cannot.
  virtual Status link(std::string_view existing, std::string_view added) = 0;
  virtual Status remove(std::string_view path) = 0;

  // Success if the directory is there already, and is not a link to one.
  virtual Status create_dir(std::string_view path) = 0;
  // Only an empty directory is removed.
  virtual Status remove_dir(std::string_view path) = 0;
  virtual Status sync_dir(std::string_view path) = 0;

  // Syncs the data of several files, in parallel where that is faster. All are
  // tried; the first failure is returned.
  virtual Status sync_data(std::span<File* const> files) = 0;

  // Bytes an ordinary process may still write on the file system of `path`.
  virtual Result<std::uint64_t> free_space(std::string_view path) = 0;

  // Stays the same as long as nothing that was written can have been lost for want of a sync: from
  // one start of the machine to the next. 0 where that cannot be told.
  virtual std::uint64_t boot_id() { return 0; }

  // Takes the right to write, through the file `path`, which is created if absent
  // and stays. busy, naming the holder, if another process or another part of this
  // one has it. A lock whose holder died is free. Readers take no lock. It must not
  // lie inside a directory that is renamed or exchanged while it is held.
  virtual Result<std::unique_ptr<WriterLock>> lock_writer(std::string_view path) = 0;

  // For readers who cannot tell the writer what they need, since they may not write there: with
  // this there is none. `path` is that of the writer's lock; busy, naming the holder, if there is
  // one, not_found if nobody ever was.
  virtual Result<std::unique_ptr<NoWriterLock>> lock_writers_out(std::string_view path);

  // Takes slot `index` of the file `path`, which must exist and be writable, though
  // nothing is written. busy if anybody holds it, in this process or another. Slots
  // belong to the file and not to its name, and do not meet the lock of a writer.
  virtual Result<std::unique_ptr<SlotLock>> lock_slot(std::string_view path,
                                                      std::uint32_t index) = 0;
  // Whether anybody holds slot `index`, this process included. Takes nothing, so that
  // asking is in nobody's way, and the file need only be readable.
  virtual Result<bool> is_slot_locked(std::string_view path, std::uint32_t index) = 0;
};

// The real disk. One for the whole process; stateless.
Vfs& posix_vfs();

}  // namespace varve
