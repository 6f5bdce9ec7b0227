// Where a run keeps its files.
#pragma once

#include <string>
#include <string_view>

#include "varve/result.h"

namespace varve::bench {

// A fresh folder that is removed, with all it holds, when the object goes. Nothing
// else in the folder it was made in is touched.
class DataFolder {
 public:
  // Inside `parent`, which is created if absent; without one, inside ./build or,
  // if there is none, the current directory. Memory file systems are refused
  // unless `any_file_system`.
  static Result<DataFolder> create(std::string_view parent, bool any_file_system);

  DataFolder(DataFolder&& other) noexcept;
  DataFolder& operator=(DataFolder&&) = delete;
  ~DataFolder();

  const std::string& path() const noexcept { return path_; }

 private:
  explicit DataFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace varve::bench
