// The files of a log of ticks in their folder.
//
// Thread safety: any thread; what is made under one temporary name by one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/vfs.h"
#include "journal/wal_format.h"

namespace varve::journal {

class WalFiles {
 public:
  WalFiles(Vfs& vfs, std::string_view dir) : vfs_(vfs), dir_(dir) {}

  Vfs& vfs() const noexcept { return vfs_; }
  const std::string& dir() const noexcept { return dir_; }
  std::string segment_path(std::uint64_t id) const { return path(segment_name(id)); }
  std::string lock_path() const { return path("lock"); }
  std::string mark_path() const { return path("mark"); }
  // What becomes a segment: made ready beforehand, or when it is needed at once.
  std::string spare_path() const { return path("spare.tmp"); }
  std::string newborn_path() const { return path("segment.tmp"); }

  // Makes the folder if it is not there; its name is durable then.
  Status make_folder() const;
  // The numbers of all segments, rising.
  Result<std::vector<std::uint64_t>> list() const;
  // nullopt if there is none.
  Result<std::optional<Mark>> read_mark() const;
  Status write_mark(const Mark& mark) const;

  // A file with zeros that are really written, and synced, so that later only bytes change.
  Result<std::unique_ptr<File>> make_spare(std::uint64_t size) const;
  // The same, made of the file of a segment nobody needs. Its old bytes stay in it.
  Result<std::unique_ptr<File>> recycle(std::uint64_t id, std::uint64_t size_max) const;
  Result<std::unique_ptr<File>> make_newborn() const;
  void remove_temporaries() const;

 private:
  std::string path(std::string_view name) const;

  Vfs& vfs_;
  std::string dir_;
};

}  // namespace varve::journal
