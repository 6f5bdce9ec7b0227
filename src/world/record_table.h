// The records of one kind that are in memory, and which of them are dirty.
//
// Every change goes to the open batch. A save cuts: it takes that batch away whole and a new
// one is opened, in constant time however much is dirty. Invariants:
// 1. A slot names the batch its latest change is in. It is dirty if and only if that batch
//    is not stored yet. So storing a batch makes all its records clean at once, except
//    those that were changed again, which name a later batch.
// 2. A key is in the open batch at most once, at the place its slot knows.
// 3. Batches are stored in the order in which they were cut.
// 4. A dirty slot is never dropped: what is on its way to the store can still be read.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "world/batch.h"
#include "world/sharded_map.h"

namespace varve {

struct NoExtra {};

template <class Key, class Value, class Extra = NoExtra>
class RecordTable {
 public:
  using BatchOf = Batch<Key, Value>;

  struct Slot {
    std::optional<Value> value = {};  // nullopt: erased
    Extra extra = {};
    BatchId batch = 0;            // of the latest change; 0: not changed since it was loaded
    std::size_t entry_index = 0;  // in the open batch, if that has it
  };
  using Map = ShardedMap<Key, Slot>;

  Slot* find(const Key& key) { return map_.find(key); }
  Map& map() noexcept { return map_; }

  // A record as it is stored. One that is in memory already stays as it is.
  Slot& insert_clean(const Key& key, Value value) {
    const auto [slot, inserted] = map_.try_emplace(key);
    if (inserted) slot->value = std::move(value);
    return *slot;
  }

  // Sets or erases the record and makes it dirty.
  Slot& change(const Key& key, std::optional<Value> value) {
    const auto [slot, inserted] = map_.try_emplace(key);
    try {
      mark(key, *slot, value);
    } catch (...) {
      // Out of memory: a slot without a value would read as erased.
      if (inserted) map_.erase(key);
      throw;
    }
    slot->value = std::move(value);
    return *slot;
  }
  // A change in place comes after the memory for it: begin, change the value, then finish,
  // or cancel if nothing changed. The last two cannot fail. Not for a record the open
  // batch has already: that needs neither.
  // What begins inside must end inside, and nothing may be cut meanwhile.
  std::size_t begin_change_in_place(const Key& key, const Slot& slot) {
    open_.push_back({.key = key, .value = slot.value});
    return open_.size() - 1;
  }
  void finish_change_in_place(Slot& slot, std::size_t place) noexcept { take_place(slot, place); }
  void cancel_change_in_place(std::size_t place) noexcept { remove_open_entry(place); }

  // The value was changed in place.
  void changed_in_place(const Key& key, Slot& slot) { mark(key, slot, slot.value); }

  // Another value that says the same: nothing becomes dirty.
  void replace_equal(Slot& slot, Value value) {
    if (open_batch_holds(slot)) open_[slot.entry_index].value = value;
    slot.value = std::move(value);
  }

  bool is_open(const Slot& slot) const noexcept { return slot.batch == open_id_; }
  // Whether the open batch has this very value. Not so if the record was erased and then
  // loaded anew: the batch has the erasure.
  bool open_batch_holds(const Slot& slot) const noexcept {
    return is_open(slot) && open_[slot.entry_index].value.has_value();
  }
  bool is_dirty(const Slot& slot) const noexcept {
    return slot.batch != 0 && find_unstored(slot.batch) != unstored_.end();
  }

  // How many records are dirty, and how many of them no save has taken yet.
  std::size_t dirty_count() const noexcept { return dirty_count_; }
  std::size_t open_count() const noexcept { return open_.size(); }

  // Everything that changed since the last cut. In two steps, so that several tables are
  // cut together: the first needs memory and changes nothing, the second cannot fail.
  // Where nothing changed the batch stays empty.
  void prepare_cut(BatchOf& batch) {
    if (open_.empty()) return;
    batch.ids.push_back(open_id_);
    unstored_.reserve(unstored_.size() + 1);
  }
  void finish_cut(BatchOf& batch) noexcept {
    if (open_.empty()) return;
    batch.entries.swap(open_);
    open_id_ = next_id_++;
    unstored_.push_back({.id = open_id_});
  }
  BatchOf cut() {
    BatchOf batch;
    prepare_cut(batch);
    finish_cut(batch);
    return batch;
  }

  // Of `keys` those that changed since the last cut, into an empty batch. The others are
  // clean, or on their way already. After an exception nothing was cut.
  void cut_some(std::span<const Key> keys, BatchOf& batch) {
    std::vector<Slot*> slots;
    for (const Key& key : keys)
      if (Slot* slot = find(key); slot != nullptr && is_open(*slot)) slots.push_back(slot);
    if (slots.empty()) return;
    unstored_.reserve(unstored_.size() + 1);
    batch.entries.resize(slots.size());
    batch.ids.push_back(next_id_);
    // From here on nothing fails.
    const BatchId id = next_id_++;
    std::size_t count = 0;
    for (Slot* slot : slots) {
      if (!is_open(*slot)) continue;  // a key that was named twice
      batch.entries[count++] = std::move(open_[slot->entry_index]);
      remove_open_entry(slot->entry_index);
      slot->batch = id;
    }
    batch.entries.resize(count);
    unstored_of(open_id_).live_count -= count;
    unstored_.push_back({.id = id, .live_count = count});
  }
  BatchOf cut_some(std::span<const Key> keys) {
    BatchOf batch;
    cut_some(keys, batch);
    return batch;
  }

  // These batches are in the store.
  void stored(std::span<const BatchId> ids) {
    for (const BatchId id : ids) {
      const auto at = find_unstored(id);
      assert(at != unstored_.end() && id != open_id_);
      dirty_count_ -= at->live_count;
      unstored_.erase(at);
    }
  }

  // Forgets a record that is not dirty. False if it is.
  bool drop(const Key& key) {
    const Slot* slot = find(key);
    if (slot == nullptr) return true;
    if (is_dirty(*slot)) return false;
    map_.erase(key);
    return true;
  }

 private:
  struct Unstored {
    BatchId id = 0;
    std::size_t live_count = 0;  // slots that name it
  };

  auto find_unstored(BatchId id) const noexcept {
    return std::find_if(unstored_.begin(), unstored_.end(),
                        [id](const Unstored& batch) { return batch.id == id; });
  }
  Unstored& unstored_of(BatchId id) {
    return unstored_[static_cast<std::size_t>(find_unstored(id) - unstored_.begin())];
  }

  void mark(const Key& key, Slot& slot, const std::optional<Value>& value) {
    if (is_open(slot)) {
      open_[slot.entry_index].value = value;
      return;
    }
    open_.push_back({.key = key, .value = value});
    take_place(slot, open_.size() - 1);
  }

  // The slot's latest change is in the open batch, at `index`.
  void take_place(Slot& slot, std::size_t index) noexcept {
    slot.entry_index = index;
    if (const auto before = find_unstored(slot.batch); before != unstored_.end()) {
      --unstored_[static_cast<std::size_t>(before - unstored_.begin())].live_count;
    } else {
      ++dirty_count_;
    }
    ++unstored_of(open_id_).live_count;
    slot.batch = open_id_;
  }

  void remove_open_entry(std::size_t index) noexcept {
    if (index + 1 != open_.size()) {
      open_[index] = std::move(open_.back());
      find(open_[index].key)->entry_index = index;
    }
    open_.pop_back();
  }

  Map map_;
  SegmentedList<BatchEntry<Key, Value>> open_;
  BatchId next_id_ = 2;
  BatchId open_id_ = 1;
  std::vector<Unstored> unstored_ = {{.id = 1}};
  std::size_t dirty_count_ = 0;
};

}  // namespace varve
