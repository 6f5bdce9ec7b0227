// Which ticks speak of which record, the naive way.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "varve/history.h"
#include "varve/tick.h"

namespace varve::test {

struct HistoryModel {
  struct Record {
    RecordKey key;
    std::vector<std::uint64_t> ticks;
  };
  std::map<std::string, Record> records;  // by their names
  std::map<ComponentId, std::vector<std::uint64_t>> singletons;
  std::uint64_t first_tick = 0;

  void note(std::uint64_t tick, const TickMutations& m) {
    const auto add = [&](RecordKey key) {
      Record& record = records[to_string(key)];
      record.key = std::move(key);
      if (record.ticks.empty() || record.ticks.back() != tick) record.ticks.push_back(tick);
    };
    const auto entities = [&](const auto& list) {
      for (const auto& each : list) add({.kind = RecordKind::entity, .id = each.entity});
    };
    entities(m.despawns), entities(m.spawns), entities(m.removals), entities(m.inserts);
    entities(m.moves), entities(m.entity_images);
    const auto chunks = [&](const auto& list) {
      for (const auto& each : list) add({.kind = RecordKind::chunk, .pos = each.pos});
    };
    chunks(m.images), chunks(m.puts), chunks(m.edits);
    const auto named = [&](RecordKind kind, const auto& list) {
      for (const auto& each : list) add({.kind = kind, .name = each.name});
    };
    named(RecordKind::player, m.players), named(RecordKind::player, m.player_images);
    named(RecordKind::global, m.globals), named(RecordKind::global, m.global_images);
    for (const auto& each : m.singletons) singletons[each.component].push_back(tick);
  }

  void forget_before(std::uint64_t tick) { first_tick = tick; }

  std::vector<std::uint64_t> in_range(const std::vector<std::uint64_t>& ticks,
                                      const TickRange& range) const {
    std::vector<std::uint64_t> found;
    for (const std::uint64_t tick : ticks) {
      if (tick >= std::max(range.from, first_tick) && tick < range.to) found.push_back(tick);
    }
    return found;
  }

  std::vector<std::pair<RecordKey, std::vector<std::uint64_t>>> touched(
      const TickRange& range) const {
    std::vector<std::pair<RecordKey, std::vector<std::uint64_t>>> all;
    for (const auto& [name, record] : records) {
      auto ticks = in_range(record.ticks, range);
      if (!ticks.empty()) all.emplace_back(record.key, std::move(ticks));
    }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      const RecordKey& x = a.first;
      const RecordKey& y = b.first;
      if (x.kind != y.kind) return x.kind < y.kind;
      if (x.pos != y.pos) return x.pos < y.pos;
      return x.id != y.id ? x.id < y.id : x.name < y.name;
    });
    return all;
  }
};

}  // namespace varve::test
