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

void add_stats(SaveReport& report, const CommitStats& stats) {
  report.generation = stats.generation;
  report.meta_size += stats.globals.put_size;
  report.chunk_count += stats.chunks.put_count;
  report.chunk_size += stats.chunks.put_size;
  report.entity_count += stats.entities.put_count;
  report.entity_size += stats.entities.put_size;
  report.player_count += stats.players.put_count;
  report.player_size += stats.players.put_size;
  for (const KindStats& kind : {stats.chunks, stats.entities, stats.players, stats.globals}) {
    report.unchanged_count += kind.unchanged_count;
    report.erased_count += kind.erased_count;
  }
  report.written_size += stats.written_size;
}

}  // namespace varve
