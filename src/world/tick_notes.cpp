#include "world/tick_notes.h"

#include <algorithm>
#include <map>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "base/guarded.h"
#include "base/try.h"

namespace varve {
namespace {

// What a note costs beside what it holds.
constexpr std::size_t kNoteSize = 128;

template <class Note>
void make_room_in(std::vector<Note>& notes) {
  if (notes.size() == notes.capacity()) notes.reserve(std::max<std::size_t>(64, 2 * notes.size()));
}

Result<std::optional<Bytes>> encoded(const ChunkPos& pos, const ChunkRef& chunk,
                                     BufferPool& buffers) {
  Result<Bytes> payload = guarded(
      ErrorCode::invalid_argument,
      [&] { return "encoding " + to_string(pos) + " for the journal"; },
      [&] { return chunk->encode(buffers); });
  if (!payload) return payload.error();
  return std::optional(*std::move(payload));
}

}  // namespace

// --- Noting ------------------------------------------------------------------------------

void TickNotes::set_author(std::string_view name) {
  if (name == author_name_) return;
  author_name_ = name;
  author_ = 0;
}

TickNotes::AuthorNumber TickNotes::author() {
  if (author_ == 0 && !author_name_.empty()) {
    const auto known = std::find(authors_.begin(), authors_.end(), author_name_);
    if (known == authors_.end()) {
      authors_.push_back(author_name_);
      author_ = static_cast<AuthorNumber>(authors_.size());
    } else {
      author_ = static_cast<AuthorNumber>(known - authors_.begin()) + 1;
    }
  }
  return author_;
}

void TickNotes::make_room() {
  author();
  make_room_in(chunks_);
  make_room_in(entities_);
  make_room_in(players_.notes);
  make_room_in(globals_.notes);
}

void TickNotes::image_chunk(const ChunkPos& pos, Before<ChunkRef> before) {
  size_ += kNoteSize + (before.value ? (*before.value)->memory_size() : 0);
  chunk_images_.push_back({pos, std::move(before)});
}
void TickNotes::edit_chunk(const ChunkPos& pos, Bytes edit) noexcept {
  size_ += kNoteSize + edit.size();
  chunks_.push_back({.pos = pos, .author = author_, .edit = std::move(edit)});
}
void TickNotes::change_chunk(const ChunkPos& pos) noexcept {
  size_ += kNoteSize;
  chunks_.push_back({.pos = pos, .kind = ChunkNoteKind::whole, .author = author_});
}
void TickNotes::erase_chunk(const ChunkPos& pos) noexcept {
  size_ += kNoteSize;
  chunks_.push_back({.pos = pos, .kind = ChunkNoteKind::erase, .author = author_});
}
void TickNotes::image_entity(EntityId id, Before<EntityValue> before) {
  size_ += kNoteSize + (before.value ? before.value->data.size() : 0);
  entity_images_.push_back({id, std::move(before)});
}
void TickNotes::change_entity(EntityId id, const std::optional<EntityValue>& value) noexcept {
  size_ += kNoteSize + (value ? value->data.size() : 0);
  entities_.push_back({id, author_, value});
}
void TickNotes::image_named(RecordKind kind, const std::string& name, Before<Bytes> before) {
  size_ += kNoteSize + (before.value ? before.value->size() : 0);
  named(kind).images.push_back({name, std::move(before)});
}
void TickNotes::change_named(RecordKind kind, std::string name,
                             const std::optional<Bytes>& data) noexcept {
  size_ += kNoteSize + (data ? data->size() : 0);
  named(kind).notes.push_back({std::move(name), author_, data});
}

void TickNotes::hold_chunks(const std::function<ChunkRef(const ChunkPos&)>& find) {
  for (ChunkNote& note : chunks_) {
    if (note.kind == ChunkNoteKind::whole) note.chunk = find(note.pos);
  }
}

void TickNotes::clear() noexcept {
  author_ = 0;
  authors_.clear();
  chunks_.clear();
  entities_.clear();
  chunk_images_.clear();
  entity_images_.clear();
  for (Named* kind : {&players_, &globals_}) {
    kind->notes.clear();
    kind->images.clear();
  }
  size_ = 0;
}

void TickNotes::swap_notes(TickNotes& other) noexcept {
  std::swap(*this, other);
  std::swap(author_name_, other.author_name_);
  author_ = 0;
}

// --- Mutations ---------------------------------------------------------------------------

std::string_view TickNotes::author_name(AuthorNumber number) const {
  return number == 0 ? std::string_view() : authors_[number - 1];
}

Result<TickMutations> TickNotes::mutations(const StoreView& store, BufferPool& buffers) const {
  return or_out_of_memory([&]() -> Result<TickMutations> {
    TickRecorder recorder;
    VARVE_TRY(record_chunks(recorder, buffers));
    record_entities(recorder);
    for (const NamedNote& note : players_.notes) {
      recorder.set_author(author_name(note.author));
      recorder.put_player(note.name, note.data);
    }
    for (const NamedNote& note : globals_.notes) {
      recorder.set_author(author_name(note.author));
      recorder.put_global(note.name, note.data);
    }
    TickMutations out = recorder.take();
    VARVE_TRY(add_chunk_images(out, store, buffers));
    VARVE_TRY(add_entity_images(out, store));
    VARVE_TRY(add_named_images(RecordKind::player, out, store));
    VARVE_TRY(add_named_images(RecordKind::global, out, store));
    return out;
  });
}

// Where a chunk was changed as a whole, what it is in the end says everything.
Status TickNotes::record_chunks(TickRecorder& recorder, BufferPool& buffers) const {
  std::unordered_map<ChunkPos, std::size_t> last_whole;
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    if (chunks_[i].kind != ChunkNoteKind::edit) last_whole[chunks_[i].pos] = i;
  }
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    const ChunkNote& note = chunks_[i];
    const auto whole = last_whole.empty() ? last_whole.end() : last_whole.find(note.pos);
    if (whole != last_whole.end()) {
      if (whole->second != i) continue;
      recorder.set_author(author_name(note.author));
      std::optional<Bytes> payload;
      if (note.kind == ChunkNoteKind::whole && note.chunk) {
        VARVE_ASSIGN(payload, encoded(note.pos, note.chunk, buffers));
      }
      recorder.put_chunk(note.pos, std::move(payload));
      continue;
    }
    recorder.set_author(author_name(note.author));
    recorder.edit_chunk(note.pos, note.edit);
  }
  return {};
}

// The last note of an entity counts.
void TickNotes::record_entities(TickRecorder& recorder) const {
  std::unordered_map<EntityId, std::size_t> last;
  last.reserve(entities_.size());
  for (std::size_t i = 0; i < entities_.size(); ++i) last[entities_[i].id] = i;
  for (std::size_t i = 0; i < entities_.size(); ++i) {
    const EntityNote& note = entities_[i];
    if (last.find(note.id)->second != i) continue;
    recorder.set_author(author_name(note.author));
    if (!note.value) {
      recorder.despawn(note.id);
      continue;
    }
    recorder.spawn(note.id, note.value->owner);
    recorder.insert(note.id, kWholeEntity, note.value->data);
  }
}

// A record that is damaged in the save has no past that could be told: it gets no image, which says
// that, and its change goes on.
template <class Stored>
Result<bool> can_be_told(const Stored& stored) {
  if (stored) return true;
  if (stored.error().code() == ErrorCode::corruption) return false;
  return stored.error();
}

// The first of those with equal keys stays.
template <class Image, class Key>
void sort_images(std::vector<Image>& images, Key key) {
  std::map<std::decay_t<std::invoke_result_t<Key, const Image&>>, std::size_t> first;
  for (std::size_t i = 0; i < images.size(); ++i) first.try_emplace(key(images[i]), i);
  std::vector<Image> sorted;
  sorted.reserve(first.size());
  for (const auto& [at, index] : first) sorted.push_back(std::move(images[index]));
  images.swap(sorted);
}

Status TickNotes::add_chunk_images(TickMutations& out, const StoreView& store,
                                   BufferPool& buffers) const {
  for (const ChunkImageNote& note : chunk_images_) {
    ChunkImage image{.pos = note.pos};
    if (!note.before.is_known) {
      auto stored = store.read_chunk(note.pos);
      VARVE_ASSIGN(const bool is_good, can_be_told(stored));
      if (!is_good) continue;
      image.payload = *std::move(stored);
    } else if (note.before.value) {
      VARVE_ASSIGN(image.payload, encoded(note.pos, *note.before.value, buffers));
    }
    out.images.push_back(std::move(image));
  }
  sort_images(out.images, [](const ChunkImage& image) { return image.pos; });
  return {};
}

Status TickNotes::add_entity_images(TickMutations& out, const StoreView& store) const {
  for (const EntityImageNote& note : entity_images_) {
    EntityImage image{.entity = note.id};
    const auto fill = [&](const auto& entity) {
      image.was_there = true;
      image.chunk = entity.owner;
      image.data = entity.data;
    };
    if (!note.before.is_known) {
      const auto stored = store.read_entity(note.id);
      VARVE_ASSIGN(const bool is_good, can_be_told(stored));
      if (!is_good) continue;
      if (*stored) fill(**stored);
    } else if (note.before.value) {
      fill(*note.before.value);
    }
    out.entity_images.push_back(std::move(image));
  }
  sort_images(out.entity_images,
              [](const EntityImage& image) { return entity_order(image.entity); });
  return {};
}

Status TickNotes::add_named_images(RecordKind kind, TickMutations& out,
                                   const StoreView& store) const {
  const bool is_player = kind == RecordKind::player;
  std::vector<NamedImage>& images = is_player ? out.player_images : out.global_images;
  for (const NamedImageNote& note : (is_player ? players_ : globals_).images) {
    NamedImage image{.name = note.name, .data = note.before.value};
    if (!note.before.is_known) {
      auto stored = is_player ? store.read_player(note.name) : store.read_global(note.name);
      VARVE_ASSIGN(const bool is_good, can_be_told(stored));
      if (!is_good) continue;
      image.data = *std::move(stored);
    }
    images.push_back(std::move(image));
  }
  sort_images(images, [](const NamedImage& image) -> const auto& { return image.name; });
  return {};
}

}  // namespace varve
