#include "io/sim/disk_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

namespace varve::sim {
namespace {

using Sector = std::array<std::byte, kSectorSize>;

constexpr std::uint64_t kSizeStepCountMax = 8;

// One sector of a page. Where only zeros were ever written there is no page.
Sector sector_of(const PageRef& page, std::uint64_t sector_index) {
  Sector sector{};
  if (!page) return sector;
  const std::size_t within = sector_index * kSectorSize % kPageSize;
  std::copy_n(page->begin() + within, kSectorSize, sector.begin());
  return sector;
}

// What a power cut can make of a sector that is being written: noise, zeros, or the
// new bytes up to some point and noise or the old ones behind it, or the other way
// round.
void spoil(Sector& sector, const Sector& old, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::uint64_t way = random() % 5;
  const std::size_t middle = 1 + random() % (kSectorSize - 1);
  const std::size_t from = way < 2 || way == 4 ? 0 : middle;
  const std::size_t to = way == 4 ? middle : kSectorSize;
  for (std::size_t i = from; i < to; ++i) {
    sector[i] = way == 1 ? std::byte{0} : way >= 3 ? old[i] : static_cast<std::byte>(random());
  }
}

// The names an operation changes, and what each refers to afterwards; nullopt where
// it refers to nothing.
struct NameChange {
  const Place* place;
  std::optional<NodeId> node;
};
std::vector<NameChange> name_changes(const Atom& atom) {
  const DiskOp& op = *atom.op;
  switch (op.kind) {
    case OpKind::remove:
      return {{&op.place, std::nullopt}};
    case OpKind::rename:
      if (atom.adds_only) return {{&op.place2, op.node}};
      return {{&op.place, std::nullopt}, {&op.place2, op.node}};
    case OpKind::exchange:
      return {{&op.place, op.node2}, {&op.place2, op.node}};
    default:  // create, make_dir, link
      return {{&op.place, op.node}};
  }
}

bool is_superseded(const NameSequences& durable, const Place& place, std::uint64_t sequence) {
  const auto it = durable.find({place.dir, place.name});
  return it != durable.end() && it->second > sequence;
}

// Applies atoms to an image. Sizes are settled at the end, because data beyond
// the size may come first and become visible later.
class AtomApplier {
 public:
  AtomApplier(DiskImage& image, const NameSequences& durable_names)
      : image_(image), durable_names_(durable_names) {}

  void apply(const Atom& atom, const std::optional<std::uint64_t>& garbage_seed = std::nullopt) {
    switch (atom.kind) {
      case Atom::Kind::sector:
        return apply_sector(atom, garbage_seed);
      case Atom::Kind::size:
        size_of(atom.node) = atom.size;
        // What a cut took is gone even if the file grows again later.
        if (atom.shrinks) image_.edit(atom.node).content.resize(atom.size);
        return;
      case Atom::Kind::names:
        return apply_names(atom);
    }
  }

  void settle_sizes() {
    for (const auto& [node, size] : sizes_) image_.edit(node).content.resize(size);
  }

 private:
  std::uint64_t& size_of(NodeId node) {
    for (auto& [known, size] : sizes_) {
      if (known == node) return size;
    }
    return sizes_.emplace_back(node, image_.node(node)->content.size()).second;
  }

  void apply_sector(const Atom& atom, const std::optional<std::uint64_t>& garbage_seed) {
    size_of(atom.node);
    PagedContent& content = image_.edit(atom.node).content;
    Sector sector = sector_of(atom.page, atom.sector_index);
    if (garbage_seed) {
      const PageRef under = content.page(atom.sector_index * kSectorSize / kPageSize);
      spoil(sector, sector_of(under, atom.sector_index), *garbage_seed);
    }
    content.put_sector(atom.sector_index, sector);
  }

  void apply_names(const Atom& atom) {
    for (const auto& [place, node] : name_changes(atom)) {
      if (is_superseded(durable_names_, *place, atom.sequence)) continue;
      Node& dir = image_.edit(place->dir);
      if (node) {
        dir.add(place->name, *node);
      } else {
        dir.remove(place->name);
      }
    }
  }

  DiskImage& image_;
  const NameSequences& durable_names_;
  std::vector<std::pair<NodeId, std::uint64_t>> sizes_;
};

}  // namespace

bool DiskReplay::step(const DiskOp& op) {
  const Node* node = view_.node(op.node);
  const std::uint64_t old_size = node == nullptr ? 0 : node->content.size();
  if (!apply_op(view_, op)) return false;
  ++sequence_;
  switch (op.kind) {
    case OpKind::read:
    case OpKind::mark:
      break;
    case OpKind::write:
      add_sectors(op);
      add_size(op.node, old_size);
      break;
    case OpKind::set_size:
      add_size(op.node, old_size);
      break;
    case OpKind::sync_file:
    case OpKind::sync_dir:
      sync(op.node, op.failed);
      break;
    case OpKind::create:
    case OpKind::make_dir:
      // The node exists, empty and without a name, from here on.
      durable_.create(op.node, op.kind == OpKind::make_dir);
      add_names(op);
      break;
    default:
      add_names(op);
      break;
  }
  return true;
}

void DiskReplay::add_sectors(const DiskOp& op) {
  const PagedContent& content = view_.node(op.node)->content;
  const std::uint64_t last = (op.offset + op.data.size() - 1) / kSectorSize;
  for (std::uint64_t sector = op.offset / kSectorSize; sector <= last; ++sector) {
    pending_.push_back({.kind = Atom::Kind::sector,
                        .node = op.node,
                        .node2 = op.node,
                        .sector_index = sector,
                        .page = content.page(sector * kSectorSize / kPageSize)});
  }
}

void DiskReplay::add_size(NodeId node, std::uint64_t old_size) {
  const std::uint64_t size = view_.node(node)->content.size();
  if (size == old_size) return;
  const auto add = [&](std::uint64_t reached) {
    pending_.push_back({.kind = Atom::Kind::size,
                        .node = node,
                        .node2 = node,
                        .size = reached,
                        .shrinks = size < old_size});
  };
  if (size > old_size) {
    const std::uint64_t first_page = old_size / kPageSize + 1;
    const std::uint64_t page_count = (size + kPageSize - 1) / kPageSize - first_page;
    const std::uint64_t stride = page_count / kSizeStepCountMax + 1;
    for (std::uint64_t i = 0; i < page_count; i += stride) add((first_page + i) * kPageSize);
  }
  add(size);
}

void DiskReplay::add_names(const DiskOp& op) {
  Atom atom{.kind = Atom::Kind::names,
            .node = op.place.dir,
            .node2 = op.place.dir,
            .op = &op,
            .sequence = sequence_};
  if (op.kind == OpKind::exchange) atom.node2 = op.place2.dir;
  if (op.kind == OpKind::rename && op.place.dir != op.place2.dir) {
    Atom added = atom;
    added.node = added.node2 = op.place2.dir;
    added.adds_only = true;
    pending_.push_back(added);
  }
  pending_.push_back(atom);
}

void DiskReplay::sync(NodeId node, bool failed) {
  const auto covered = [&](const Atom& atom) {
    return !atom.beyond_sync && (atom.node == node || atom.node2 == node);
  };
  if (failed) {
    // The kernel marks the pages clean and forgets them. A size alone is not
    // forgotten: it stays in the inode, which the next sync writes.
    for (Atom& atom : pending_) {
      if (covered(atom) && atom.kind != Atom::Kind::size) atom.beyond_sync = true;
    }
    return;
  }
  AtomApplier applier(durable_, durable_names_);
  std::vector<std::uint64_t> sectors;
  std::optional<std::uint64_t> cut_at;
  for (const Atom& atom : pending_) {
    if (!covered(atom)) continue;
    applier.apply(atom);
    if (atom.kind == Atom::Kind::sector) sectors.push_back(atom.sector_index);
    if (atom.shrinks) cut_at = std::min(cut_at.value_or(atom.size), atom.size);
    if (atom.kind != Atom::Kind::names) continue;
    for (const auto& [place, target] : name_changes(atom)) {
      std::uint64_t& last = durable_names_[{place->dir, place->name}];
      last = std::max(last, atom.sequence);
    }
  }
  applier.settle_sizes();
  std::sort(sectors.begin(), sectors.end());
  std::erase_if(pending_, [&](const Atom& atom) {
    if (covered(atom)) return true;
    // An older version that was lost to a failed sync cannot come back over a newer
    // one that is durable, nor behind a cut that is.
    if (atom.node != node || atom.kind != Atom::Kind::sector) return false;
    return std::binary_search(sectors.begin(), sectors.end(), atom.sector_index) ||
           (cut_at && atom.sector_index * kSectorSize >= *cut_at);
  });
  if (cut_at) clear_lost_behind(node, *cut_at);
  drop_superseded();
}

void DiskReplay::clear_lost_behind(NodeId node, std::uint64_t cut_at) {
  for (Atom& atom : pending_) {
    const bool straddles = atom.kind == Atom::Kind::sector && atom.node == node &&
                           (atom.sector_index + 1) * kSectorSize > cut_at;
    if (!straddles || !atom.page) continue;
    Page cut = *atom.page;
    std::fill(cut.begin() + static_cast<std::ptrdiff_t>(cut_at % kPageSize), cut.end(),
              std::byte{0});
    atom.page = std::make_shared<const Page>(cut);
  }
}

void DiskReplay::drop_superseded() {
  std::erase_if(pending_, [&](const Atom& atom) {
    if (atom.kind != Atom::Kind::names || !atom.beyond_sync) return false;
    const std::vector<NameChange> changes = name_changes(atom);
    return std::all_of(changes.begin(), changes.end(), [&](const NameChange& change) {
      return is_superseded(durable_names_, *change.place, atom.sequence);
    });
  });
}

DiskImage DiskReplay::crash(const CrashChoice& choice) const {
  DiskImage image = durable_;
  AtomApplier applier(image, durable_names_);
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    if (choice.garbage_index == i) {
      applier.apply(pending_[i], choice.garbage_seed);
    } else if (choice.kept[i]) {
      applier.apply(pending_[i]);
    }
  }
  applier.settle_sizes();
  return image;
}

std::string describe(const CrashChoice& choice) {
  std::string bits;
  for (const bool kept : choice.kept) bits += kept ? '1' : '0';
  if (!choice.garbage_index) return fmt::format("kept [{}]", bits);
  return fmt::format("kept [{}], garbage in {}", bits, *choice.garbage_index);
}

}  // namespace varve::sim
