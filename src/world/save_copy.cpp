#include "world/save_copy.h"

#include <unordered_set>
#include <utility>

#include "base/try.h"
#include "varve/journal.h"

namespace varve {
namespace {

using Clock = std::chrono::steady_clock;

// Records are copied in commits of about this size, so that a world larger than memory
// can be copied.
constexpr std::uint64_t kCommitSize = 32u << 20;

// Long, so that nobody gives it to a save by accident.
constexpr std::string_view kUnfinishedSuffix = ".unfinished-copy";

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
    add_stats(report_, stats);
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

std::uint64_t size_of(const ChunkChange& change) { return change.payload->size(); }
std::uint64_t size_of(const EntityChange& change) { return change.value->data.size(); }
std::uint64_t size_of(const NamedChange& change) { return change.data->size(); }

bool erases(const ChunkChange& change) { return !change.payload; }
bool erases(const EntityChange& change) { return !change.value; }
bool erases(const NamedChange& change) { return !change.data; }

class Copy {
 public:
  Copy(const StoreView& source, const Commit& changes, CopyWriter& writer, Progress& progress,
       SaveReport& report)
      : source_(source), changes_(changes), writer_(writer), progress_(progress), report_(report) {}

  Status run() {
    const Status counted =
        source_.list_chunks({}, [this](const ChunkInfo&) { return ++chunk_count_, true; });
    // What the listing cannot show, copying the chunks tells.
    if (!counted && counted.error().code() != ErrorCode::corruption) return counted;
    VARVE_TRY(copy_chunks());
    VARVE_TRY(copy_entities());
    VARVE_TRY(copy_named("players", &StoreView::list_players, &StoreView::read_player, player_key,
                         &Commit::players));
    return copy_named("globals", &StoreView::list_globals, &StoreView::read_global, global_key,
                      &Commit::globals);
  }

 private:
  Status copy_chunks() {
    return copy_kind<ChunkInfo>(
        "chunks", &Commit::chunks, &ChunkChange::pos, &ChunkInfo::pos,
        [&](const auto& visit) { return source_.list_chunks({}, visit); },
        [&](const ChunkInfo& info) -> Result<ChunkChange> {
          progress_.report(static_cast<double>(++done_count_) /
                           static_cast<double>(chunk_count_ + 1));
          VARVE_ASSIGN(std::optional<Bytes> payload, source_.read_chunk(info.pos));
          return ChunkChange{.pos = info.pos, .payload = std::move(payload)};
        },
        [](const ChunkPos& pos) { return to_string(pos); });
  }

  Status copy_entities() {
    return copy_kind<EntityInfo>(
        "entities", &Commit::entities, &EntityChange::id, &EntityInfo::id,
        [&](const auto& visit) { return source_.list_entities({}, visit); },
        [&](const EntityInfo& info) -> Result<EntityChange> {
          VARVE_ASSIGN(std::optional<Entity> entity, source_.read_entity(info.id));
          if (!entity) return EntityChange{.id = info.id};
          return EntityChange{
              .id = info.id,
              .value = EntityValue{.owner = entity->owner, .data = std::move(entity->data)}};
        },
        entity_key);
  }

  Status copy_named(std::string_view what,
                    Status (StoreView::*list)(const Visitor<NamedInfo>&) const,
                    Result<std::optional<Bytes>> (StoreView::*read)(std::string_view) const,
                    std::string (*key_text)(std::string_view),
                    std::vector<NamedChange> Commit::* kind) {
    return copy_kind<NamedInfo>(
        what, kind, &NamedChange::name, &NamedInfo::name,
        [&](const auto& visit) { return (source_.*list)(visit); },
        [&](const NamedInfo& info) -> Result<NamedChange> {
          VARVE_ASSIGN(std::optional<Bytes> data, (source_.*read)(info.name));
          return NamedChange{.name = info.name, .data = std::move(data)};
        },
        key_text);
  }

  // Everything that is stored and did not change, and everything that did.
  template <class Info, class Change, class Key, class List, class Read, class KeyText>
  Status copy_kind(std::string_view what, std::vector<Change> Commit::* kind,
                   Key Change::* change_key, Key Info::* info_key, const List& list,
                   const Read& read, const KeyText& key_text) {
    std::unordered_set<Key> changed;
    for (const Change& change : changes_.*kind) changed.insert(change.*change_key);
    // The journal is this save's, and none of the copy's.
    if constexpr (std::is_same_v<Change, NamedChange>) {
      if (kind == &Commit::globals) changed.insert(std::string(kJournalGlobal));
    }
    Status status;
    const Visitor<Info> visit = [&](const Info& info) {
      if (changed.contains(info.*info_key)) return true;
      Result<Change> record = read(info);
      if (record) {
        status = add(kind, *std::move(record));
      } else if (record.error().code() == ErrorCode::corruption) {
        report_.problems.push_back({.key = key_text(info.*info_key), .error = record.error()});
      } else {
        status = record.error();
      }
      return status.has_value();
    };
    const Status listed = list(visit);
    if (!listed && listed.error().code() != ErrorCode::corruption) return listed;
    // A format that keeps all of a kind in one file may have lost them all.
    if (!listed) report_.problems.push_back({.key = std::string(what), .error = listed.error()});
    VARVE_TRY(status);
    for (const Change& change : changes_.*kind) VARVE_TRY(add(kind, change));
    return {};
  }

  template <class Change>
  Status add(std::vector<Change> Commit::* kind, Change change) {
    if (erases(change)) return {};
    const std::uint64_t size = size_of(change);
    (writer_.commit().*kind).push_back(std::move(change));
    return writer_.add(size);
  }

  const StoreView& source_;
  const Commit& changes_;
  CopyWriter& writer_;
  Progress& progress_;
  SaveReport& report_;
  std::uint64_t chunk_count_ = 0;
  std::uint64_t done_count_ = 0;
};

// Everything of the source and of the job into an empty save.
Status fill(Store& target, const SaveJob& job, const StoreView& source, const Encoding& encoding,
            SaveReport& report) {
  const auto begun_at = Clock::now();
  BuiltCommit built =
      build_commit(job.changes, target.capabilities(), encoding, job.state().encoding);
  report.problems = std::move(built.problems);
  const auto encoded_at = Clock::now();
  report.encode_time = encoded_at - begun_at;

  CopyWriter writer(target, job.tick, report);
  if (target.capabilities().generator)
    writer.commit().generator = job.generator ? job.generator : source.generator();
  VARVE_TRY(Copy(source, built.commit, writer, job.state().committing, report).run());
  VARVE_TRY(writer.flush());
  report.commit_time = Clock::now() - encoded_at;
  return {};
}

}  // namespace

Result<SaveReport> save_copy(const SaveJob& job, const StoreView& source,
                             const Encoding& encoding) {
  const std::string context = "save_to " + job.copy_path;
  // Asked first, before anything is copied for nothing.
  VARVE_ASSIGN(const bool taken, job.copy_format->detect(job.copy_path));
  if (taken || job.copy_path.ends_with(kUnfinishedSuffix))
    return invalid_argument(context +
                            (taken ? ": there is a save already; choose another path or remove it"
                                   : ": names with this ending are for copies under way"));
  SaveReport report{.tick = job.tick, .start_time = job.start_time};
  report.queued_time = Clock::now() - job.posted_at;

  // Under another name until it is whole: a crash leaves nothing at the path itself, and
  // what one left behind is removed.
  const std::string unfinished = job.copy_path + std::string(kUnfinishedSuffix);
  VARVE_TRY(job.copy_format->remove(unfinished));
  VARVE_ASSIGN(const std::unique_ptr<Store> target, job.copy_format->create(unfinished));
  Status written = fill(*target, job, source, encoding, report);
  const Status closed = target->close();
  if (written) written = closed;
  if (written) written = job.copy_format->rename(unfinished, job.copy_path);
  if (!written) {
    (void)job.copy_format->remove(unfinished);
    return written.error().with_context(context);
  }
  return report;
}

}  // namespace varve
