// How a nebula store makes a commit. save_writer.h says what a crash leaves of it.
#include <fmt/format.h>

#include "base/guarded.h"
#include "base/try.h"
#include "store/commit_check.h"
#include "store/nebula/nebula_store.h"
#include "store/nebula/save_files.h"
#include "varve/checksum.h"

namespace varve::nebula {
namespace {

// How far a commit has come once its files are staged.
constexpr double kStagedShare = 0.9;

Status check_entities(const Commit& commit) {
  for (const EntityChange& change : commit.entities) {
    if (!change.value) continue;
    const auto record = decode_entity(change.value->data);
    if (record) continue;
    return invalid_argument(fmt::format("{}: no entity of the nebula format: {}",
                                        entity_key(change.id), record.error().message()));
  }
  return {};
}

CatalogRecord record_of(const SaveIndex& index, const StagedFiles& staged) {
  return {.kind = CatalogRecordKind::changes,
          .sequence = staged.sequence,
          .generation = index.generation,
          .tick = index.tick,
          .generator = index.generator,
          .changes = staged.changes};
}

}  // namespace

// Whether the save has these very bytes. A checksum alone does not say so: somebody could
// have made it up, and a file may be damaged.
bool NebulaStore::holds(const RecordKey& key, const FileEntry& entry, const Bytes& payload) const {
  if (entry.checked && (entry.payload_size != payload.size() || entry.checksum != xxh3(payload))) {
    return false;
  }
  const auto saved = read_payload(vfs_, layout_, key, entry);
  // What cannot be read is written anew, which may mend it.
  return saved && *saved == payload;
}

Status NebulaStore::plan_file(const RecordKey& key, const std::optional<Bytes>& payload,
                              const Generation& before, KindStats& stats, Plan& plan) {
  const FileEntry* old = before.files.find(key);
  if (!payload) {
    if (old == nullptr || old->placeholder) return {};
    ++stats.erased_count;
    plan.files.push_back({.key = key});
    return {};
  }
  if (old == nullptr) {
    // A file the catalog does not know may be what it lost.
    VARVE_TRY(keep_aside(vfs_, layout_, layout_.file(key)));
  } else if (!old->placeholder) {
    if (holds(key, *old, *payload)) {
      ++stats.unchanged_count;
      return {};
    }
  }
  ++stats.put_count;
  stats.put_size += payload->size();
  plan.files.push_back({key, payload});
  return {};
}

Status NebulaStore::plan_entities(const Commit& commit, const Generation& before,
                                  Progress& progress, Plan& plan, Generation& next) {
  if (commit.entities.empty()) return {};
  const SceneContents& old = *before.scene;
  const Commit entities{.tick = old.tables->tick, .entities = commit.entities};
  VARVE_ASSIGN(const NextTables made, next_tables(old.tables, entities, progress, 0));
  plan.stats.entities = made.stats.entities;
  if (made.tables == old.tables) return {};
  // Entities of a newer program are not for us to replace.
  if (old.damage && old.damage->code() == ErrorCode::unsupported) return *old.damage;
  // What could not be read is kept before something else takes its place.
  if (old.damage) VARVE_TRY(keep_aside(vfs_, layout_, layout_.file(scene_key())));
  SceneContents scene = old;
  scene.damage.reset();
  scene.tables = made.tables;
  VARVE_ASSIGN(Bytes file, encode_scene_file(scene));
  if (file.size() > kSceneSizeMax) {
    return unsupported(fmt::format("all entities together are {} bytes; the format nebula takes {}",
                                   file.size(), kSceneSizeMax));
  }
  plan.files.push_back({scene_key(), std::move(file)});
  next.scene = std::make_shared<const SceneContents>(std::move(scene));
  return {};
}

Result<NebulaStore::Plan> NebulaStore::plan(const Commit& commit, const Generation& before,
                                            Progress& progress) {
  Plan plan;
  auto next = std::make_shared<Generation>(before);
  for (const ChunkChange& chunk : commit.chunks) {
    // Erasing what the format cannot carry is no error, and nothing.
    VARVE_TRY(plan_file({.kind = RecordKind::chunk, .pos = chunk.pos}, chunk.payload, before,
                        plan.stats.chunks, plan));
  }
  VARVE_TRY(plan_entities(commit, before, progress, plan, *next));
  for (const NamedChange& player : commit.players) {
    VARVE_TRY(plan_file({.kind = RecordKind::player, .name = player.name}, player.data, before,
                        plan.stats.players, plan));
  }
  for (const NamedChange& global : commit.globals) {
    VARVE_TRY(plan_file({.kind = RecordKind::global, .name = global.name}, global.data, before,
                        plan.stats.globals, plan));
  }
  const bool other_generator = commit.generator && commit.generator != before.files.generator;
  plan.has_effect = !plan.files.empty() || other_generator || commit.tick != before.files.tick;
  if (plan.has_effect) {
    ++next->files.generation;
    next->files.tick = commit.tick;
    if (commit.generator) next->files.generator = commit.generator;
  }
  plan.stats.generation = next->files.generation;
  plan.next = std::move(next);
  return plan;
}

Result<CommitStats> NebulaStore::commit(const Commit& commit, Progress& progress) {
  return or_out_of_memory([&]() -> Result<CommitStats> {
    VARVE_TRY(check_writable());
    const SharedGeneration before = current();
    VARVE_TRY(check_commit(commit, capabilities_, before->files.tick));
    VARVE_TRY(check_entities(commit));
    VARVE_ASSIGN(CommitStats stats, make_commit(commit, before, progress));
    progress.report(1);
    return stats;
  });
}

Result<CommitStats> NebulaStore::make_commit(const Commit& commit, const SharedGeneration& before,
                                             Progress& progress) {
  VARVE_ASSIGN(Plan plan, this->plan(commit, *before, progress));
  if (progress.is_cancelled()) return cancelled("the commit was cancelled");
  if (!plan.has_effect) return plan.stats;
  drop_held_files();
  VARVE_TRY(writer_->prepare(before->files));
  VARVE_ASSIGN(const StagedFiles staged, writer_->stage(plan.files, progress, kStagedShare));
  std::shared_ptr<Generation> next;
  CatalogRecord record;
  std::uint64_t backup_size = 0;
  const auto get_ready = [&]() -> Status {
    next = std::make_shared<Generation>(*plan.next);
    next->files.sequence = staged.sequence;
    next->files.apply(staged.changes);
    record = record_of(next->files, staged);
    if (commit.backup_count.value_or(0) > 0) {
      // A backup links what is in place.
      VARVE_TRY(writer_->finish_placing());
      VARVE_ASSIGN(backup_size, backups_.rotate(before->files, *commit.backup_count));
    }
    if (progress.is_cancelled()) return cancelled("the commit was cancelled");
    backups_.note(staged.changes);
    return {};
  };
  if (Status ready = or_out_of_memory(get_ready); !ready) {
    writer_->discard(staged);
    return ready.error();
  }
  const std::uint64_t size_before = writer_->catalog_end().offset;
  VARVE_TRY(writer_->append(record, staged, before->files));
  // It is made. Nothing below can fail.
  plan.stats.written_size =
      staged.written_size + backup_size + writer_->catalog_end().offset - size_before;
  writer_->place(publish(std::move(next)));
  // A backup too many is removed the next time.
  if (commit.backup_count) {
    (void)or_out_of_memory([&] { return backups_.trim(*commit.backup_count); });
  }
  return plan.stats;
}

}  // namespace varve::nebula
