#include "store/nebula/catalog_file.h"

#include <algorithm>

#include "base/try.h"
#include "store/nebula/save_files.h"

namespace varve::nebula {

Result<CatalogFile> CatalogFile::rewrite(Vfs& vfs, const SaveLayout& layout, const SaveIndex& index,
                                         const KeySet& erased) {
  VARVE_ASSIGN(const Bytes record, encode_record(whole_record(index, erased), 0));
  VARVE_TRY(remove_if_there(vfs, layout.new_catalog()));
  {
    VARVE_ASSIGN(const auto file, vfs.open(layout.new_catalog(), OpenMode::create_new));
    VARVE_TRY(file->write_at(0, record));
    VARVE_TRY(file->sync_data());
    VARVE_TRY(file->close());
  }
  VARVE_TRY(vfs.rename(layout.new_catalog(), layout.catalog()));
  VARVE_TRY(vfs.sync_dir(layout.in("varve")));
  return resume(vfs, layout, {.offset = record.size(), .whole_size = record.size()});
}

Result<CatalogFile> CatalogFile::resume(Vfs& vfs, const SaveLayout& layout, const CatalogEnd& end) {
  VARVE_ASSIGN(auto file, vfs.open(layout.catalog(), OpenMode::write));
  return CatalogFile(std::move(file), end);
}

Status CatalogFile::append(const CatalogRecord& record) {
  VARVE_ASSIGN(const Bytes bytes, encode_record(record, end_.offset));
  VARVE_TRY(file_->write_at(end_.offset, bytes));
  VARVE_TRY(file_->sync_data());
  end_.offset += bytes.size();
  end_.is_closed = record.kind == CatalogRecordKind::closed;
  return {};
}

bool CatalogFile::is_bloated() const noexcept {
  constexpr std::uint64_t kAppendedSizeMin = 1 << 20;
  return end_.offset - end_.whole_size > std::max(kAppendedSizeMin, 4 * end_.whole_size);
}

}  // namespace varve::nebula
