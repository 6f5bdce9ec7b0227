#include "store/varve/varve_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/guarded.h"
#include "base/try.h"
#include "store/commit_check.h"
#include "store/varve/commit_plan.h"
#include "store/varve/header_records.h"
#include "store/varve/save_backups.h"
#include "varve/checksum.h"

namespace varve {
namespace {

Capabilities what_it_can(const std::string& format, const BackendTraits& traits, bool has_backups) {
  Capabilities can;
  can.format = format;
  can.durable = traits.durable;
  can.backups = has_backups;
  // With what a frame and a name that is too long for a key add.
  can.payload_size_max =
      std::min(kPayloadSizeMax, traits.value_size_max - kFrameOverheadMax) - kNameSizeMax;
  return can;
}

Result<PayloadEncoder> make_encoder(const VarveOptions& options, const SaveTables& tables) {
  return PayloadEncoder::make(
      {.speed = options.speed,
       .cell_size = options.cell_size,
       .dictionary = options.dictionaries ? tables.dictionaries().newest() : nullptr});
}

OpenReport report_of(const BackendReport& found, std::string_view path) {
  OpenReport report;
  report.dropped_tail = found.dropped_tail;
  for (const Error& problem : found.problems) {
    report.problems.push_back({std::string(path), problem});
  }
  return report;
}

// Whether the generator the header names, if it names one, is in its table.
bool has_generator(const SaveHeader& header, const SaveTables& tables) {
  const std::uint32_t number = header.generator_number;
  return number == 0 || tables.generators().find(number) != nullptr;
}

}  // namespace

Status VarveStore::create(Backend& backend, std::uint64_t save_id) {
  WriteBatch batch;
  put_header(batch, {.save_id = save_id});
  const WriteResult written = backend.write(batch);
  if (!written) return written.error();
  return backend.sync();
}

Result<std::unique_ptr<VarveStore>> VarveStore::open(Parts parts) {
  if (parts.backend->traits().atomic_scope != AtomicScope::batch) {
    return unsupported(
        fmt::format("{}: a save needs batches that are atomic over all keys, which "
                    "the backend {} has not",
                    parts.path, parts.backend->traits().name));
  }
  const BackendReport backend_report = parts.backend->open_report();
  OpenReport report = report_of(backend_report, parts.path);
  const auto found = find_header(*parts.backend);
  if (!found) return found.error().with_context(parts.path);
  report.problems.insert(report.problems.end(), found->problems.begin(), found->problems.end());
  const std::size_t problem_count = report.problems.size();
  auto tables = SaveTables::load(*parts.backend, report.problems);
  if (!tables) return tables.error().with_context(parts.path);
  // A record of a table that is damaged is there, and named.
  const bool has_whole_tables = report.problems.size() == problem_count;
  std::optional<Error> loss = backend_report.loss;
  if (!loss && has_whole_tables && !has_generator(found->header, *tables)) {
    loss = corruption(
        fmt::format("{}: the record of its generator is lost, and others may be", parts.path));
    report.problems.push_back({"the save", *loss});
  }
  VARVE_ASSIGN(PayloadEncoder encoder, make_encoder(parts.options, *tables));
  Newest newest{found->header, std::make_shared<SaveTables>(*std::move(tables))};
  return std::unique_ptr<VarveStore>(new VarveStore(
      std::move(parts), std::move(newest), std::move(encoder), std::move(report), std::move(loss)));
}

VarveStore::VarveStore(Parts parts, Newest newest, PayloadEncoder encoder, OpenReport report,
                       std::optional<Error> loss)
    : path_(std::move(parts.path)),
      backend_(std::move(parts.backend)),
      options_(parts.options),
      backups_(std::move(parts.backups)),
      can_write_(parts.can_write),
      capabilities_(what_it_can(parts.format, backend_->traits(), backups_ != nullptr)),
      // One beside each save costs a look at every record; a backup now and then does not.
      defaults_({.max_backups = 0}),
      open_report_(std::move(report)),
      loss_(std::move(loss)),
      hash_(parts.hash),
      hints_(can_write_),
      encoder_(std::move(encoder)),
      // What is durable is written down, and let go of then.
      frames_(backend_->traits().durable),
      newest_(std::make_shared<Newest>(std::move(newest))) {
  if (can_write_ && options_.sharing_memory_size != 0) {
    sightings_.emplace(options_.sharing_memory_size);
  }
}

SharingPlan::Parts VarveStore::sharing_parts(const SaveHeader& header) {
  return {.view = *backend_,
          .is_verified = is_verified(),
          .has_shared = (header.features & kFeatureSharedPayloads) != 0,
          .sightings = sightings_ ? &*sightings_ : nullptr,
          .hash = hash_};
}

// --- Reading -------------------------------------------------------------------------

VarveStore::SharedNewest VarveStore::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

void VarveStore::publish(SharedNewest next) noexcept {
  const std::lock_guard lock(mutex_);
  newest_.swap(next);
}

Error VarveStore::closed() const {
  return invalid_argument(fmt::format("{}: the store is closed", path_));
}

bool VarveStore::is_verified() const { return backend_->traits().checks_values; }

template <class Call>
auto VarveStore::read(Call&& call) const -> decltype(call(std::declval<const RecordReader&>())) {
  return or_out_of_memory([&]() -> decltype(call(std::declval<const RecordReader&>())) {
    if (is_closed_) return closed();
    for (;;) {
      const SharedNewest now = newest();
      auto got = call(RecordReader(*backend_, *now->tables, is_verified(), &hints_));
      // A commit that came in between may have brought a number these tables have not.
      if (got || newest()->tables == now->tables) return got;
    }
  });
}

template <class Call>
auto VarveStore::read_held(Call&& call) const -> decltype(call(std::declval<const VarveView&>())) {
  return or_out_of_memory([&]() -> decltype(call(std::declval<const VarveView&>())) {
    VARVE_ASSIGN(const auto view, pin_view());
    return call(*view);
  });
}

SaveHeader VarveStore::newest_header() const {
  const SharedNewest now = newest();
  const bool is_there = now->next && backend_->sequence() > now->sequence;
  return is_there ? *now->next : now->header;
}

std::uint64_t VarveStore::generation() const { return is_closed_ ? 0 : newest_header().generation; }

std::uint64_t VarveStore::tick() const { return is_closed_ ? 0 : newest_header().tick; }

std::optional<GeneratorId> VarveStore::generator() const {
  if (is_closed_) return std::nullopt;
  return generator_of(newest_header(), *newest()->tables);
}

Result<std::optional<Bytes>> VarveStore::read_chunk(const ChunkPos& pos) const {
  return read([&](const RecordReader& reader) { return reader.read_chunk(pos); });
}

Result<std::optional<Entity>> VarveStore::read_entity(EntityId id) const {
  return read([&](const RecordReader& reader) { return reader.read_entity(id); });
}

Result<std::vector<Entity>> VarveStore::read_entities_of(const ChunkPos& owner) const {
  return read_held([&](const VarveView& view) { return view.read_entities_of(owner); });
}

Result<std::optional<Bytes>> VarveStore::read_player(std::string_view id) const {
  return read(
      [&](const RecordReader& reader) { return reader.read_named(RecordKind::player, id); });
}

Result<std::optional<Bytes>> VarveStore::read_global(std::string_view name) const {
  return read(
      [&](const RecordReader& reader) { return reader.read_named(RecordKind::global, name); });
}

Status VarveStore::list_chunks(const ChunkFilter& filter, const Visitor<ChunkInfo>& visit) const {
  return read_held([&](const VarveView& view) { return view.list_chunks(filter, visit); });
}

Status VarveStore::list_entities(const ChunkFilter& filter,
                                 const Visitor<EntityInfo>& visit) const {
  return read_held([&](const VarveView& view) { return view.list_entities(filter, visit); });
}

Status VarveStore::list_players(const Visitor<NamedInfo>& visit) const {
  return read_held([&](const VarveView& view) { return view.list_players(visit); });
}

Status VarveStore::list_globals(const Visitor<NamedInfo>& visit) const {
  return read_held([&](const VarveView& view) { return view.list_globals(visit); });
}

Result<std::unique_ptr<VarveView>> VarveStore::pin_view() const {
  if (is_closed_) return closed();
  VARVE_ASSIGN(auto snapshot, backend_->snapshot());
  // Of the snapshot; the tables may be ahead of it by now, and never are behind it.
  const SharedNewest now = newest();
  const auto found = find_header(*snapshot, now->header);
  if (!found) return found.error().with_context(path_);
  return std::make_unique<VarveView>(std::move(snapshot), found->header, now->tables,
                                     is_verified());
}

Result<std::unique_ptr<StoreView>> VarveStore::pin() {
  return or_out_of_memory([&]() -> Result<std::unique_ptr<StoreView>> { return pin_view(); });
}

// --- Writing -------------------------------------------------------------------------

Status VarveStore::check_writable() const {
  if (is_closed_) return closed();
  if (!can_write_) return unsupported(fmt::format("{}: opened to read only", path_));
  if (is_latched_) {
    return io_error(fmt::format("{}: takes no more commits, since {}; close it and open it again",
                                path_, latch_reason_));
  }
  return {};
}

void VarveStore::note_failure(const WriteResult& written) noexcept {
  if (written.outcome() == WriteOutcome::failed) return;
  is_latched_ = true;
  (void)or_out_of_memory([&]() -> Status {
    latch_reason_ = "nobody knows what became of the last one";
    latch_reason_ = written.error().message();
    return {};
  });
}

void VarveStore::use_generator(std::shared_ptr<const Generator> generator) {
  // Without memory it is as if none was given: a delta then says that it needs one.
  (void)or_out_of_memory([&]() -> Status {
    const SharedNewest now = newest();
    auto tables = std::make_shared<SaveTables>(*now->tables);
    tables->use_generator(std::move(generator));
    publish(std::make_shared<Newest>(now->header, std::move(tables)));
    return {};
  });
}

Status VarveStore::keep_backups(std::uint32_t count) {
  if (backups_ == nullptr || (count == 0 && backups_->has_none())) return {};
  VARVE_ASSIGN(const BackupSource source, pin_for_backup(*this));
  const Status kept = backups_->keep(source, count);
  if (!kept) return kept.error().with_context("keeping a backup");
  return {};
}

Result<CommitStats> VarveStore::commit(const Commit& commit, Progress& progress) {
  return or_out_of_memory([&]() -> Result<CommitStats> {
    VARVE_TRY(check_writable());
    const SharedNewest before = newest();
    VARVE_TRY(check_commit(commit, capabilities_, before->header.tick));
    // The tables a batch refers to are published before the batch is, so that whoever finds a
    // record finds its space too.
    CommitPlan plan(sharing_parts(before->header), before->tables, encoder_, frames_, hints_,
                    options_.deltas);
    VARVE_TRY(plan.add(commit, progress, 0.5));
    SaveHeader header = before->header;
    header.tick = commit.tick;
    CommitStats& stats = plan.stats();
    bool is_changed = header.tick != before->header.tick;
    for (const KindStats* kind : {&stats.chunks, &stats.entities, &stats.players, &stats.globals}) {
      is_changed = is_changed || kind->put_count != 0 || kind->erased_count != 0;
    }
    if (commit.generator && commit.generator != generator_of(before->header, *before->tables)) {
      VARVE_ASSIGN(header.generator_number, plan.generator_number(*commit.generator));
      is_changed = true;
    }
    if (progress.is_cancelled()) return cancelled("the commit was cancelled");
    stats.generation = header.generation;
    if (is_changed) {
      stats.generation = ++header.generation;
      if (plan.has_shared()) header.features |= kFeatureSharedPayloads;
      put_header(plan.batch(), header);
      // Before the commit, since it is of the generation before. One that cannot be kept, for want
      // of space or because a record of the save is damaged, is no reason to lose what the game
      // did.
      if (commit.backup_count) {
        Status kept = keep_backups(*commit.backup_count);
        if (!kept) stats.backup_error = std::move(kept).error();
      }
      // Both before the write: behind it there may be no memory to say what came of it.
      const auto after = std::make_shared<Newest>(header, plan.tables());
      publish(
          std::make_shared<Newest>(before->header, plan.tables(), header, backend_->sequence()));
      const WriteResult written = backend_->write(plan.batch());
      if (!written) {
        // Numbers that were given are not in the save.
        publish(before);
        note_failure(written);
        return written.error().with_context(path_);
      }
      stats.written_size = plan.batch().size();
      publish(after);
    }
    progress.report(1);
    return stats;
  });
}

Result<std::optional<Bytes>> VarveStore::set_aside(const SaveKey& key, WriteBatch& batch) const {
  // As it lies there, since it cannot be trusted.
  VARVE_ASSIGN(const auto value, backend_->get_raw(key, ~std::uint64_t{0}));
  if (!value) return std::nullopt;
  ByteWriter kept;
  kept.u8(static_cast<std::uint8_t>(key.view().size()));
  kept.bytes(key);
  kept.bytes(*value);
  // The same bytes once, however often somebody tries.
  const SaveKey aside = SaveKey(KeyTag::quarantine).u64(xxh3(key)).u64(xxh3(*value));
  // Stored as it is, so that nothing else is needed to read it. A record of nearly a GiB under
  // the longest of names does not fit into another one.
  VARVE_ASSIGN(const PayloadEncoder plain, PayloadEncoder::make({.speed = SpeedClass::raw}));
  ByteWriter frame;
  VARVE_TRY(plain.encode(aside, kept.view(), nullptr, frame));
  batch.put(aside, frame.take());
  return value;
}

Status VarveStore::quarantine(const RecordKey& key) {
  return or_out_of_memory([&]() -> Status {
    VARVE_TRY(check_writable());
    const SharedNewest now = newest();
    std::optional<SaveKey> found;
    if (key.kind == RecordKind::chunk) {
      if (const auto space = now->tables->number_of(key.pos.space)) {
        found = chunk_key(*space, key.pos);
      }
    } else if (key.kind == RecordKind::entity) {
      const auto place = RecordReader(*backend_, *now->tables, is_verified()).find_entity(key.id);
      // If that is what is damaged, it is kept.
      found = place && *place ? entity_key_of((*place)->owner, key.id) : entity_place_key(key.id);
    } else {
      found = named_key(key.kind, key.name);
    }
    if (!found) return {};
    WriteBatch batch;
    VARVE_ASSIGN(const auto value, set_aside(*found, batch));
    if (!value) return {};
    if (key.kind == RecordKind::chunk && looks_like_reference(*value)) {
      // What it shares is what may be damaged, and goes when the last one lets go of it.
      if (const auto info = inspect_payload(*value)) {
        VARVE_TRY(set_aside(shared_payload_key(info->content_hash), batch));
      }
    }
    VARVE_TRY(write_upkeep(batch));
    return backend_->sync();
  });
}

Status VarveStore::close() {
  return or_out_of_memory([&]() -> Status {
    if (is_closed_.exchange(true)) return closed();
    return backend_->close();
  });
}

}  // namespace varve
