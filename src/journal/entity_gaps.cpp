#include "journal/entity_gaps.h"

#include <algorithm>
#include <bit>

#include "base/endian.h"
#include "codec/varint.h"

namespace varve::journal {
namespace {

constexpr std::uint64_t kIndexMax = 0xffff'ffff;

// 0: the gaps are too small for bits.
unsigned low_bits_for(std::uint64_t last_index, std::size_t count) noexcept {
  const auto width = static_cast<unsigned>(std::bit_width(last_index / count));
  return width > kGapBitsMin ? width - 1 : 0;
}

// What the gaps take in either spelling.
struct Sizes {
  explicit Sizes(unsigned low_bits) noexcept : low_bits_(low_bits) {}

  void add(std::uint64_t gap) noexcept {
    varints_size += varint_size(gap);
    bit_count += (gap >> low_bits_) + 1 + low_bits_;
  }
  bool prefers_bits() const noexcept { return low_bits_ != 0 && bits_size() < varints_size; }
  std::size_t bits_size() const noexcept { return static_cast<std::size_t>((bit_count + 7) / 8); }

  std::size_t varints_size = 0;
  std::uint64_t bit_count = 0;

 private:
  unsigned low_bits_;
};

class BitWriter {
 public:
  explicit BitWriter(std::span<std::byte> out) noexcept : out_(out) {
    std::fill(out.begin(), out.end(), std::byte{0});
  }
  // The lowest `count` bits of `bits`, at most 32, the rest of which are 0.
  void put(std::uint64_t bits, unsigned count) noexcept {
    bits <<= at_ % 8;
    for (std::size_t i = at_ / 8; bits != 0; ++i, bits >>= 8)
      out_[i] |= static_cast<std::byte>(bits);
    at_ += count;
  }
  void put_ones(std::uint64_t count) noexcept {
    for (; count > 32; count -= 32) put(0xffff'ffff, 32);
    put((std::uint64_t{1} << count) - 1, static_cast<unsigned>(count));
  }

 private:
  std::span<std::byte> out_;
  std::size_t at_ = 0;
};

// Behind the end there are zeros: whoever reads them finds out by bits_read().
class BitReader {
 public:
  explicit BitReader(ByteView in) noexcept : in_(in) {}

  std::uint64_t bits_read() const noexcept { return at_; }
  // At most 32.
  std::uint64_t get(unsigned count) noexcept {
    const std::uint64_t bits = window() & ((std::uint64_t{1} << count) - 1);
    at_ += count;
    return bits;
  }
  // How many ones there are before the next zero, which is read too. Stops beyond `max`.
  std::uint64_t get_ones(std::uint64_t max) noexcept {
    std::uint64_t total = 0;
    for (;;) {
      // A window has at least this many bits.
      constexpr int kSure = 57;
      const int ones = std::min(std::countr_one(window()), kSure);
      at_ += static_cast<std::uint64_t>(ones);
      total += static_cast<std::uint64_t>(ones);
      if (ones < kSure || total > max) break;
    }
    ++at_;
    return total;
  }

 private:
  std::uint64_t window() const noexcept {
    const auto byte = static_cast<std::size_t>(at_ / 8);
    std::uint64_t bits = 0;
    if (byte + sizeof bits <= in_.size()) {
      bits = load_le<std::uint64_t>(in_.data() + byte);
    } else {
      for (std::size_t i = byte; i < in_.size(); ++i) {
        bits |= std::to_integer<std::uint64_t>(in_[i]) << 8 * (i - byte);
      }
    }
    return bits >> at_ % 8;
  }

  ByteView in_;
  std::uint64_t at_ = 0;
};

template <class Visit>
void for_each_gap(std::span<const EntityId> entities, Visit visit) {
  std::uint64_t previous = 0;
  for (const EntityId entity : entities) {
    const std::uint64_t index = entity_index(entity);
    visit(index - previous);
    previous = index;
  }
}

void read_varints(ByteReader& in, std::span<EntityId> out) {
  std::uint64_t index = 0;
  for (EntityId& entity : out) {
    index += minimal_varint(in, kIndexMax);
    if (index > kIndexMax) in.fail("an index above its limit");
    if (!in.ok()) return;
    entity = index;
  }
}

void read_bits(ByteReader& in, unsigned low_bits, std::span<EntityId> out) {
  const ByteView rest = ByteReader(in).rest();
  BitReader bits(rest);
  std::uint64_t index = 0;
  for (EntityId& entity : out) {
    const std::uint64_t ones = bits.get_ones(kIndexMax >> low_bits);
    index += (ones << low_bits) + bits.get(low_bits);
    if (index > kIndexMax) return in.fail("an index above its limit");
    entity = index;
  }
  if (bits.bits_read() > 8 * std::uint64_t{rest.size()}) return in.fail("short read");
  const auto used_size = static_cast<std::size_t>((bits.bits_read() + 7) / 8);
  const auto tail = static_cast<unsigned>(bits.bits_read() % 8);
  if (tail != 0 && std::to_integer<unsigned>(rest[used_size - 1]) >> tail != 0) {
    return in.fail("bits behind the last gap");
  }
  in.skip(used_size);
}

}  // namespace

void write_gaps(std::span<const EntityId> entities, ByteWriter& out) {
  const unsigned low_bits = low_bits_for(entity_index(entities.back()), entities.size());
  Sizes sizes(low_bits);
  for_each_gap(entities, [&](std::uint64_t gap) { sizes.add(gap); });
  if (!sizes.prefers_bits()) {
    out.u8(0);
    for_each_gap(entities, [&](std::uint64_t gap) { out.varint(gap); });
    return;
  }
  out.u8(static_cast<std::uint8_t>(low_bits));
  const auto to = out.extend(sizes.bits_size());
  if (to.empty()) return;  // It overflowed.
  BitWriter bits(to);
  for_each_gap(entities, [&](std::uint64_t gap) {
    bits.put_ones(gap >> low_bits);
    bits.put((gap & ((std::uint64_t{1} << low_bits) - 1)) << 1, low_bits + 1);
  });
}

void read_gaps(ByteReader& in, std::size_t count, std::vector<EntityId>& out) {
  const std::uint8_t low_bits = in.u8();
  if (low_bits != 0 && (low_bits < kGapBitsMin || low_bits > 31)) in.fail("gaps of no width");
  if (!in.ok()) return;
  const std::size_t start = out.size();
  out.resize(start + count);
  const auto read = std::span(out).subspan(start);
  if (low_bits == 0) {
    read_varints(in, read);
  } else {
    read_bits(in, low_bits, read);
  }
  if (!in.ok()) return;
  const unsigned expected = low_bits_for(read.back(), count);
  Sizes sizes(expected);
  for_each_gap(read, [&](std::uint64_t gap) { sizes.add(gap); });
  if (low_bits != (sizes.prefers_bits() ? expected : 0)) in.fail("gaps in another spelling");
}

}  // namespace varve::journal
