#include "journal/mutation_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/guarded.h"
#include "base/try.h"
#include "journal/columns.h"
#include "journal/mutation_lists.h"
#include "journal/mutation_sections.h"
#include "journal/positions.h"
#include "journal/value_planes.h"

namespace varve::journal {
namespace {

constexpr std::size_t kNone = ~std::size_t{0};

// What is looked for. Sections behind the last one that can say something are not looked at.
struct Wanted {
  Section last;
  EntityId entity = 0;
  ComponentId component = 0;
  std::string_view name = {};
  // Whether runs of components are those of the entity.
  bool wants_entity() const { return last == Section::inserts; }
};

class MutationSearch {
 public:
  MutationSearch(const Bytes& data, const Wanted& wanted)
      : data_(data), in_(data), wanted_(wanted) {}

  Status search() {
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
      const auto section = static_cast<Section>(number);
      if (section > wanted_.last) break;
      pass(section);
      if ((head & kHasAuthors) != 0) pass_authors();
      previous = number;
    }
    return in_.status("mutations");
  }

  SaidOfComponent of_component;
  SaidOfValue of_value;

 private:
  using Kind = SaidOfComponent::Kind;

  // Leaves in count_ how many mutations the section had.
  void pass(Section section) {
    switch (section) {
      case Section::authors:
        count_ = read_count(in_);
        for (std::size_t i = 0; i < count_ && in_.ok(); ++i) read_name(in_);
        return;
      case Section::despawns:
        read_list();
        if (finds_entity()) of_component = {Kind::despawned, {}};
        return;
      case Section::passing:
        return read_list();
      case Section::spawns:
        return pass_spawns();
      case Section::removals:
        return pass_runs(false, wanted_.entity, Kind::removed);
      case Section::inserts:
        return pass_runs(true, wanted_.entity, Kind::set);
      case Section::moves:
        read_list();
        return pass_positions(true);
      case Section::singletons:
        return pass_singletons();
      case Section::images:
      case Section::puts:
        count_ = read_count(in_);
        pass_positions(false);
        return pass_optionals(kNone);
      case Section::edits:
        return pass_edits();
      case Section::players:
      case Section::globals:
        return pass_named(section == wanted_.last);
      default:
        in_.fail("an unknown section");
    }
  }

  void pass_authors() {
    for (std::size_t start = 0; start < count_ && in_.ok();) {
      const std::uint64_t length = minimal_varint(in_, count_ - start);
      minimal_varint(in_, kValueSizeMax);
      if (length == 0) in_.fail("a run that is no run");
      start += static_cast<std::size_t>(length);
    }
  }

  void read_list() {
    entities_.clear();
    if (version_ == 1) {
      read_entities(in_, read_count(in_), entities_);
    } else {
      const std::size_t count = read_entity_count(in_);
      if (in_.ok()) read_packed_entities(in_, count, entities_);
    }
    count_ = entities_.size();
  }
  // Where it is in the list that was read.
  std::size_t place_of(EntityId entity) const {
    const auto at =
        std::lower_bound(entities_.begin(), entities_.end(), entity,
                         [](EntityId a, EntityId b) { return entity_order(a) < entity_order(b); });
    if (at == entities_.end() || *at != entity) return kNone;
    return static_cast<std::size_t>(at - entities_.begin());
  }
  bool finds_entity() const {
    return in_.ok() && wanted_.wants_entity() && place_of(wanted_.entity) != kNone;
  }

  void pass_positions(bool may_be_nowhere) {
    PositionReader positions(spaces_, in_);
    for (std::size_t i = 0; i < count_ && in_.ok(); ++i) {
      if (may_be_nowhere) {
        positions.read();
      } else {
        positions.read_somewhere();
      }
    }
  }

  void pass_spawns() {
    read_list();
    const std::size_t spawn_count = count_;
    const std::size_t place = in_.ok() ? place_of(wanted_.entity) : kNone;
    const bool is_here = wanted_.wants_entity() && place != kNone;
    if (is_here) of_component = {Kind::spawned, {}};
    pass_positions(true);
    // Its place in the list stands for the entity.
    if (in_.ok()) pass_runs(true, is_here ? EntityId{place} : kNone, Kind::set);
    count_ = spawn_count;
  }

  // Runs of a component each, in which `entity` may have something.
  void pass_runs(bool have_values, EntityId entity, Kind kind) {
    const std::size_t run_count = in_.count(minimal_varint(in_, kValueSizeMax), 4);
    std::uint64_t next = 0;
    std::size_t total = 0;
    for (std::size_t i = 0; i < run_count && in_.ok(); ++i) {
      const std::uint64_t component = next + minimal_varint(in_, 0xffff'ffff);
      if (component > 0xffff'ffff) in_.fail("a component above its limit");
      next = component + 1;
      read_list();
      if (!in_.ok()) return;
      total += count_;
      const bool is_wanted = wanted_.wants_entity() && component == wanted_.component;
      const std::size_t place = is_wanted ? place_of(entity) : kNone;
      std::optional<Bytes> value;
      if (have_values) value = pass_values(place);
      if (place != kNone && in_.ok()) of_component = {kind, value ? *std::move(value) : Bytes()};
    }
    count_ = total;
  }

  // The values of a run; that of `place`.
  Bytes pass_values(std::size_t place) {
    const std::size_t count = count_;
    const Numbers sizes(in_, count, kValueSizeMax);
    if (!in_.ok()) return {};
    const auto size = static_cast<std::size_t>(sizes[0]);
    if (sizes.is_uniform() && are_planes(size, count)) {
      Buffer row(place == kNone ? 0 : size);
      pick_from_planes(in_, size, count, place, row.span());
      return in_.ok() ? std::move(row).freeze() : Bytes();
    }
    Bytes found;
    for (std::size_t i = 0; i < count && in_.ok(); ++i) {
      const std::size_t offset = in_.offset();
      in_.skip(sizes[i]);
      if (i == place) found = data_.slice(offset, static_cast<std::size_t>(sizes[i]));
    }
    return found;
  }
  bool are_planes(std::size_t size, std::size_t count) {
    if (has_planes(size, count)) return true;
    if (version_ == 1 || !may_have_planes(size, count)) return false;
    return read_plane_choice(in_, size, count);
  }

  // As many as count_; that of `place` is what was looked for.
  void pass_optionals(std::size_t place) {
    if (!in_.ok()) return;
    const Numbers numbers(in_, count_, kValueSizeMax + 1);
    for (std::size_t i = 0; i < count_ && in_.ok(); ++i) {
      const std::size_t offset = in_.offset();
      const std::uint64_t size = numbers[i] == 0 ? 0 : numbers[i] - 1;
      in_.skip(size);
      if (i != place || !in_.ok()) continue;
      of_value.emplace();
      if (numbers[i] != 0) of_value->emplace(data_.slice(offset, static_cast<std::size_t>(size)));
    }
  }

  void pass_singletons() {
    const std::size_t count = read_count(in_);
    std::size_t place = kNone;
    std::uint64_t next = 0;
    for (std::size_t i = 0; i < count && in_.ok(); ++i) {
      const std::uint64_t component = next + minimal_varint(in_, 0xffff'ffff);
      next = component + 1;
      if (wanted_.last == Section::singletons && component == wanted_.component) place = i;
    }
    count_ = count;
    pass_optionals(place);
  }

  void pass_edits() {
    count_ = read_count(in_);
    pass_positions(false);
    if (!in_.ok()) return;
    const Numbers sizes(in_, count_, kValueSizeMax);
    for (std::size_t i = 0; i < count_ && in_.ok(); ++i) in_.skip(sizes[i]);
  }

  void pass_named(bool is_wanted) {
    count_ = read_count(in_);
    std::size_t place = kNone;
    for (std::size_t i = 0; i < count_ && in_.ok(); ++i) {
      const std::string_view name = read_name(in_);
      if (is_wanted && name == wanted_.name) place = i;
    }
    pass_optionals(place);
  }

  const Bytes& data_;
  ByteReader in_;
  const Wanted wanted_;
  std::vector<Space> spaces_;
  std::vector<EntityId> entities_;
  std::size_t count_ = 0;
  std::uint8_t version_ = 0;
};

Result<SaidOfValue> search_value(const Bytes& payload, const Wanted& wanted) {
  return or_out_of_memory([&]() -> Result<SaidOfValue> {
    MutationSearch search(payload, wanted);
    VARVE_TRY(search.search());
    return std::move(search.of_value);
  });
}

}  // namespace

Result<SaidOfComponent> search_component(const Bytes& payload, EntityId entity,
                                         ComponentId component) {
  return or_out_of_memory([&]() -> Result<SaidOfComponent> {
    MutationSearch search(payload,
                          {.last = Section::inserts, .entity = entity, .component = component});
    VARVE_TRY(search.search());
    return std::move(search.of_component);
  });
}

Result<SaidOfValue> search_singleton(const Bytes& payload, ComponentId component) {
  return search_value(payload, {.last = Section::singletons, .component = component});
}
Result<SaidOfValue> search_player(const Bytes& payload, std::string_view name) {
  return search_value(payload, {.last = Section::players, .name = name});
}
Result<SaidOfValue> search_global(const Bytes& payload, std::string_view name) {
  return search_value(payload, {.last = Section::globals, .name = name});
}

}  // namespace varve::journal
