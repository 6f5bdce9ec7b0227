// A sample store on a disk: the whole world in one file, which every commit replaces.
//
// It is as simple as a correct store can be, so that the contract, the crash driver and
// the runtime have something to run on before the real formats and beside them. Not shipped.
//
// Beside the save at PATH: PATH.lock, held by the writer, and PATH.backup, PATH.backup.2
// and so on, each a save like any other. A crash may leave a gap in the backups or
// one generation twice in them, but never touches the save.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/vfs.h"
#include "store/tables_store.h"
#include "varve/format.h"

namespace varve::test {

class OneFileStore final : public TablesStore {
 public:
  static Capabilities everything();

  // `vfs` must outlive the store. With fewer capabilities it stands in for a format
  // that can do less.
  static Result<std::unique_ptr<Store>> open(Vfs& vfs, std::string_view path,
                                             Capabilities can = everything());
  static Result<std::unique_ptr<Store>> create(Vfs& vfs, std::string_view path,
                                               Capabilities can = everything());
  static Result<std::unique_ptr<Store>> open_or_create(Vfs& vfs, std::string_view path);
  // Where the Nth backup is; the newest is the first.
  static std::string backup_path(std::string_view path, std::uint32_t number);

  OneFileStore(Vfs& vfs, std::string_view path, Capabilities can, SharedTables tables,
               std::unique_ptr<WriterLock> lock);

 private:
  Result<std::uint64_t> publish(const Publication& publication) override;
  Status release() override;
  Result<std::uint64_t> back_up(const RecordTables& tables, std::uint32_t count);

  Vfs& vfs_;
  std::unique_ptr<WriterLock> lock_;
  // The generation the backups were pushed on for, and the one that is the newest backup:
  // a commit that is tried again after a failure must not push them on a second time.
  std::optional<std::uint64_t> rotated_for_generation_;
  std::optional<std::uint64_t> backed_up_generation_;
};

// Paths may begin with "onefile:".
class OneFileFormat final : public Format {
 public:
  explicit OneFileFormat(Vfs& vfs, Capabilities can = OneFileStore::everything())
      : vfs_(vfs), can_(std::move(can)) {}

  std::string_view name() const override { return "onefile"; }
  Result<bool> detect(std::string_view path) const override;
  Result<std::unique_ptr<Store>> open(std::string_view path) const override;
  Result<std::unique_ptr<Store>> create(std::string_view path) const override;
  Status rename(std::string_view from, std::string_view to) const override;
  Status remove(std::string_view path) const override;

 private:
  Vfs& vfs_;
  Capabilities can_;
};

}  // namespace varve::test
