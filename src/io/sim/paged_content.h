// The contents of a simulated file: cheap to copy, copied on write by the page.
//
// Thousands of crash states share almost all of their bytes with each other. A
// copy of a PagedContent shares every page; a write copies the one page it hits.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "varve/bytes.h"

namespace varve::sim {

inline constexpr std::size_t kSectorSize = 512;
inline constexpr std::size_t kPageSize = 4096;

using Page = std::array<std::byte, kPageSize>;
using PageRef = std::shared_ptr<const Page>;

class PagedContent {
 public:
  std::uint64_t size() const noexcept { return size_; }

  // Reads what lies before the end; returns how much that was.
  std::size_t read(std::uint64_t offset, std::span<std::byte> out) const;
  // Writes, growing the size if needed.
  void write(std::uint64_t offset, ByteView data);
  // Cuts, or grows with zeros.
  void resize(std::uint64_t size);

  // The page, or null where nothing but zeros was ever written. The next write to
  // it copies, so that the reference keeps showing the page as it is now.
  PageRef page(std::uint64_t page_index) const;
  // Replaces one sector and leaves the size alone: data and size reach a disk
  // separately. Whoever uses this ends with resize(), which clears what lies
  // beyond the end.
  void put_sector(std::uint64_t sector_index, std::span<const std::byte, kSectorSize> data);

 private:
  static constexpr std::size_t kLeafPageCount = 32;
  struct Leaf {
    std::array<std::shared_ptr<Page>, kLeafPageCount> pages;
  };

  Page& page_for_write(std::uint64_t page_index);
  void clear_from(std::uint64_t size);

  std::vector<std::shared_ptr<Leaf>> leaves_;
  std::uint64_t size_ = 0;
};

}  // namespace varve::sim
