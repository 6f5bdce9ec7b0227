#include "store/nebula/save_index.h"

#include <tuple>

namespace varve::nebula {

bool KeyOrder::operator()(const RecordKey& a, const RecordKey& b) const noexcept {
  return std::tie(a.kind, a.pos, a.name) < std::tie(b.kind, b.pos, b.name);
}

const FileEntry* SaveIndex::find(const RecordKey& key) const noexcept {
  switch (key.kind) {
    case RecordKind::chunk:
      return chunks.find(key.pos);
    case RecordKind::entity:
      return scene ? &*scene : nullptr;
    case RecordKind::player:
      return players.find(key.name);
    case RecordKind::global:
      break;
  }
  return globals.find(key.name);
}

namespace {

template <class Key>
void apply_to(PersistentMap<Key, FileEntry>& table, const MapEdit& edit, const Key& key,
              const std::optional<FileEntry>& entry) {
  if (entry) {
    table.put(edit, key, *entry);
  } else {
    table.erase(edit, key);
  }
}

}  // namespace

void SaveIndex::apply(const MapEdit& edit, const IndexChange& change) {
  switch (change.key.kind) {
    case RecordKind::chunk:
      return apply_to(chunks, edit, change.key.pos, change.entry);
    case RecordKind::entity:
      scene = change.entry;
      return;
    case RecordKind::player:
      return apply_to(players, edit, change.key.name, change.entry);
    case RecordKind::global:
      return apply_to(globals, edit, change.key.name, change.entry);
  }
}

void SaveIndex::apply(const std::vector<IndexChange>& changes) {
  const MapEdit edit;
  for (const IndexChange& change : changes) apply(edit, change);
}

KeySet difference(const SaveIndex& a, const SaveIndex& b) {
  KeySet keys;
  const auto compare_with = [&](const SaveIndex& other) {
    return [&](const RecordKey& key, const FileEntry& entry) {
      if (!is_same_file(&entry, other.find(key))) keys.insert(key);
      return true;
    };
  };
  a.visit(compare_with(b));
  b.visit(compare_with(a));
  return keys;
}

}  // namespace varve::nebula
