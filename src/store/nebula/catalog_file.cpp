#include "store/nebula/catalog_file.h"

#include <algorithm>
#include <array>

#include "base/try.h"
#include "io/atomic_replace.h"
#include "varve/checksum.h"

namespace varve::nebula {

Result<CatalogMark> mark_of_catalog(Vfs& vfs, const SaveLayout& layout) {
  const auto file = vfs.open(layout.catalog(), OpenMode::read);
  if (!file && file.error().code() == ErrorCode::not_found) return CatalogMark{};
  if (!file) return file.error();
  CatalogMark mark;
  VARVE_ASSIGN(mark.size, (*file)->size());
  // One that was rewritten begins otherwise. One that was appended to is longer, or has
  // something else in the place of its closing mark.
  std::array<std::byte, kRecordAlignment> block;
  const std::uint64_t last = mark.size - std::min(mark.size, kRecordAlignment);
  for (const std::uint64_t offset : {std::uint64_t{0}, last}) {
    VARVE_ASSIGN(const std::size_t size, (*file)->read_at(offset, block));
    mark.checksum = xxh3(ByteView(block).first(size), mark.checksum);
  }
  return mark;
}

Result<std::uint64_t> CatalogFile::write_new(Vfs& vfs, const SaveLayout& layout,
                                             const SaveIndex& index, const KeySet& erased) {
  VARVE_ASSIGN(const Bytes record, encode_record(whole_record(index, erased), 0));
  VARVE_TRY(write_replacement(vfs, layout.catalog(), record));
  return record.size();
}

Result<CatalogFile> CatalogFile::install_new(Vfs& vfs, const SaveLayout& layout,
                                             std::uint64_t size) {
  VARVE_TRY(install_replacement(vfs, layout.catalog()));
  return resume(vfs, layout, {.offset = size, .whole_size = size});
}

Result<CatalogFile> CatalogFile::rewrite(Vfs& vfs, const SaveLayout& layout, const SaveIndex& index,
                                         const KeySet& erased) {
  VARVE_ASSIGN(const std::uint64_t size, write_new(vfs, layout, index, erased));
  return install_new(vfs, layout, size);
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
  return is_full() ||
         end_.offset - end_.whole_size > std::max(kAppendedSizeMin, 4 * end_.whole_size);
}

bool CatalogFile::is_full() const noexcept {
  return end_.offset > kCatalogSizeMax - kRecordSizeMax;
}

}  // namespace varve::nebula
