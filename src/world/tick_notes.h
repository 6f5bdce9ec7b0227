// What changed in a tick, noted on the game thread and made into mutations elsewhere.
//
// To note something is an append: nothing is searched, encoded or copied but a few references. What
// chunks were and have become is held, and encoded by whoever makes mutations of the notes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "varve/chunk.h"
#include "varve/store.h"
#include "varve/tick.h"

namespace varve {

// What a record was before a tick: known, or to be read from the store, where nothing newer can be
// before this tick is logged.
template <class Value>
struct Before {
  bool is_known = false;
  std::optional<Value> value = {};
};

class TickNotes {
 public:
  void set_author(std::string_view name);

  // --- By the game thread ------------------------------------------------------------------
  // Room is made before a record is changed, so that to note the change cannot fail afterwards. A
  // record's image is noted before its change, too; of two in a tick the first counts.
  void make_room();
  void image_chunk(const ChunkPos& pos, Before<ChunkRef> before);
  void edit_chunk(const ChunkPos& pos, Bytes edit) noexcept;
  // Put, or changed in a way no edit describes: what it is when the tick ends counts.
  void change_chunk(const ChunkPos& pos) noexcept;
  void erase_chunk(const ChunkPos& pos) noexcept;
  void image_entity(EntityId id, Before<EntityValue> before);
  void change_entity(EntityId id, const std::optional<EntityValue>& value) noexcept;
  void image_named(RecordKind kind, const std::string& name, Before<Bytes> before);
  void change_named(RecordKind kind, std::string name, const std::optional<Bytes>& data) noexcept;

  bool empty() const noexcept { return size_ == 0; }
  // Roughly what it holds.
  std::size_t size() const noexcept { return size_; }

  // Holds what chunks that were changed as a whole have become.
  void hold_chunks(const std::function<ChunkRef(const ChunkPos&)>& find);

  // --- By whoever logs it ------------------------------------------------------------------
  // `store` answers for records whose past was not in memory.
  Result<TickMutations> mutations(const StoreView& store, BufferPool& buffers) const;
  // Empty again, with the memory it had.
  void clear() noexcept;

  // Everything but who is the author of what comes next.
  void swap_notes(TickNotes& other) noexcept;

 private:
  using AuthorNumber = std::uint32_t;
  enum class ChunkNoteKind : std::uint8_t { edit, whole, erase };
  struct ChunkNote {
    ChunkPos pos = {};
    ChunkNoteKind kind = ChunkNoteKind::edit;
    AuthorNumber author = 0;
    Bytes edit = {};
    ChunkRef chunk = {};
  };
  struct EntityNote {
    EntityId id = 0;
    AuthorNumber author = 0;
    std::optional<EntityValue> value = {};
  };
  struct NamedNote {
    std::string name = {};
    AuthorNumber author = 0;
    std::optional<Bytes> data = {};
  };
  struct ChunkImageNote {
    ChunkPos pos = {};
    Before<ChunkRef> before = {};
  };
  struct EntityImageNote {
    EntityId id = 0;
    Before<EntityValue> before = {};
  };
  struct NamedImageNote {
    std::string name = {};
    Before<Bytes> before = {};
  };
  struct Named {
    std::vector<NamedNote> notes = {};
    std::vector<NamedImageNote> images = {};
  };

  AuthorNumber author();
  Named& named(RecordKind kind) noexcept {
    return kind == RecordKind::player ? players_ : globals_;
  }
  Status record_chunks(TickRecorder& recorder, BufferPool& buffers) const;
  void record_entities(TickRecorder& recorder) const;
  Status add_chunk_images(TickMutations& out, const StoreView& store, BufferPool& buffers) const;
  Status add_entity_images(TickMutations& out, const StoreView& store) const;
  Status add_named_images(RecordKind kind, TickMutations& out, const StoreView& store) const;
  std::string_view author_name(AuthorNumber number) const;

  std::string author_name_;
  AuthorNumber author_ = 0;  // in authors_, counted from 1; 0 also for one who has done nothing yet
  std::vector<std::string> authors_;
  std::vector<ChunkNote> chunks_;
  std::vector<EntityNote> entities_;
  Named players_;
  Named globals_;
  std::vector<ChunkImageNote> chunk_images_;
  std::vector<EntityImageNote> entity_images_;
  std::size_t size_ = 0;
};

}  // namespace varve
