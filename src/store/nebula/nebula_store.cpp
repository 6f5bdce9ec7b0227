#include "store/nebula/nebula_store.h"

#include <fmt/format.h>

#include "base/guarded.h"
#include "base/try.h"
#include "store/nebula/save_files.h"
#include "store/nebula/save_opening.h"

namespace varve::nebula {
namespace {

Error nothing_at(const SaveLayout& layout) {
  return not_found(fmt::format("there is no save at {}", layout.root()));
}

Status must_be_save(Vfs& vfs, const SaveLayout& layout) {
  VARVE_ASSIGN(const bool is_ours, is_save(vfs, layout));
  if (is_ours) return {};
  VARVE_ASSIGN(const bool exists, vfs.exists(layout.root()));
  if (!exists) return nothing_at(layout);
  return unsupported(fmt::format("{} is no nebula save: it has neither varve/catalog nor world.ron",
                                 layout.root()));
}

}  // namespace

Capabilities NebulaStore::what_it_can() {
  Capabilities can;
  can.format = "nebula";
  can.coordinate_count_min = can.coordinate_count_max = 4;
  can.coordinate_ranges[0] = {0, kFaceCount - 1};
  can.coordinate_ranges[3] = {0, 255};
  can.spaces = false;
  can.entity_schema = "nebula";
  can.payload_size_max = kPayloadSizeMax;
  return can;
}

NebulaStore::NebulaStore(Vfs& vfs, SaveLayout layout, OpenReport report, Generation generation,
                         std::unique_ptr<WriterLock> lock, std::optional<SaveWriter> writer)
    : vfs_(vfs),
      layout_(std::move(layout)),
      open_report_(std::move(report)),
      can_write_(writer.has_value()),
      lock_(std::move(lock)),
      writer_(std::move(writer)),
      backups_(vfs, layout_),
      current_(std::make_shared<const Generation>(std::move(generation))) {}

Result<std::unique_ptr<Store>> NebulaStore::open(Vfs& vfs, std::string_view path) {
  return or_out_of_memory([&]() -> Result<std::unique_ptr<Store>> {
    SaveLayout layout(path);
    // Before the lock, which would leave a file where there is nothing.
    VARVE_TRY(must_be_save(vfs, layout));
    VARVE_TRY(make_folders_durably(vfs, layout));
    VARVE_ASSIGN(auto lock, lock_save(vfs, layout));
    VARVE_ASSIGN(FoundSave found, find_save(vfs, layout));
    VARVE_ASSIGN(SaveWriter writer, recover_save(vfs, layout, found));
    VARVE_ASSIGN(SceneContents scene, load_scene(vfs, layout, found.index));
    Generation generation{.files = std::move(found.index),
                          .scene = std::make_shared<const SceneContents>(std::move(scene))};
    return std::unique_ptr<Store>(new NebulaStore(vfs, std::move(layout), std::move(found.report),
                                                  std::move(generation), std::move(lock),
                                                  std::move(writer)));
  });
}

Result<std::unique_ptr<Store>> NebulaStore::open_to_read(Vfs& vfs, std::string_view path) {
  return or_out_of_memory([&]() -> Result<std::unique_ptr<Store>> {
    SaveLayout layout(path);
    VARVE_TRY(must_be_save(vfs, layout));
    // Until the writer beside us, if there is one, did nothing while we looked.
    for (;;) {
      VARVE_ASSIGN(const CatalogMark mark, mark_of_catalog(vfs, layout));
      VARVE_ASSIGN(FoundSave found, find_save(vfs, layout));
      VARVE_ASSIGN(SceneContents scene, load_scene(vfs, layout, found.index));
      VARVE_ASSIGN(const CatalogMark mark_now, mark_of_catalog(vfs, layout));
      if (mark != mark_now) continue;
      Generation generation{.files = std::move(found.index),
                            .scene = std::make_shared<const SceneContents>(std::move(scene))};
      std::unique_ptr<NebulaStore> store(new NebulaStore(
          vfs, std::move(layout), std::move(found.report), std::move(generation), nullptr, {}));
      store->opened_mark_ = mark;
      store->opened_erased_ = KeySet(found.erased.begin(), found.erased.end());
      return store;
    }
  });
}

// --- Reading ---------------------------------------------------------------------------

SharedGeneration NebulaStore::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

Error NebulaStore::closed() const {
  return invalid_argument(fmt::format("{}: the store is closed", layout_.root()));
}

Status NebulaStore::check_writable() const {
  if (current() == nullptr) return closed();
  if (can_write_) return {};
  return unsupported(fmt::format("{} was opened to look at it, not to change it", layout_.root()));
}

// A reader beside a writer finds out here that the writer went on.
Result<SharedGeneration> NebulaStore::moved_on(const SharedGeneration& than) const {
  const SharedGeneration newest = current();
  if (can_write_ || newest == nullptr) return newest == than ? nullptr : newest;
  VARVE_ASSIGN(const CatalogMark mark, mark_of_catalog(vfs_, layout_));
  if (mark == opened_mark_) return nullptr;
  return busy(fmt::format(
      "{} is being written by another program, which has replaced what you read; open it again",
      layout_.root()));
}

NebulaView::Newer NebulaStore::newer() const {
  return [this](const SharedGeneration& than) { return moved_on(than); };
}

template <class Call>
auto NebulaStore::read(Call&& call) const -> decltype(call(std::declval<const NebulaView&>())) {
  return or_out_of_memory([&]() -> decltype(call(std::declval<const NebulaView&>())) {
    SharedGeneration generation = current();
    if (generation == nullptr) return closed();
    return call(NebulaView(vfs_, layout_, std::move(generation), newer()));
  });
}

std::uint64_t NebulaStore::generation() const {
  const SharedGeneration at = current();
  return at ? at->files.generation : 0;
}

std::uint64_t NebulaStore::tick() const {
  const SharedGeneration at = current();
  return at ? at->files.tick : 0;
}

std::optional<GeneratorId> NebulaStore::generator() const {
  const SharedGeneration at = current();
  return at ? at->files.generator : std::nullopt;
}

Result<std::optional<Bytes>> NebulaStore::read_chunk(const ChunkPos& pos) const {
  return read([&](const NebulaView& view) { return view.read_chunk(pos); });
}

Result<std::optional<Entity>> NebulaStore::read_entity(EntityId id) const {
  return read([&](const NebulaView& view) { return view.read_entity(id); });
}

Result<std::vector<Entity>> NebulaStore::read_entities_of(const ChunkPos& owner) const {
  return read([&](const NebulaView& view) { return view.read_entities_of(owner); });
}

Result<std::optional<Bytes>> NebulaStore::read_player(std::string_view id) const {
  return read([&](const NebulaView& view) { return view.read_player(id); });
}

Result<std::optional<Bytes>> NebulaStore::read_global(std::string_view name) const {
  return read([&](const NebulaView& view) { return view.read_global(name); });
}

Status NebulaStore::list_chunks(const ChunkFilter& filter, const Visitor<ChunkInfo>& visit) const {
  return read([&](const NebulaView& view) { return view.list_chunks(filter, visit); });
}

Status NebulaStore::list_entities(const ChunkFilter& filter,
                                  const Visitor<EntityInfo>& visit) const {
  return read([&](const NebulaView& view) { return view.list_entities(filter, visit); });
}

Status NebulaStore::list_players(const Visitor<NamedInfo>& visit) const {
  return read([&](const NebulaView& view) { return view.list_players(visit); });
}

Status NebulaStore::list_globals(const Visitor<NamedInfo>& visit) const {
  return read([&](const NebulaView& view) { return view.list_globals(visit); });
}

// --- Views that are held ---------------------------------------------------------------

// The newest generation, whose files stay until the last reference to it is gone; null if the
// store is closed.
SharedGeneration NebulaStore::hold() const {
  const std::lock_guard lock(mutex_);
  if (current_ == nullptr) return nullptr;
  const std::uint64_t sequence = current_->files.sequence;
  {
    const std::lock_guard pins_lock(pins_->mutex);
    pins_->sequences.insert(sequence);
  }
  return SharedGeneration(current_.get(), [kept = current_, pins = pins_, sequence](auto*) {
    const std::lock_guard pins_lock(pins->mutex);
    pins->sequences.erase(pins->sequences.find(sequence));
  });
}

Result<std::unique_ptr<StoreView>> NebulaStore::pin() {
  return or_out_of_memory([&]() -> Result<std::unique_ptr<StoreView>> {
    SharedGeneration held = hold();
    if (held == nullptr) return closed();
    const auto none_newer = [](const SharedGeneration&) -> Result<SharedGeneration> {
      return SharedGeneration();
    };
    // A store that only reads cannot keep a writer from replacing files.
    auto newer_or_none = can_write_ ? NebulaView::Newer(none_newer) : newer();
    return std::make_unique<NebulaView>(vfs_, layout_, std::move(held), std::move(newer_or_none));
  });
}

// Returns the sequence of the newest view that is held.
std::optional<std::uint64_t> NebulaStore::publish(SharedGeneration next) {
  const std::lock_guard lock(mutex_);
  current_.swap(next);
  const std::lock_guard pins_lock(pins_->mutex);
  if (pins_->sequences.empty()) return std::nullopt;
  has_held_files_ = true;
  return *pins_->sequences.rbegin();
}

void NebulaStore::drop_held_files() {
  if (!has_held_files_) return;
  {
    const std::lock_guard pins_lock(pins_->mutex);
    if (!pins_->sequences.empty()) return;
  }
  has_held_files_ = !clear_folder(vfs_, layout_.in("varve/held"));
}

// --- Upkeep ----------------------------------------------------------------------------

Status NebulaStore::quarantine(const RecordKey& key) {
  return or_out_of_memory([&]() -> Status {
    VARVE_TRY(check_writable());
    if (current()->files.find(key) == nullptr) return {};
    (void)writer_->finish_placing();
    return keep_aside(vfs_, layout_, layout_.file(key));
  });
}

Result<CompactReport> NebulaStore::compact(Progress& progress) {
  return or_out_of_memory([&]() -> Result<CompactReport> {
    VARVE_TRY(check_writable());
    drop_held_files();
    VARVE_ASSIGN(const CompactReport report, writer_->compact(current()->files));
    progress.report(1);
    return report;
  });
}

Status NebulaStore::close() {
  return or_out_of_memory([&]() -> Status {
    SharedGeneration last;
    {
      const std::lock_guard lock(mutex_);
      last.swap(current_);
    }
    if (last == nullptr) return closed();
    Status done;
    if (writer_) {
      drop_held_files();
      done = writer_->close(last->files);
    }
    writer_.reset();
    lock_.reset();
    return done;
  });
}

}  // namespace varve::nebula
