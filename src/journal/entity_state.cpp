#include "varve/entity_state.h"

#include "journal/state_parts.h"

namespace varve {

using journal::EntityPage;

EntityState::EntityState() noexcept = default;
EntityState::~EntityState() = default;
EntityState::EntityState(EntityState&&) noexcept = default;
EntityState& EntityState::operator=(EntityState&&) noexcept = default;
EntityState::EntityState(const EntityState& other)
    : parts_(other.parts_ ? std::make_unique<Parts>(*other.parts_) : nullptr) {}
EntityState& EntityState::operator=(const EntityState& other) { return *this = EntityState(other); }

const EntityState::Parts& EntityState::parts() const noexcept {
  static const Parts kEmpty;
  return parts_ ? *parts_ : kEmpty;
}

EntityState::Parts& EntityState::parts_to_change() {
  if (!parts_) parts_ = std::make_unique<Parts>();
  parts_->begin_edit();
  return *parts_;
}

std::size_t EntityState::entity_count() const noexcept { return parts().entity_count; }
std::size_t EntityState::singleton_count() const noexcept { return parts().singletons.size(); }
bool EntityState::contains(EntityId entity) const noexcept { return parts().is_alive(entity); }

namespace {

// Into a view that is used again, so that a walk over all entities allocates next to nothing.
void view_entity(const EntityPage& page, std::uint32_t first_index, std::uint32_t slot,
                 EntityView& out) {
  out.entity = make_entity(first_index + slot, page.generations[slot]);
  out.chunk = page.chunk(slot);
  out.components.clear();
  for (const journal::Column& column : page.columns) {
    if (column.has(slot)) out.components.push_back({column.component(), column.value(slot)});
  }
}

template <class Key>
std::vector<std::pair<Key, Bytes>> listed(const PersistentMap<Key, Bytes>& map) {
  std::vector<std::pair<Key, Bytes>> out;
  out.reserve(map.size());
  map.visit([&](const Key& key, const Bytes& value) {
    out.emplace_back(key, value);
    return true;
  });
  return out;
}

}  // namespace

std::optional<EntityView> EntityState::find(EntityId entity) const {
  const EntityPage* const page = parts().pages.find(entity_index(entity));
  if (page == nullptr || !page->is_alive(entity)) return std::nullopt;
  const std::uint32_t slot = EntityPage::slot_of(entity);
  EntityView view;
  view_entity(*page, entity_index(entity) - slot, slot, view);
  return view;
}

std::optional<ByteView> EntityState::component(EntityId entity, ComponentId id) const noexcept {
  const EntityPage* const page = parts().pages.find(entity_index(entity));
  if (page == nullptr || !page->is_alive(entity)) return std::nullopt;
  return page->find(EntityPage::slot_of(entity), id);
}

const Bytes* EntityState::singleton(ComponentId id) const noexcept {
  return parts().singletons.find(id);
}
const Bytes* EntityState::player(std::string_view name) const noexcept {
  return parts().players.find(name);
}
const Bytes* EntityState::global(std::string_view name) const noexcept {
  return parts().globals.find(name);
}

std::vector<std::pair<ComponentId, Bytes>> EntityState::singletons() const {
  return listed(parts().singletons);
}
std::vector<std::pair<std::string, Bytes>> EntityState::players() const {
  return listed(parts().players);
}
std::vector<std::pair<std::string, Bytes>> EntityState::globals() const {
  return listed(parts().globals);
}

void EntityState::for_each(const std::function<bool(const EntityView&)>& visit) const {
  EntityView view;
  parts().pages.visit([&](std::uint32_t first_index, const EntityPage& page) {
    for (std::uint64_t left = page.alive; left != 0; left &= left - 1) {
      view_entity(page, first_index, static_cast<std::uint32_t>(std::countr_zero(left)), view);
      if (!visit(view)) return false;
    }
    return true;
  });
}

std::vector<EntityId> EntityState::entities_in(const ChunkPos& pos) const {
  const std::vector<EntityId>* const found = parts().chunks.find(pos);
  return found == nullptr ? std::vector<EntityId>() : *found;
}

Result<EntityId> EntityState::next_entity() const {
  const auto index = parts().pages.lowest_free();
  if (!index) return invalid_argument("entities: all 2^32 - 1 indexes are taken");
  const EntityPage* const page = parts().pages.find(*index);
  const std::uint32_t slot = *index % EntityPage::kCount;
  const bool is_used = page != nullptr && (page->used >> slot & 1) != 0;
  return make_entity(*index, is_used ? page->generations[slot] + 1 : 0);
}

bool operator==(const EntityState& a, const EntityState& b) {
  const EntityState::Parts& x = a.parts();
  const EntityState::Parts& y = b.parts();
  if (&x == &y) return true;
  // The chunk index follows from the entities.
  return x.entity_count == y.entity_count && x.pages == y.pages &&
         a.singletons() == b.singletons() && a.players() == b.players() &&
         a.globals() == b.globals();
}

}  // namespace varve
