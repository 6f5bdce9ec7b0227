#include <algorithm>

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

// A value on its way: an insert, or a component of a spawn, whose entity is then its place in the
// list.
struct Cell {
  EntityId entity;
  ComponentId component;
  const Bytes* value;
};

class MutationEncoder {
 public:
  explicit MutationEncoder(const TickMutations& mutations) : m_(mutations), out_(kValueSizeMax) {}

  Result<Bytes> encode() {
    out_.u8(kMutationsVersion);
    write_author_names();
    write_despawns();
    write_spawns();
    write_removals();
    write_inserts();
    write_moves();
    write_singletons();
    write_chunks();
    write_named(Section::players, m_.players);
    write_named(Section::globals, m_.globals);
    write_entity_images();
    write_named(Section::player_images, m_.player_images);
    write_named(Section::global_images, m_.global_images);
    VARVE_TRY(out_.status("mutations"));
    return out_.take();
  }

 private:
  // Whether there is anything to write.
  template <class List>
  bool begin(Section section, const List& list) {
    if (list.empty()) return false;
    auto number = static_cast<std::uint8_t>(section);
    if constexpr (requires { list[0].author; }) {
      if (has_authors(list)) number |= kHasAuthors;
    }
    out_.u8(number);
    return true;
  }
  template <class List>
  void end(const List& list) {
    if constexpr (requires { list[0].author; }) {
      if (has_authors(list)) write_authors(list, out_);
    }
  }

  void write_author_names() {
    if (!begin(Section::authors, m_.authors)) return;
    out_.varint(m_.authors.size());
    for (const std::string& name : m_.authors) write_name(name, out_);
  }

  template <class List>
  void write_entities_of(const List& list) {
    entities_.clear();
    for (const auto& item : list) entities_.push_back(item.entity);
    write_list(entities_);
  }
  void write_list(std::span<const EntityId> entities) {
    out_.varint(entities.size());
    write_packed_entities(entities, out_);
  }

  void write_despawns() {
    if (begin(Section::despawns, m_.despawns)) {
      write_entities_of(m_.despawns);
      end(m_.despawns);
    }
    if (begin(Section::passing, m_.passing)) write_list(m_.passing);
  }

  void write_spawns() {
    if (!begin(Section::spawns, m_.spawns)) return;
    write_entities_of(m_.spawns);
    PositionWriter positions(spaces_, out_);
    std::vector<Cell> cells;
    for (std::size_t i = 0; i < m_.spawns.size(); ++i) {
      positions.write(m_.spawns[i].chunk);
      for (const ComponentValue& component : m_.spawns[i].components) {
        cells.push_back({i, component.component, &component.value});
      }
    }
    std::sort(cells.begin(), cells.end(), [](const Cell& a, const Cell& b) {
      return std::pair(a.component, a.entity) < std::pair(b.component, b.entity);
    });
    write_runs(cells, true);
    end(m_.spawns);
  }

  void write_removals() {
    if (!begin(Section::removals, m_.removals)) return;
    std::vector<Cell> cells;
    cells.reserve(m_.removals.size());
    for (const RemovalMutation& m : m_.removals) cells.push_back({m.entity, m.component, nullptr});
    write_runs(cells, false);
    end(m_.removals);
  }

  void write_inserts() {
    if (!begin(Section::inserts, m_.inserts)) return;
    std::vector<Cell> cells;
    cells.reserve(m_.inserts.size());
    for (const InsertMutation& m : m_.inserts) cells.push_back({m.entity, m.component, &m.value});
    write_runs(cells, true);
    end(m_.inserts);
  }

  // Sorted by component, then entity.
  void write_runs(const std::vector<Cell>& cells, bool has_values) {
    std::size_t run_count = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      run_count += i == 0 || cells[i].component != cells[i - 1].component ? 1 : 0;
    }
    out_.varint(run_count);
    ComponentId next = 0;
    for (std::size_t start = 0; start < cells.size();) {
      std::size_t end = start + 1;
      while (end < cells.size() && cells[end].component == cells[start].component) ++end;
      out_.varint(cells[start].component - next);
      next = cells[start].component + 1;
      const std::span run = std::span(cells).subspan(start, end - start);
      write_entities_of(run);
      if (has_values) write_values(run);
      start = end;
    }
  }

  void write_values(std::span<const Cell> run) {
    const std::size_t size = run[0].value->size();
    write_numbers(run.size(), [&](std::size_t i) { return run[i].value->size(); }, out_);
    const bool is_uniform = std::all_of(
        run.begin(), run.end(), [&](const Cell& cell) { return cell.value->size() == size; });
    if (!is_uniform || !may_have_planes(size, run.size())) {
      for (const Cell& cell : run) out_.bytes(*cell.value);
      return;
    }
    rows_.clear();
    for (const Cell& cell : run) rows_.bytes(*cell.value);
    if (has_planes(size, run.size())) {
      write_planes(rows_.view(), size, out_);
    } else {
      write_planes_if_smaller(rows_.view(), size, out_);
    }
  }

  void write_moves() {
    if (!begin(Section::moves, m_.moves)) return;
    write_entities_of(m_.moves);
    PositionWriter positions(spaces_, out_);
    for (const MoveMutation& move : m_.moves) positions.write(move.chunk);
    end(m_.moves);
  }

  // `value_of` gives a pointer, or what is like one.
  template <class List, class ValueOf>
  void write_optionals(const List& list, ValueOf value_of) {
    write_numbers(
        list.size(),
        [&](std::size_t i) -> std::uint64_t {
          const auto& value = value_of(list[i]);
          return value ? value->size() + 1 : 0;
        },
        out_);
    for (const auto& item : list) {
      if (value_of(item)) out_.bytes(*value_of(item));
    }
  }

  void write_singletons() {
    if (!begin(Section::singletons, m_.singletons)) return;
    out_.varint(m_.singletons.size());
    ComponentId next = 0;
    for (const SingletonMutation& m : m_.singletons) {
      out_.varint(m.component - next);
      next = m.component + 1;
    }
    write_optionals(m_.singletons, [](const auto& m) -> const auto& { return m.value; });
    end(m_.singletons);
  }

  template <class List>
  void write_positions_of(const List& list) {
    out_.varint(list.size());
    PositionWriter positions(spaces_, out_);
    for (const auto& item : list) positions.write(item.pos);
  }

  void write_chunks() {
    const auto payload = [](const auto& m) -> const auto& { return m.payload; };
    if (begin(Section::images, m_.images)) {
      write_positions_of(m_.images);
      write_optionals(m_.images, payload);
    }
    if (begin(Section::puts, m_.puts)) {
      write_positions_of(m_.puts);
      write_optionals(m_.puts, payload);
      end(m_.puts);
    }
    if (begin(Section::edits, m_.edits)) {
      write_positions_of(m_.edits);
      write_numbers(m_.edits.size(), [&](std::size_t i) { return m_.edits[i].edit.size(); }, out_);
      for (const ChunkEdit& edit : m_.edits) out_.bytes(edit.edit);
      end(m_.edits);
    }
  }

  void write_entity_images() {
    if (!begin(Section::entity_images, m_.entity_images)) return;
    write_entities_of(m_.entity_images);
    PositionWriter positions(spaces_, out_);
    for (const EntityImage& image : m_.entity_images) positions.write(image.chunk);
    write_optionals(m_.entity_images, [](const EntityImage& image) {
      return image.was_there ? &image.data : nullptr;
    });
  }

  template <class Named>
  void write_named(Section section, const std::vector<Named>& list) {
    if (!begin(section, list)) return;
    out_.varint(list.size());
    for (const Named& m : list) write_name(m.name, out_);
    write_optionals(list, [](const auto& m) -> const auto& { return m.data; });
    end(list);
  }

  const TickMutations& m_;
  ByteWriter out_;
  ByteWriter rows_;
  std::vector<EntityId> entities_;
  SpaceNumbers spaces_;
};

}  // namespace
}  // namespace journal

Result<Bytes> encode_mutations(const TickMutations& mutations) {
  return or_out_of_memory([&]() -> Result<Bytes> {
    VARVE_TRY(journal::check_mutations(mutations));
    return journal::MutationEncoder(mutations).encode();
  });
}

}  // namespace varve
