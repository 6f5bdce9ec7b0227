#include "journal/entity_page.h"

#include <algorithm>
#include <cstring>

namespace varve::journal {
namespace {

// Larger ones are kept one by one: a column of them would be moved about too much.
constexpr std::size_t kCellSizeMax = 256;
constexpr std::size_t kCopiedSizeMax = 4096;

template <class Columns>
auto at_or_after(Columns& columns, ComponentId component) noexcept {
  return std::lower_bound(
      columns.begin(), columns.end(), component,
      [](const Column& column, ComponentId wanted) { return column.component() < wanted; });
}

}  // namespace

Bytes kept(const Bytes& value) {
  return value.size() <= kCopiedSizeMax ? Bytes::copy_of(value.view()) : value;
}

// Brings the column into a form that takes a value of this size. `is_alone` if no other value
// stays.
void Column::make_room(std::size_t value_size, bool is_alone) {
  if (is_loose_ || (value_size == cell_size_ && owners_ != 0)) return;
  if (is_alone && value_size <= kCellSizeMax) {
    cell_size_ = value_size;
    cells_.assign(owners_ == 0 ? 0 : cell_size_, std::byte{0});
  } else {
    loosen();
  }
}

void Column::put(std::uint32_t slot, const Bytes& value) {
  const std::uint64_t bit = std::uint64_t{1} << slot;
  make_room(value.size(), (owners_ & ~bit) == 0);
  const std::size_t i = rank(slot);
  if (is_loose_) {
    if (has(slot)) {
      loose_[i] = kept(value);
    } else {
      loose_.insert(loose_.begin() + static_cast<std::ptrdiff_t>(i), kept(value));
    }
  } else {
    if (!has(slot)) {
      cells_.insert(cells_.begin() + static_cast<std::ptrdiff_t>(i * cell_size_), cell_size_,
                    std::byte{0});
    }
    if (cell_size_ != 0) std::memcpy(cells_.data() + i * cell_size_, value.data(), cell_size_);
  }
  owners_ |= bit;
}

void Column::erase(std::uint32_t slot) {
  const std::size_t i = rank(slot);
  if (is_loose_) {
    loose_.erase(loose_.begin() + static_cast<std::ptrdiff_t>(i));
  } else {
    const auto first = cells_.begin() + static_cast<std::ptrdiff_t>(i * cell_size_);
    cells_.erase(first, first + static_cast<std::ptrdiff_t>(cell_size_));
  }
  owners_ &= ~(std::uint64_t{1} << slot);
}

void Column::loosen() {
  const auto count = static_cast<std::size_t>(std::popcount(owners_));
  loose_.reserve(count + 1);
  for (std::size_t i = 0; i < count; ++i) {
    loose_.push_back(Bytes::copy_of(ByteView(cells_).subspan(i * cell_size_, cell_size_)));
  }
  cells_ = {};
  is_loose_ = true;
}

std::optional<ByteView> EntityPage::find(std::uint32_t slot, ComponentId component) const noexcept {
  const auto column = at_or_after(columns, component);
  if (column == columns.end() || column->component() != component || !column->has(slot)) {
    return std::nullopt;
  }
  return column->value(slot);
}

void EntityPage::put(std::uint32_t slot, ComponentId component, const Bytes& value) {
  auto column = at_or_after(columns, component);
  if (column == columns.end() || column->component() != component) {
    column = columns.emplace(column, component);
  }
  column->put(slot, value);
}

void EntityPage::erase(std::uint32_t slot, ComponentId component) {
  const auto column = at_or_after(columns, component);
  if (column == columns.end() || column->component() != component || !column->has(slot)) return;
  column->erase(slot);
  if (column->owners() == 0) columns.erase(column);
}

void EntityPage::erase_all(std::uint32_t slot) {
  std::erase_if(columns, [&](Column& column) {
    if (column.has(slot)) column.erase(slot);
    return column.owners() == 0;
  });
}

bool operator==(const EntityPage& a, const EntityPage& b) noexcept {
  if (a.alive != b.alive || a.used != b.used || a.placed != b.placed ||
      a.generations != b.generations || a.columns.size() != b.columns.size()) {
    return false;
  }
  for (std::uint32_t slot = 0; slot < EntityPage::kCount; ++slot) {
    if (a.chunk(slot) != b.chunk(slot)) return false;
  }
  for (std::size_t i = 0; i < a.columns.size(); ++i) {
    const Column& x = a.columns[i];
    const Column& y = b.columns[i];
    if (x.component() != y.component() || x.owners() != y.owners()) return false;
    for (std::uint64_t left = x.owners(); left != 0; left &= left - 1) {
      const auto slot = static_cast<std::uint32_t>(std::countr_zero(left));
      if (!equal(x.value(slot), y.value(slot))) return false;
    }
  }
  return true;
}

}  // namespace varve::journal
