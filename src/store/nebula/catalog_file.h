// The catalog of an open save, to append to.
#pragma once

#include <memory>

#include "io/vfs.h"
#include "store/nebula/catalog.h"

namespace varve::nebula {

// Tells whether a catalog is still the one it was, without reading it.
struct CatalogMark {
  std::uint64_t size = 0;
  std::uint64_t checksum = 0;  // of its beginning and its end

  friend bool operator==(const CatalogMark&, const CatalogMark&) = default;
};
// That of a catalog that is not there is all zero.
Result<CatalogMark> mark_of_catalog(Vfs& vfs, const SaveLayout& layout);

class CatalogFile {
 public:
  // Writes a new catalog that lists `index` and puts it in the place of the one that is
  // there, durably. After a failure either may be there. `erased` are records whose files a
  // crash may bring back.
  static Result<CatalogFile> rewrite(Vfs& vfs, const SaveLayout& layout, const SaveIndex& index,
                                     const KeySet& erased = {});
  // The two halves of it. A failure of the first leaves the catalog that is there as it is.
  static Result<std::uint64_t> write_new(Vfs& vfs, const SaveLayout& layout, const SaveIndex& index,
                                         const KeySet& erased);
  static Result<CatalogFile> install_new(Vfs& vfs, const SaveLayout& layout, std::uint64_t size);
  // Goes on in the one that is there, behind its last valid record.
  static Result<CatalogFile> resume(Vfs& vfs, const SaveLayout& layout, const CatalogEnd& end);

  // Appends a record, durably. After a failure nobody knows whether it is there: the file
  // is good for nothing any more and must be rewritten.
  Status append(const CatalogRecord& record);

  const CatalogEnd& end() const noexcept { return end_; }
  // Whether so much was appended since it was rewritten that it is time to do it again. It
  // happens so seldom that a commit costs what it changes.
  bool is_bloated() const noexcept;
  // Whether another record could make it longer than can be opened.
  bool is_full() const noexcept;

 private:
  CatalogFile(std::unique_ptr<File> file, const CatalogEnd& end)
      : file_(std::move(file)), end_(end) {}

  std::unique_ptr<File> file_;
  CatalogEnd end_;
};

}  // namespace varve::nebula
