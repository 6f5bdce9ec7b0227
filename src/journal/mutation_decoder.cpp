#include <fmt/format.h>

#include "base/guarded.h"
#include "base/try.h"
#include "journal/columns.h"
#include "journal/mutation_lists.h"
#include "journal/mutation_sections.h"
#include "journal/positions.h"
#include "journal/value_planes.h"

namespace varve {
namespace journal {
namespace {

class MutationDecoder {
 public:
  explicit MutationDecoder(const Bytes& data) : data_(data), in_(data) {}

  Result<TickMutations> decode() {
    version_ = in_.u8();
    if (in_.ok() && version_ > kMutationsVersion) {
      return unsupported(fmt::format("mutations: version {}; this program reads up to {}", version_,
                                     kMutationsVersion));
    }
    if (version_ == 0) in_.fail("no version of mutations");
    std::uint8_t previous = 0;
    while (in_.ok() && in_.remaining() != 0) {
      const std::uint8_t head = in_.u8();
      const auto number = static_cast<std::uint8_t>(head & ~kHasAuthors);
      if (number <= previous) in_.fail("sections that do not rise");
      has_authors_ = (head & kHasAuthors) != 0;
      read_section(static_cast<Section>(number));
      previous = number;
    }
    check_authors_are_used();
    VARVE_TRY(in_.finish("mutations"));
    return std::move(m_);
  }

 private:
  void read_section(Section section) {
    switch (section) {
      case Section::authors:
        read_author_names();
        return no_authors();
      case Section::despawns:
        read_entities_of(m_.despawns);
        return read_authors_of(m_.despawns);
      case Section::passing:
        read_list(m_.passing);
        return no_authors();
      case Section::spawns:
        return read_spawns();
      case Section::removals:
        return read_removals();
      case Section::inserts:
        read_runs(m_.inserts);
        if (in_.ok() && m_.inserts.empty()) in_.fail("a list of nothing");
        return read_authors_of(m_.inserts);
      case Section::moves:
        return read_moves();
      case Section::singletons:
        return read_singletons();
      case Section::images:
        read_chunks(m_.images);
        return no_authors();
      case Section::puts:
        read_chunks(m_.puts);
        return read_authors_of(m_.puts);
      case Section::edits:
        return read_edits();
      case Section::players:
        return read_named(m_.players);
      case Section::globals:
        return read_named(m_.globals);
      case Section::entity_images:
        read_entity_images();
        return no_authors();
      case Section::player_images:
        read_named(m_.player_images);
        return no_authors();
      case Section::global_images:
        read_named(m_.global_images);
        return no_authors();
    }
    in_.fail("an unknown section");
  }

  void no_authors() {
    if (has_authors_) in_.fail("authors where there are none");
  }
  template <class List>
  void read_authors_of(List& list) {
    if constexpr (requires { list[0].author; }) {
      if (has_authors_ && in_.ok()) read_authors(in_, m_.authors.size(), list);
    }
  }

  void read_author_names() {
    const std::size_t count = read_count(in_);
    for (std::size_t i = 0; i < count && in_.ok(); ++i) {
      const std::string_view name = read_name(in_);
      if (i != 0 && name <= m_.authors.back()) in_.fail("authors that do not rise");
      m_.authors.emplace_back(name);
    }
  }

  void check_authors_are_used() {
    if (!in_.ok() || m_.authors.empty()) return;
    std::vector<bool> is_used(m_.authors.size() + 1);
    is_used[0] = true;
    for_each_author(m_, [&](AuthorIndex author) { is_used[author] = true; });
    for (const bool used : is_used) {
      if (!used) return in_.fail("an author who has done nothing");
    }
  }

  // Appends them.
  void read_list(std::vector<EntityId>& out) {
    if (version_ == 1) return read_entities(in_, read_count(in_), out);
    const std::size_t count = read_entity_count(in_);
    if (in_.ok()) read_packed_entities(in_, count, out);
  }
  template <class List>
  void read_entities_of(List& list) {
    entities_.clear();
    read_list(entities_);
    if (!in_.ok()) return;
    list.resize(entities_.size());
    for (std::size_t i = 0; i < list.size(); ++i) list[i].entity = entities_[i];
  }

  // The next `size` bytes, without a copy.
  Bytes value(std::uint64_t size) {
    const std::size_t offset = in_.offset();
    in_.skip(size);
    return in_.ok() ? data_.slice(offset, static_cast<std::size_t>(size)) : Bytes();
  }

  // Calls read(component, entities) for each run.
  template <class Read>
  void for_each_run(Read read) {
    const std::size_t run_count = in_.count(minimal_varint(in_, kValueSizeMax), 4);
    std::uint64_t next = 0;
    for (std::size_t i = 0; i < run_count && in_.ok(); ++i) {
      const std::uint64_t component = next + minimal_varint(in_, 0xffff'ffff);
      if (component > 0xffff'ffff) in_.fail("a component above its limit");
      next = component + 1;
      entities_.clear();
      read_list(entities_);
      if (in_.ok()) read(static_cast<ComponentId>(component));
    }
  }

  // Of a run of equal sizes. For a short one it is said.
  bool are_planes(std::size_t size, std::size_t count) {
    if (has_planes(size, count)) return true;
    if (version_ == 1 || !may_have_planes(size, count)) return false;
    return read_plane_choice(in_, size, count);
  }

  void read_runs(std::vector<InsertMutation>& out) {
    for_each_run([&](ComponentId component) {
      const std::size_t count = entities_.size();
      const Numbers sizes(in_, count, kValueSizeMax);
      if (!in_.ok()) return;
      if (out.capacity() - out.size() < count)
        out.reserve(std::max(out.size() + count, 2 * out.size()));
      const auto size = static_cast<std::size_t>(sizes[0]);
      if (!sizes.is_uniform() || !are_planes(size, count)) {
        for (std::size_t i = 0; i < count && in_.ok(); ++i) {
          out.push_back({entities_[i], component, value(sizes[i]), 0});
        }
        return;
      }
      Buffer rows(count * size);
      read_planes(in_, size, rows.span());
      const Bytes all = std::move(rows).freeze();
      for (std::size_t i = 0; i < count && in_.ok(); ++i) {
        out.push_back({entities_[i], component, all.slice(i * size, size), 0});
      }
    });
  }

  void read_spawns() {
    read_entities_of(m_.spawns);
    PositionReader positions(spaces_, in_);
    for (SpawnMutation& spawn : m_.spawns) {
      spawn.chunk = positions.read();
      if (!in_.ok()) return;
    }
    std::vector<InsertMutation> cells;
    read_runs(cells);
    if (!in_.ok()) return;
    for (InsertMutation& cell : cells) {
      // Its place in the list stands for the entity.
      if (cell.entity >= m_.spawns.size()) return in_.fail("a component of no spawn");
      m_.spawns[static_cast<std::size_t>(cell.entity)].components.push_back(
          {cell.component, std::move(cell.value)});
    }
    read_authors_of(m_.spawns);
  }

  void read_removals() {
    for_each_run([&](ComponentId component) {
      for (const EntityId entity : entities_) m_.removals.push_back({entity, component, 0});
    });
    if (in_.ok() && m_.removals.empty()) in_.fail("a list of nothing");
    read_authors_of(m_.removals);
  }

  void read_moves() {
    read_entities_of(m_.moves);
    PositionReader positions(spaces_, in_);
    for (MoveMutation& move : m_.moves) {
      move.chunk = positions.read();
      if (!in_.ok()) return;
    }
    read_authors_of(m_.moves);
  }

  // One for each of the list.
  template <class List, class ValueOf>
  void read_optionals(List& list, ValueOf value_of) {
    if (!in_.ok()) return;
    const Numbers numbers(in_, list.size(), kValueSizeMax + 1);
    for (std::size_t i = 0; i < list.size() && in_.ok(); ++i) {
      if (numbers[i] != 0) value_of(list[i]) = value(numbers[i] - 1);
    }
  }

  void read_singletons() {
    m_.singletons.resize(read_count(in_));
    std::uint64_t next = 0;
    for (SingletonMutation& m : m_.singletons) {
      const std::uint64_t component = next + minimal_varint(in_, 0xffff'ffff);
      if (component > 0xffff'ffff) in_.fail("a component above its limit");
      if (!in_.ok()) return;
      m.component = static_cast<ComponentId>(component);
      next = component + 1;
    }
    read_optionals(m_.singletons, [](auto& m) -> auto& { return m.value; });
    read_authors_of(m_.singletons);
  }

  // Edits of one chunk stand together; of anything else there is one.
  template <class List>
  void read_positions_of(List& list, bool may_repeat) {
    const std::size_t count = read_count(in_);
    PositionReader positions(spaces_, in_);
    for (std::size_t i = 0; i < count && in_.ok(); ++i) {
      const ChunkPos pos = positions.read_somewhere();
      if (i != 0 && (pos < list.back().pos || (pos == list.back().pos && !may_repeat))) {
        in_.fail("chunks that do not rise");
      }
      list.emplace_back();
      list.back().pos = pos;
    }
  }

  template <class List>
  void read_chunks(List& list) {
    read_positions_of(list, false);
    read_optionals(list, [](auto& m) -> auto& { return m.payload; });
  }

  void read_edits() {
    read_positions_of(m_.edits, true);
    if (!in_.ok()) return;
    const Numbers sizes(in_, m_.edits.size(), kValueSizeMax);
    for (std::size_t i = 0; i < m_.edits.size() && in_.ok(); ++i) {
      m_.edits[i].edit = value(sizes[i]);
    }
    read_authors_of(m_.edits);
  }

  void read_entity_images() {
    read_entities_of(m_.entity_images);
    PositionReader positions(spaces_, in_);
    for (EntityImage& image : m_.entity_images) {
      image.chunk = positions.read();
      if (!in_.ok()) return;
    }
    std::vector<std::optional<Bytes>> values(m_.entity_images.size());
    read_optionals(values, [](auto& each) -> auto& { return each; });
    for (std::size_t i = 0; i < values.size() && in_.ok(); ++i) {
      EntityImage& image = m_.entity_images[i];
      image.was_there = values[i].has_value();
      if (values[i]) image.data = *std::move(values[i]);
      if (!image.was_there && image.chunk) in_.fail("an entity that was not there, in a chunk");
    }
  }

  template <class Named>
  void read_named(std::vector<Named>& list) {
    const std::size_t count = read_count(in_);
    for (std::size_t i = 0; i < count && in_.ok(); ++i) {
      const std::string_view name = read_name(in_);
      if (i != 0 && name <= list.back().name) in_.fail("names that do not rise");
      list.emplace_back();
      list.back().name = name;
    }
    read_optionals(list, [](auto& m) -> auto& { return m.data; });
    read_authors_of(list);
  }

  const Bytes& data_;
  ByteReader in_;
  TickMutations m_;
  std::vector<Space> spaces_;
  std::vector<EntityId> entities_;
  std::uint8_t version_ = 0;
  bool has_authors_ = false;
};

}  // namespace
}  // namespace journal

Result<TickMutations> decode_mutations(const Bytes& data) {
  return or_out_of_memory([&]() -> Result<TickMutations> {
    if (data.size() > journal::kValueSizeMax) return corruption("mutations: more than 1 GiB");
    return journal::MutationDecoder(data).decode();
  });
}

}  // namespace varve
