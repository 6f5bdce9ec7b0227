#include "backend/log/index.h"

#include <cassert>

#include "backend/log/index_parts.h"

namespace varve::log {

Index::Index() : parts_(std::make_unique<Parts>()) {}
Index::~Index() = default;
Index::Index(Index&&) noexcept = default;
Index& Index::operator=(Index&&) noexcept = default;

std::size_t Index::count() const noexcept { return parts_->count; }

std::size_t Index::memory_size() const noexcept {
  return sizeof(Parts) + parts_->arena.memory_size() + parts_->table.memory_size() +
         (parts_->order != nullptr ? parts_->order->memory_size() : 0);
}

std::optional<Location> Index::find(ByteView key) const noexcept {
  const std::byte* const place = parts_->find_place(key);
  if (place == nullptr) return std::nullopt;
  return load_place(place);
}

std::optional<Location> Index::put(ByteView key, const Location& location) {
  assert(!key.empty() && key.size() <= kKeySizeMax);
  assert(location.value_size <= Location::kValueSizeMax);
  const SplitKey split(key);
  const GroupRef ref = parts_->find_group(split);
  if (ref == GroupTable::kNone) {
    parts_->add_group(split, location);
  } else if (std::byte* const place = parts_->arena.at(ref).find(split.tag); place != nullptr) {
    const Location before = load_place(place);
    store_place(place, location);
    return before;
  } else {
    parts_->add_entry(ref, split, location);
  }
  ++parts_->count;
  parts_->tidy();
  return std::nullopt;
}

std::optional<Location> Index::erase(ByteView key) noexcept {
  if (key.empty()) return std::nullopt;
  const SplitKey split(key);
  const GroupRef ref = parts_->find_group(split);
  if (ref == GroupTable::kNone) return std::nullopt;
  Group group = parts_->arena.at(ref);
  const std::byte* const place = group.find(split.tag);
  if (place == nullptr) return std::nullopt;

  const Location before = load_place(place);
  const std::size_t size_before = group.size();
  if (group.count() > 1) {
    group.erase(split.tag);
    parts_->arena.shrink(ref, size_before, group.size());
  } else {
    parts_->table.erase(split.hash, ref);
    if (parts_->order != nullptr) parts_->order->erase(ref);
    --parts_->group_counts[split.prefix.size()];
    parts_->arena.release(ref, size_before);
  }
  --parts_->count;
  return before;
}

bool Index::move(ByteView key, const Location& from, const Location& to) noexcept {
  std::byte* const place = parts_->find_place(key);
  if (place == nullptr || !(load_place(place) == from)) return false;
  store_place(place, to);
  return true;
}

void Index::mark_verified(ByteView key, const Location& location) const noexcept {
  const std::byte* const place = parts_->find_place(key);
  if (place == nullptr || !(load_place(place) == location)) return;
  marks_of(place).fetch_or(kVerifiedMark, std::memory_order_relaxed);
}

bool Index::has_order() const noexcept { return parts_->order != nullptr; }

void Index::ensure_order() {
  if (parts_->order == nullptr) parts_->order = std::make_unique<GroupOrder>(parts_->arena);
}

std::byte* Index::Parts::find_any_place(ByteView key) const noexcept {
  if (key.empty()) return nullptr;
  const SplitKey split(key);
  const GroupRef ref = find_group(split);
  return ref == GroupTable::kNone ? nullptr : arena.at(ref).find(split.tag);
}

// Takes all memory first, so that nothing has changed if there is not enough.
void Index::Parts::add_group(const SplitKey& key, const Location& location) {
  if (table.is_full()) table.rebuild(arena, table.grown_count());
  if (order != nullptr) order->prepare();
  const GroupRef ref = arena.allocate(Group::size_of(key.prefix.size(), 1));
  arena.at(ref).make(key.prefix, key.tag, location);
  table.insert(key.hash, ref);
  if (order != nullptr) order->insert(ref);
  ++group_counts[key.prefix.size()];
}

void Index::Parts::add_entry(GroupRef ref, const SplitKey& key, const Location& location) {
  Group group = arena.at(ref);
  if (!group.is_full()) {
    group.insert(key.tag, location);
    return;
  }
  const GroupRef grown = arena.allocate(Group::size_of(key.prefix.size(), group.count() + 1));
  arena.at(grown).make_grown(group, key.tag, location);
  table.replace(key.hash, ref, grown);
  if (order != nullptr) order->replace(ref, grown);
  arena.release(ref, group.size());
}

void Index::Parts::tidy() noexcept {
  arena.clean([&](GroupRef from, GroupRef to) {
    table.replace(hash_of(arena.at(to).prefix()), from, to);
    if (order != nullptr) order->replace(from, to);
  });
}

}  // namespace varve::log
