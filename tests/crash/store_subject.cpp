#include "crash/store_subject.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"

namespace varve::crash {
namespace {

Error disagree(std::string_view key) {
  return corruption(fmt::format("{}: the listing and the record disagree", key));
}

// Adds a record that was listed with `size` and read as `value`.
Status add(Records& records, const std::string& key, const Result<std::optional<Bytes>>& value,
           std::uint64_t size) {
  if (!value) return value.error().with_context(key);
  if (!*value || (*value)->size() != size) return disagree(key);
  if (!records.emplace(key, **value).second) return corruption(key + ": listed twice");
  return {};
}

Status add_entity(Records& records, const StoreView& view, const EntityInfo& info) {
  const std::string key = entity_key(info.id);
  VARVE_ASSIGN(const auto entity, view.read_entity(info.id));
  if (!entity || entity->owner != info.owner || entity->data.size() != info.data_size) {
    return disagree(key);
  }
  if (entity->owner) {
    VARVE_ASSIGN(const auto there, view.read_entities_of(*entity->owner));
    if (std::find(there.begin(), there.end(), *entity) == there.end()) return disagree(key);
  }
  records.emplace(key, entity_record(entity->owner, entity->data));
  return {};
}

// Both the owner and the data of entity_record().
Result<EntityValue> from_entity_record(const std::string& key, const Bytes& record) {
  EntityValue value;
  const std::size_t end = record.text().find('\n');
  if (end == std::string_view::npos) return invalid_argument(key + ": no owner line");
  if (end > 0) {
    VARVE_ASSIGN(const RecordKey owner, parse_record_key(record.text().substr(0, end)));
    value.owner = owner.pos;
  }
  value.data = record.slice(end + 1);
  return value;
}

class StoreSession final : public Session {
 public:
  explicit StoreSession(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  Status apply(const Step& step) override {
    varve::Progress progress;
    if (step.upkeep == "compact") VARVE_TRY(store_->compact(progress));
    if (step.upkeep == "verify") {
      VARVE_ASSIGN(const VerifyReport report, store_->verify(progress));
      if (!report.clean()) return report.problems.front().error;
    }
    if (step.changes.empty()) return {};
    std::uint64_t tick = store_->tick();
    if (const auto it = step.changes.find("global:tick"); it != step.changes.end()) {
      tick = std::stoull(std::string(it->second->text()));
    }
    VARVE_ASSIGN(Commit commit, to_commit(step.changes, tick));
    if (step.upkeep == "backup") commit.backup_count = 2;
    VARVE_TRY(store_->commit(commit, progress));
    return {};
  }
  Result<Records> read_all() override {
    VARVE_ASSIGN(Records records, read_records(*store_));
    VARVE_TRY(check_tick(records, store_->tick()));
    return records;
  }
  Status close() override { return store_->close(); }

 private:
  std::unique_ptr<Store> store_;
};

}  // namespace

Bytes entity_record(const std::optional<ChunkPos>& owner, ByteView data) {
  return Bytes::copy_of((owner ? to_string(*owner) : "") + "\n" + std::string(as_text(data)));
}

Result<Records> read_records(const StoreView& view) {
  Records records;
  Status status;
  const auto go_on = [&](Status added) {
    status = std::move(added);
    return status.ok();
  };
  VARVE_TRY(view.list_chunks({}, [&](const ChunkInfo& info) {
    return go_on(add(records, to_string(info.pos), view.read_chunk(info.pos), info.payload_size));
  }));
  VARVE_TRY(status);
  VARVE_TRY(view.list_entities(
      {}, [&](const EntityInfo& info) { return go_on(add_entity(records, view, info)); }));
  VARVE_TRY(status);
  VARVE_TRY(view.list_players([&](const NamedInfo& info) {
    return go_on(add(records, player_key(info.name), view.read_player(info.name), info.data_size));
  }));
  VARVE_TRY(status);
  VARVE_TRY(view.list_globals([&](const NamedInfo& info) {
    return go_on(add(records, global_key(info.name), view.read_global(info.name), info.data_size));
  }));
  VARVE_TRY(status);
  return records;
}

Status check_tick(const Records& records, std::uint64_t tick) {
  const auto it = records.find("global:tick");
  if (it == records.end() || it->second.text() == std::to_string(tick)) return {};
  return corruption(
      fmt::format("the store is at tick {}, its records at {}", tick, it->second.text()));
}

Result<Commit> to_commit(const std::map<std::string, std::optional<Bytes>>& changes,
                         std::uint64_t tick) {
  Commit commit{.tick = tick};
  for (const auto& [text, value] : changes) {
    VARVE_ASSIGN(const RecordKey key, parse_record_key(text));
    switch (key.kind) {
      case RecordKind::chunk:
        commit.chunks.push_back({key.pos, value});
        break;
      case RecordKind::entity:
        commit.entities.push_back({key.id});
        if (value) {
          VARVE_ASSIGN(commit.entities.back().value, from_entity_record(text, *value));
        }
        break;
      case RecordKind::player:
        commit.players.push_back({key.name, value});
        break;
      case RecordKind::global:
        commit.globals.push_back({key.name, value});
        break;
    }
  }
  return commit;
}

Result<std::unique_ptr<Session>> StoreCrashSubject::open(Vfs& vfs) {
  VARVE_ASSIGN(auto store, open_(vfs));
  return std::make_unique<StoreSession>(std::move(store));
}

Bytes plain_payload(RecordKind, std::string_view text) { return Bytes::copy_of(text); }

Workload store_workload(std::size_t commit_count, const Capabilities& can,
                        const PayloadMaker& payload) {
  const auto pos = [&](std::size_t i) {
    ChunkPos at;
    at.coordinate_count = can.coordinate_count_max;
    at.coordinates[0] = static_cast<std::int32_t>(i);
    return at;
  };
  const auto chunk = [&](std::string_view text) { return payload(RecordKind::chunk, text); };
  const auto entity = [&](std::size_t owner, std::string_view text) {
    return entity_record(pos(owner), payload(RecordKind::entity, text));
  };
  Workload workload;
  for (std::size_t i = 0; i < commit_count; ++i) {
    Step step;
    auto& changes = step.changes;
    // Every commit changes every kind of thing, so that a mix of two shows.
    changes[to_string(pos(0))] = chunk(fmt::format("{}: {:*<{}}", i, "", 600 * (i % 3)));
    changes[to_string(pos(1))] = i % 2 == 0 ? std::optional(chunk("")) : std::nullopt;
    changes[to_string(pos(2 + i))] = chunk(fmt::format("new {}", i));
    if (can.entities) {
      changes[entity_key(7)] = entity(i % 2 == 0 ? 0 : 2 + i, "moves");
      changes[entity_key(8 + i % 2)] =
          i % 3 == 2 ? std::nullopt : std::optional(entity(0, std::to_string(i)));
    }
    if (can.players) {
      changes[player_key("ann")] = payload(RecordKind::player, fmt::format("at {}", i));
    }
    if (can.globals) changes[global_key("tick")] = Bytes::copy_of(std::to_string(10 * i + 1));
    workload.push_back(std::move(step));
  }
  return workload;
}

}  // namespace varve::crash
