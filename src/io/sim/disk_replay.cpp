#include "io/sim/disk_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

namespace varve::sim {
namespace {

using Sector = std::array<std::byte, kSectorSize>;

// The sector of an atom. A sector that was only ever zero has no page.
Sector sector_of(const Atom& atom) {
  Sector sector{};
  if (!atom.page) return sector;
  const std::size_t within = atom.sector_index * kSectorSize % kPageSize;
  std::copy_n(atom.page->begin() + within, kSectorSize, sector.begin());
  return sector;
}

// What a power cut can make of a sector that is being written: noise, zeros, or
// the beginning of the new with the end of noise.
void spoil(Sector& sector, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::uint64_t way = random() % 3;
  const std::size_t from = way == 2 ? random() % kSectorSize : 0;
  for (std::size_t i = from; i < kSectorSize; ++i) {
    sector[i] = way == 1 ? std::byte{0} : static_cast<std::byte>(random());
  }
}

// Applies atoms to an image. Sizes are settled at the end, because data beyond
// the size may come first and become visible later.
class AtomApplier {
 public:
  explicit AtomApplier(DiskImage& image) : image_(image) {}

  void apply(const Atom& atom, const std::optional<std::uint64_t>& garbage_seed = std::nullopt) {
    switch (atom.kind) {
      case Atom::Kind::sector: {
        size_of(atom.node);
        Sector sector = sector_of(atom);
        if (garbage_seed) spoil(sector, *garbage_seed);
        image_.edit(atom.node).content.put_sector(atom.sector_index, sector);
        return;
      }
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

  void apply_names(const Atom& atom) {
    const DiskOp& op = *atom.op;
    switch (op.kind) {
      case OpKind::remove:
        image_.edit(op.place.dir).remove(op.place.name);
        return;
      case OpKind::rename:
        if (!atom.adds_only) image_.edit(op.place.dir).remove(op.place.name);
        image_.edit(op.place2.dir).add(op.place2.name, op.node);
        return;
      case OpKind::exchange:
        image_.edit(op.place.dir).add(op.place.name, op.node2);
        image_.edit(op.place2.dir).add(op.place2.name, op.node);
        return;
      default:  // create, make_dir, link
        image_.edit(op.place.dir).add(op.place.name, op.node);
        return;
    }
  }

  DiskImage& image_;
  std::vector<std::pair<NodeId, std::uint64_t>> sizes_;
};

}  // namespace

bool DiskReplay::step(const DiskOp& op) {
  const Node* node = view_.node(op.node);
  const std::uint64_t old_size = node == nullptr ? 0 : node->content.size();
  if (!apply_op(view_, op)) return false;
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
  pending_.push_back({.kind = Atom::Kind::size,
                      .node = node,
                      .node2 = node,
                      .size = size,
                      .shrinks = size < old_size});
}

void DiskReplay::add_names(const DiskOp& op) {
  Atom atom{.kind = Atom::Kind::names, .node = op.place.dir, .node2 = op.place.dir, .op = &op};
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
  const bool is_dir = view_.node(node)->is_dir;
  if (failed) {
    // File data: the kernel marks the pages clean and forgets them. Names stay in
    // the journal, where a later sync finds them.
    for (Atom& atom : pending_) {
      if (!is_dir && covered(atom)) atom.beyond_sync = true;
    }
    return;
  }
  AtomApplier applier(durable_);
  std::vector<std::uint64_t> sectors;
  bool resized = false;
  for (const Atom& atom : pending_) {
    if (!covered(atom)) continue;
    applier.apply(atom);
    if (atom.kind == Atom::Kind::sector) sectors.push_back(atom.sector_index);
    resized = resized || atom.kind == Atom::Kind::size;
  }
  applier.settle_sizes();
  std::sort(sectors.begin(), sectors.end());
  std::erase_if(pending_, [&](const Atom& atom) {
    if (covered(atom)) return true;
    // An older version that was lost to a failed sync cannot come back over a
    // newer one that is durable.
    if (atom.node != node || !atom.beyond_sync) return false;
    return atom.kind == Atom::Kind::size
               ? resized
               : std::binary_search(sectors.begin(), sectors.end(), atom.sector_index);
  });
}

DiskImage DiskReplay::crash(const CrashChoice& choice) const {
  DiskImage image = durable_;
  AtomApplier applier(image);
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
