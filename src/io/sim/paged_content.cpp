#include "io/sim/paged_content.h"

#include <algorithm>
#include <cstring>

namespace varve::sim {

std::size_t PagedContent::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset >= size_) return 0;
  const auto total = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - offset));
  for (std::size_t done = 0; done < total;) {
    const std::uint64_t at = offset + done;
    const std::size_t within = at % kPageSize;
    const std::size_t size = std::min(total - done, kPageSize - within);
    if (const PageRef from = page(at / kPageSize)) {
      std::memcpy(out.data() + done, from->data() + within, size);
    } else {
      std::memset(out.data() + done, 0, size);
    }
    done += size;
  }
  return total;
}

void PagedContent::write(std::uint64_t offset, ByteView data) {
  size_ = std::max(size_, offset + data.size());
  while (!data.empty()) {
    const std::size_t within = offset % kPageSize;
    const std::size_t size = std::min(data.size(), kPageSize - within);
    std::memcpy(page_for_write(offset / kPageSize).data() + within, data.data(), size);
    data = data.subspan(size);
    offset += size;
  }
}

void PagedContent::resize(std::uint64_t size) {
  clear_from(size);
  size_ = size;
}

PageRef PagedContent::page(std::uint64_t page_index) const {
  const std::uint64_t leaf_index = page_index / kLeafPageCount;
  if (leaf_index >= leaves_.size() || !leaves_[leaf_index]) return nullptr;
  return leaves_[leaf_index]->pages[page_index % kLeafPageCount];
}

void PagedContent::put_sector(std::uint64_t sector_index,
                              std::span<const std::byte, kSectorSize> data) {
  const std::uint64_t offset = sector_index * kSectorSize;
  std::memcpy(page_for_write(offset / kPageSize).data() + offset % kPageSize, data.data(),
              kSectorSize);
}

Page& PagedContent::page_for_write(std::uint64_t page_index) {
  const std::uint64_t leaf_index = page_index / kLeafPageCount;
  if (leaf_index >= leaves_.size()) leaves_.resize(leaf_index + 1);
  std::shared_ptr<Leaf>& leaf = leaves_[leaf_index];
  if (!leaf) {
    leaf = std::make_shared<Leaf>();
  } else if (leaf.use_count() > 1) {
    leaf = std::make_shared<Leaf>(*leaf);
  }
  std::shared_ptr<Page>& page = leaf->pages[page_index % kLeafPageCount];
  if (!page) {
    page = std::make_shared<Page>(Page{});
  } else if (page.use_count() > 1) {
    page = std::make_shared<Page>(*page);
  }
  return *page;
}

void PagedContent::clear_from(std::uint64_t size) {
  constexpr std::uint64_t kLeafSize = kLeafPageCount * kPageSize;
  const std::uint64_t leaf_count = (size + kLeafSize - 1) / kLeafSize;
  if (leaves_.size() > leaf_count) leaves_.resize(leaf_count);
  // Pages wholly beyond the end go; the one the end falls into is cleared behind it.
  const std::uint64_t page_count = (size + kPageSize - 1) / kPageSize;
  for (std::uint64_t index = page_count; index < leaves_.size() * kLeafPageCount; ++index) {
    if (!page(index)) continue;
    std::shared_ptr<Leaf>& leaf = leaves_[index / kLeafPageCount];
    if (leaf.use_count() > 1) leaf = std::make_shared<Leaf>(*leaf);
    leaf->pages[index % kLeafPageCount] = nullptr;
  }
  const std::size_t within = size % kPageSize;
  if (within == 0) return;
  const PageRef last = page(size / kPageSize);
  if (!last) return;
  const auto dirty = std::find_if(last->begin() + within, last->end(),
                                  [](std::byte b) { return b != std::byte{0}; });
  if (dirty == last->end()) return;  // Nothing to clear, so nothing to copy.
  Page& tail = page_for_write(size / kPageSize);
  std::memset(tail.data() + within, 0, kPageSize - within);
}

}  // namespace varve::sim
