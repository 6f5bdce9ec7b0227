#include "world/save_job.h"

namespace varve {
namespace {

template <class Key, class Value>
void merge_kind(const ChangesList& list, Batch<Key, Value> Changes::* kind, Changes& into) {
  for (const auto* entry : newest(list, kind)) (into.*kind).entries.push_back(*entry);
  for (const Changes& changes : list) {
    const auto& ids = (changes.*kind).ids;
    (into.*kind).ids.insert((into.*kind).ids.end(), ids.begin(), ids.end());
  }
}

}  // namespace

Changes merged(const ChangesList& list) {
  Changes all;
  merge_kind(list, &Changes::chunks, all);
  merge_kind(list, &Changes::entities, all);
  merge_kind(list, &Changes::players, all);
  merge_kind(list, &Changes::globals, all);
  for (const Changes& changes : list)
    all.quarantine.insert(all.quarantine.end(), changes.quarantine.begin(),
                          changes.quarantine.end());
  return all;
}

}  // namespace varve
