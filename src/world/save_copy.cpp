#include "world/save_copy.h"

#include <unordered_set>
#include <utility>

#include "base/try.h"
#include "world/commit_builder.h"

namespace varve {
namespace {

using Clock = std::chrono::steady_clock;

// Records are copied in commits of about this size, so that a world larger than memory
// can be copied.
constexpr std::uint64_t kCommitSize = 32u << 20;

// Collects records and commits them when there are enough.
class CopyWriter {
 public:
  CopyWriter(Store& target, std::uint64_t tick, SaveReport& report)
      : target_(target), report_(report) {
    commit_.tick = tick;
  }

  Commit& commit() noexcept { return commit_; }

  Status add(std::uint64_t size) {
    size_ += size;
    return size_ < kCommitSize ? Status() : flush();
  }

  Status flush() {
    Progress ignored;
    VARVE_ASSIGN(const CommitStats stats, target_.commit(commit_, ignored));
    report_.generation = stats.generation;
    report_.meta_size += stats.globals.put_size;
    report_.chunk_count += stats.chunks.put_count;
    report_.chunk_size += stats.chunks.put_size;
    report_.entity_count += stats.entities.put_count;
    report_.entity_size += stats.entities.put_size;
    report_.player_count += stats.players.put_count;
    report_.player_size += stats.players.put_size;
    report_.written_size += stats.written_size;
    commit_ = {.tick = commit_.tick};
    size_ = 0;
    return {};
  }

 private:
  Store& target_;
  SaveReport& report_;
  Commit commit_;
  std::uint64_t size_ = 0;
};

template <class Change, class Key>
std::unordered_set<Key> keys_of(const std::vector<Change>& changes, Key Change::* key) {
  std::unordered_set<Key> keys;
  for (const Change& change : changes) keys.insert(change.*key);
  return keys;
}

// A listing's visitor that may fail.
template <class Info>
Status for_each(const std::function<Status(const Visitor<Info>&)>& list,
                const std::function<Status(const Info&)>& fn) {
  Status status;
  VARVE_TRY(list([&](const Info& info) {
    status = fn(info);
    return status.has_value();
  }));
  return status;
}

class Copy {
 public:
  Copy(const StoreView& source, const Commit& changes, CopyWriter& writer, Progress& progress)
      : source_(source), changes_(changes), writer_(writer), progress_(progress) {}

  Status run() {
    VARVE_TRY(source_.list_chunks({}, [this](const ChunkInfo&) { return ++record_count_, true; }));
    VARVE_TRY(copy_chunks());
    VARVE_TRY(copy_entities());
    VARVE_TRY(copy_named(&StoreView::list_players, &StoreView::read_player, changes_.players,
                         &Commit::players));
    return copy_named(&StoreView::list_globals, &StoreView::read_global, changes_.globals,
                      &Commit::globals);
  }

 private:
  Status copy_chunks() {
    const auto changed = keys_of(changes_.chunks, &ChunkChange::pos);
    VARVE_TRY(for_each<ChunkInfo>(
        [&](const auto& visit) { return source_.list_chunks({}, visit); },
        [&](const ChunkInfo& info) -> Status {
          progress_.report(static_cast<double>(++done_count_) /
                           static_cast<double>(record_count_ + 1));
          if (changed.contains(info.pos)) return {};
          VARVE_ASSIGN(std::optional<Bytes> payload, source_.read_chunk(info.pos));
          if (!payload) return {};
          const std::uint64_t size = payload->size();
          writer_.commit().chunks.push_back({.pos = info.pos, .payload = std::move(payload)});
          return writer_.add(size);
        }));
    for (const ChunkChange& change : changes_.chunks) {
      if (!change.payload) continue;
      writer_.commit().chunks.push_back(change);
      VARVE_TRY(writer_.add(change.payload->size()));
    }
    return {};
  }

  Status copy_entities() {
    const auto changed = keys_of(changes_.entities, &EntityChange::id);
    VARVE_TRY(for_each<EntityInfo>(
        [&](const auto& visit) { return source_.list_entities({}, visit); },
        [&](const EntityInfo& info) -> Status {
          if (changed.contains(info.id)) return {};
          VARVE_ASSIGN(std::optional<Entity> entity, source_.read_entity(info.id));
          if (!entity) return {};
          const std::uint64_t size = entity->data.size();
          writer_.commit().entities.push_back(
              {.id = info.id,
               .value = EntityValue{.owner = entity->owner, .data = std::move(entity->data)}});
          return writer_.add(size);
        }));
    for (const EntityChange& change : changes_.entities) {
      if (!change.value) continue;
      writer_.commit().entities.push_back(change);
      VARVE_TRY(writer_.add(change.value->data.size()));
    }
    return {};
  }

  Status copy_named(Status (StoreView::*list)(const Visitor<NamedInfo>&) const,
                    Result<std::optional<Bytes>> (StoreView::*read)(std::string_view) const,
                    const std::vector<NamedChange>& changes,
                    std::vector<NamedChange> Commit::* kind) {
    const auto changed = keys_of(changes, &NamedChange::name);
    VARVE_TRY(for_each<NamedInfo>(
        [&](const auto& visit) { return (source_.*list)(visit); },
        [&](const NamedInfo& info) -> Status {
          if (changed.contains(info.name)) return {};
          VARVE_ASSIGN(std::optional<Bytes> data, (source_.*read)(info.name));
          if (!data) return {};
          const std::uint64_t size = data->size();
          (writer_.commit().*kind).push_back({.name = info.name, .data = std::move(data)});
          return writer_.add(size);
        }));
    for (const NamedChange& change : changes) {
      if (!change.data) continue;
      (writer_.commit().*kind).push_back(change);
      VARVE_TRY(writer_.add(change.data->size()));
    }
    return {};
  }

  const StoreView& source_;
  const Commit& changes_;
  CopyWriter& writer_;
  Progress& progress_;
  std::uint64_t record_count_ = 0;
  std::uint64_t done_count_ = 0;
};

Status fill(Store& target, const SaveJob& job, const StoreView& source, const Commit& changes,
            SaveReport& report) {
  CopyWriter writer(target, job.tick, report);
  if (target.capabilities().generator)
    writer.commit().generator = job.generator ? job.generator : source.generator();
  VARVE_TRY(Copy(source, changes, writer, job.state().committing).run());
  return writer.flush();
}

}  // namespace

Result<SaveReport> save_copy(const SaveJob& job, const StoreView& source, ThreadPool& encoders,
                             BufferPool& buffers, std::atomic<std::uint64_t>& encode_count) {
  // Asked first, before anything is copied for nothing.
  VARVE_ASSIGN(const bool taken, job.copy_format->detect(job.copy_path));
  if (taken)
    return invalid_argument("save_to " + job.copy_path +
                            ": there is a save already; choose another path or remove it");
  SaveReport report{.tick = job.tick, .start_time = job.start_time};
  const auto begun_at = Clock::now();
  report.queued_time = begun_at - job.posted_at;
  const BuiltCommit built =
      build_commit(job.changes, encoders, buffers, job.state().encoding, encode_count);
  if (!built.problems.empty()) return built.problems.front().error;
  const auto encoded_at = Clock::now();
  report.encode_time = encoded_at - begun_at;

  // Under another name until it is whole: a crash leaves nothing at the path itself.
  const std::string unfinished = job.copy_path + ".saving";
  VARVE_TRY(job.copy_format->remove(unfinished));
  VARVE_ASSIGN(const std::unique_ptr<Store> target, job.copy_format->create(unfinished));
  Status written = fill(*target, job, source, built.commit, report);
  const Status closed = target->close();
  if (written) written = closed;
  if (written) written = job.copy_format->rename(unfinished, job.copy_path);
  if (!written) {
    (void)job.copy_format->remove(unfinished);
    return written.error().with_context("save_to " + job.copy_path);
  }
  report.commit_time = Clock::now() - encoded_at;
  return report;
}

}  // namespace varve
