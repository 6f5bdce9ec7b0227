// How the notes of a tick become its outcome. An entity's last spawn or despawn settles what
// happened to it before; of what was noted after that the last note of each thing counts.
#include <algorithm>
#include <numeric>

#include "journal/mutation_lists.h"

namespace varve {
namespace {

// The numbers of `notes` in an order in which those about one thing are together, earlier ones
// first.
template <class Note, class Key>
std::vector<std::size_t> sorted_by(const std::vector<Note>& notes, Key key) {
  std::vector<std::size_t> order(notes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (key(notes[a]) < key(notes[b])) return true;
    return a < b && !(key(notes[b]) < key(notes[a]));
  });
  return order;
}

// Sorts `list` and leaves the last of those with equal keys; empties `list`.
template <class Mutation, class Key>
std::vector<Mutation> last_of_each(std::vector<Mutation>& list, Key key) {
  std::vector<Mutation> out;
  out.reserve(list.size());
  for (const std::size_t i : sorted_by(list, key)) {
    if (!out.empty() && key(out.back()) == key(list[i])) out.pop_back();
    out.push_back(std::move(list[i]));
  }
  list.clear();
  return out;
}

}  // namespace

struct TickRecorder::Life {
  EntityId entity = 0;
  std::size_t settled_count = 0;  // notes of entities up to its last spawn or despawn
  std::optional<std::size_t> spawn_index = {};
};

void TickRecorder::set_author(std::string_view name) {
  if (name == author_name_) return;
  author_name_ = name;
  author_ = 0;
}

AuthorIndex TickRecorder::author() {
  if (author_ == 0 && !author_name_.empty()) {
    const auto next = static_cast<AuthorIndex>(authors_.size() + 1);
    author_ = authors_.try_emplace(author_name_, next).first->second;
  }
  return author_;
}

void TickRecorder::spawn(EntityId entity, std::optional<ChunkPos> chunk) {
  entity_notes_.push_back({entity, chunk, author(), EntityNote::Kind::spawn});
}
void TickRecorder::despawn(EntityId entity) {
  entity_notes_.push_back({entity, std::nullopt, author(), EntityNote::Kind::despawn});
}
void TickRecorder::move(EntityId entity, std::optional<ChunkPos> chunk) {
  entity_notes_.push_back({entity, chunk, author(), EntityNote::Kind::move});
}
void TickRecorder::insert(EntityId entity, ComponentId component, Bytes value) {
  component_notes_.push_back({entity, component, author(), entity_notes_.size(), std::move(value)});
}
void TickRecorder::remove(EntityId entity, ComponentId component) {
  component_notes_.push_back({entity, component, author(), entity_notes_.size(), std::nullopt});
}
void TickRecorder::set_singleton(ComponentId component, std::optional<Bytes> value) {
  singletons_.push_back({component, std::move(value), author()});
}
void TickRecorder::add_image(const ChunkPos& pos, std::optional<Bytes> payload) {
  images_.push_back({pos, std::move(payload)});
}
void TickRecorder::put_chunk(const ChunkPos& pos, std::optional<Bytes> payload) {
  puts_.push_back({{pos, std::move(payload), author()}, edits_.size()});
}
void TickRecorder::edit_chunk(const ChunkPos& pos, Bytes edit) {
  edits_.push_back({pos, std::move(edit), author()});
}
void TickRecorder::put_player(std::string_view name, std::optional<Bytes> data) {
  players_.push_back({std::string(name), std::move(data), author()});
}
void TickRecorder::put_global(std::string_view name, std::optional<Bytes> data) {
  globals_.push_back({std::string(name), std::move(data), author()});
}

std::vector<TickRecorder::Life> TickRecorder::take_entities(TickMutations& out) {
  using Kind = EntityNote::Kind;
  std::vector<Life> lives;
  const auto order =
      sorted_by(entity_notes_, [](const EntityNote& n) { return entity_order(n.entity); });
  for (std::size_t at = 0; at < order.size();) {
    const EntityId entity = entity_notes_[order[at]].entity;
    const EntityNote* first = nullptr;  // of its spawns and despawns
    const EntityNote* last = nullptr;
    const EntityNote* move = nullptr;  // the last one behind `last`
    Life life{.entity = entity};
    for (; at < order.size() && entity_notes_[order[at]].entity == entity; ++at) {
      const EntityNote& note = entity_notes_[order[at]];
      if (note.kind == Kind::move) {
        move = &note;
        continue;
      }
      if (first == nullptr) first = &note;
      last = &note;
      move = nullptr;
      life.settled_count = order[at] + 1;
    }
    if (last != nullptr && last->kind == Kind::spawn) {
      life.spawn_index = out.spawns.size();
      out.spawns.push_back({entity, move != nullptr ? move->chunk : last->chunk, {}, last->author});
    } else {
      if (move != nullptr) out.moves.push_back({entity, move->chunk, move->author});
      if (last != nullptr && first->kind == Kind::despawn) {
        out.despawns.push_back({entity, last->author});
      } else if (last != nullptr) {
        // Of an index the last one stays.
        if (!out.passing.empty() && entity_index(out.passing.back()) == entity_index(entity)) {
          out.passing.pop_back();
        }
        out.passing.push_back(entity);
      }
    }
    if (last != nullptr) lives.push_back(life);
  }
  // One that lives in the end says, too, that the numbers before its own are used up.
  auto spawn = out.spawns.begin();
  std::erase_if(out.passing, [&](EntityId passing) {
    while (spawn != out.spawns.end() && entity_order(spawn->entity) < entity_order(passing))
      ++spawn;
    return spawn != out.spawns.end() && entity_index(spawn->entity) == entity_index(passing);
  });
  entity_notes_.clear();
  return lives;
}

void TickRecorder::take_components(const std::vector<Life>& lives, TickMutations& out) {
  const auto key = [](const ComponentNote& n) {
    return std::pair(n.component, entity_order(n.entity));
  };
  const auto order = sorted_by(component_notes_, key);
  for (std::size_t i = 0; i < order.size(); ++i) {
    ComponentNote& note = component_notes_[order[i]];
    if (i + 1 < order.size() && key(component_notes_[order[i + 1]]) == key(note)) continue;
    const auto life = std::lower_bound(
        lives.begin(), lives.end(), note.entity,
        [](const Life& l, EntityId e) { return entity_order(l.entity) < entity_order(e); });
    if (life != lives.end() && life->entity == note.entity) {
      if (note.entity_note_count < life->settled_count) continue;
      if (life->spawn_index) {
        auto& components = out.spawns[*life->spawn_index].components;
        if (note.value) components.push_back({note.component, *std::move(note.value)});
        continue;
      }
    }
    if (note.value) {
      out.inserts.push_back({note.entity, note.component, *std::move(note.value), note.author});
    } else {
      out.removals.push_back({note.entity, note.component, note.author});
    }
  }
  component_notes_.clear();
}

void TickRecorder::take_chunks(TickMutations& out) {
  for (const std::size_t i : sorted_by(images_, [](const ChunkImage& n) { return n.pos; })) {
    if (!out.images.empty() && out.images.back().pos == images_[i].pos) continue;
    out.images.push_back(std::move(images_[i]));
  }
  images_.clear();
  const auto puts = last_of_each(puts_, [](const PutNote& n) { return n.put.pos; });
  for (const std::size_t i : sorted_by(edits_, [](const ChunkEdit& n) { return n.pos; })) {
    const auto put = std::lower_bound(
        puts.begin(), puts.end(), edits_[i].pos,
        [](const PutNote& note, const ChunkPos& pos) { return note.put.pos < pos; });
    const bool is_overwritten =
        put != puts.end() && put->put.pos == edits_[i].pos && i < put->edit_count;
    if (!is_overwritten) out.edits.push_back(std::move(edits_[i]));
  }
  edits_.clear();
  for (const PutNote& note : puts) out.puts.push_back(note.put);
}

void TickRecorder::take_authors(TickMutations& out) {
  // By name, and only those whose doings are left: the same outcome has the same list.
  std::vector<AuthorIndex> numbers(authors_.size() + 1);
  journal::for_each_author(out, [&](AuthorIndex author) { numbers[author] = 1; });
  for (const auto& [name, noted] : authors_) {
    if (numbers[noted] == 0) continue;
    out.authors.push_back(name);
    numbers[noted] = static_cast<AuthorIndex>(out.authors.size());
  }
  numbers[0] = 0;
  journal::for_each_author(out, [&](AuthorIndex& author) { author = numbers[author]; });
  authors_.clear();
  author_ = 0;
}

TickMutations TickRecorder::take() {
  TickMutations out;
  take_components(take_entities(out), out);
  take_chunks(out);
  out.singletons =
      last_of_each(singletons_, [](const SingletonMutation& m) { return m.component; });
  out.players =
      last_of_each(players_, [](const NamedMutation& m) -> const std::string& { return m.name; });
  out.globals =
      last_of_each(globals_, [](const NamedMutation& m) -> const std::string& { return m.name; });
  take_authors(out);
  return out;
}

}  // namespace varve
