#include "journal/positions.h"

#include <algorithm>
#include <limits>

#include "codec/varint.h"
#include "journal/columns.h"

namespace varve::journal {
namespace {

constexpr std::uint64_t kAsBefore = 0;
constexpr std::uint64_t kNowhere = 1;
constexpr std::uint64_t kFirstKind = 2;

bool is_same_kind(const std::optional<ChunkPos>& a, const std::optional<ChunkPos>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->space == b->space && a->coordinate_count == b->coordinate_count;
}

}  // namespace

void PositionWriter::write(const std::optional<ChunkPos>& pos) {
  if (is_same_kind(pos, previous_)) {
    out_.varint(kAsBefore);
  } else if (!pos) {
    out_.varint(kNowhere);
  } else {
    const auto [number, is_new] = spaces_.number_of(pos->space);
    out_.varint(kFirstKind + 4 * number + pos->coordinate_count - 1u);
    if (is_new) write_name(pos->space.name(), out_);
    previous_ = ChunkPos();
  }
  if (pos) {
    for (std::size_t axis = 0; axis < pos->coordinate_count; ++axis) {
      out_.zigzag(std::int64_t{(*pos)[axis]} - (*previous_)[axis]);
    }
  }
  previous_ = pos;
}

// Makes previous_ the beginning of its space.
void PositionReader::read_kind(std::uint64_t kind) {
  const std::uint64_t number = (kind - kFirstKind) / 4;
  if (number == spaces_.size()) {
    const std::string_view name = as_text(in_.bytes(minimal_varint(in_, kNameSizeMax)));
    const Result<Space> space = Space::named(name);
    if (!in_.ok()) return;
    if (!space) return in_.fail("a bad name of a space, or one space too many");
    if (std::find(spaces_.begin(), spaces_.end(), *space) != spaces_.end()) {
      return in_.fail("a space with two numbers");
    }
    spaces_.push_back(*space);
  }
  ChunkPos start;
  start.space = spaces_[static_cast<std::size_t>(number)];
  start.coordinate_count = static_cast<std::uint8_t>((kind - kFirstKind) % 4 + 1);
  if (is_same_kind(start, previous_)) return in_.fail("a space that is the one before");
  previous_ = start;
}

std::optional<ChunkPos> PositionReader::read() {
  const std::uint64_t kind = minimal_varint(in_, kFirstKind + 4 * spaces_.size() + 3);
  if (in_.ok() && kind == kNowhere) {
    if (!previous_) in_.fail("nowhere, as before");
    previous_.reset();
  } else if (in_.ok() && kind != kAsBefore) {
    read_kind(kind);
  }
  if (!in_.ok() || !previous_) return std::nullopt;
  for (std::size_t axis = 0; axis < previous_->coordinate_count; ++axis) {
    // Two coordinates differ by less than 2^32.
    const std::uint64_t difference = minimal_varint(in_, (std::uint64_t{1} << 33) - 1);
    const auto half = static_cast<std::int64_t>(difference >> 1);
    const std::int64_t to = (*previous_)[axis] + ((difference & 1) == 0 ? half : -half - 1);
    if (to < std::numeric_limits<std::int32_t>::min() ||
        to > std::numeric_limits<std::int32_t>::max()) {
      in_.fail("a coordinate above its limit");
    }
    if (!in_.ok()) return std::nullopt;
    previous_->coordinates[axis] = static_cast<std::int32_t>(to);
  }
  return previous_;
}

ChunkPos PositionReader::read_somewhere() {
  const auto pos = read();
  if (in_.ok() && !pos) in_.fail("a chunk that is nowhere");
  return pos.value_or(ChunkPos());
}

}  // namespace varve::journal
