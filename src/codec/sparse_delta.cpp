#include "codec/sparse_delta.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "base/byte_reader.h"
#include "base/endian.h"
#include "base/try.h"
#include "codec/grow_output.h"
#include "codec/varint.h"

namespace varve {
namespace {

struct Run {
  std::size_t gap;
  std::size_t length;
};

// Fits `base` to `size` in place of `out`'s contents.
void fit_base(ByteView base, std::size_t size, Buffer& out) {
  replace_size(out, size);
  const std::size_t kept = std::min(base.size(), size);
  if (kept != 0) std::memcpy(out.data(), base.data(), kept);
  if (kept != size) std::memset(out.data() + kept, 0, size - kept);
}

// Collects the runs of cells in which two buffers of one size differ.
class RunFinder {
 public:
  RunFinder(ByteView base, ByteView target, std::size_t cell_size)
      : base_(base.data()), target_(target.data()), size_(target.size()), cell_size_(cell_size) {}

  std::vector<Run> find() {
    switch (cell_size_) {
      case 1:
        return find_with([this](std::size_t at) { return differs<std::uint8_t>(at); });
      case 2:
        return find_with([this](std::size_t at) { return differs<std::uint16_t>(at); });
      case 4:
        return find_with([this](std::size_t at) { return differs<std::uint32_t>(at); });
      case 8:
        return find_with([this](std::size_t at) { return differs<std::uint64_t>(at); });
      default:
        return find_with([this](std::size_t at) {
          return std::memcmp(base_ + at, target_ + at, cell_size_) != 0;
        });
    }
  }

 private:
  template <class T>
  bool differs(std::size_t at) const {
    return load_le<T>(base_ + at) != load_le<T>(target_ + at);
  }

  std::uint64_t difference(std::size_t at) const {
    return load_le<std::uint64_t>(base_ + at) ^ load_le<std::uint64_t>(target_ + at);
  }

  // The first byte at or after `at` that differs, or the end. Most of a chunk is
  // equal, so this is where the time goes: 32 bytes a step.
  std::size_t next_difference(std::size_t at) const {
    for (; at + 32 <= size_; at += 32) {
      if ((difference(at) | difference(at + 8) | difference(at + 16) | difference(at + 24)) != 0) {
        break;
      }
    }
    for (; at + 8 <= size_; at += 8) {
      const std::uint64_t bits = difference(at);
      if (bits != 0) return at + static_cast<std::size_t>(std::countr_zero(bits)) / 8;
    }
    while (at < size_ && base_[at] == target_[at]) ++at;
    return at;
  }

  template <class Differs>
  std::vector<Run> find_with(Differs cell_differs) {
    std::size_t after_last = 0;  // in cells
    for (std::size_t at = next_difference(0); at < size_; at = next_difference(at)) {
      const std::size_t start = at - at % cell_size_;
      at = start + cell_size_;
      while (at + cell_size_ <= size_ && cell_differs(at)) at += cell_size_;
      // What is left is less than a cell: compare it here, where nothing reads past it.
      if (at < size_ && at + cell_size_ > size_ &&
          std::memcmp(base_ + at, target_ + at, size_ - at) != 0) {
        at = size_;
      }
      at = std::min(at, size_);
      const std::size_t end = (at + cell_size_ - 1) / cell_size_;
      append({start / cell_size_ - after_last, end - start / cell_size_});
      after_last = end;
    }
    return std::move(runs_);
  }

  void append(Run run) {
    if (!runs_.empty()) {
      const std::size_t joined = runs_.back().length + run.gap + run.length;
      const std::size_t size_apart =
          varint_size(runs_.back().length) + varint_size(run.gap) + varint_size(run.length);
      if (varint_size(joined) + run.gap * cell_size_ <= size_apart) {
        runs_.back().length = joined;
        return;
      }
    }
    runs_.push_back(run);
  }

  const std::byte* base_;
  const std::byte* target_;
  std::size_t size_;
  std::size_t cell_size_;
  std::vector<Run> runs_;
};

}  // namespace

Status encode_sparse_delta(ByteView base, ByteView target, std::size_t cell_size, ByteWriter& out) {
  if (cell_size == 0 || cell_size > kDeltaCellSizeMax) {
    return invalid_argument(
        fmt::format("delta: a cell of {} bytes is outside 1 to {}", cell_size, kDeltaCellSizeMax));
  }
  Buffer extended;  // Only where the target is the longer.
  if (base.size() < target.size()) {
    fit_base(base, target.size(), extended);
    base = extended.view();
  }
  const std::vector<Run> runs = RunFinder(base, target, cell_size).find();
  out.varint(target.size());
  out.varint(cell_size);
  out.varint(runs.size());
  for (const Run& run : runs) out.varint(run.gap);
  for (const Run& run : runs) out.varint(run.length);
  std::size_t cell = 0;
  for (const Run& run : runs) {
    const std::size_t start = (cell + run.gap) * cell_size;
    cell += run.gap + run.length;
    out.bytes(target.subspan(start, std::min(cell * cell_size, target.size()) - start));
  }
  return out.status("delta");
}

Status apply_sparse_delta_into(ByteView base, ByteView delta, std::size_t output_size_limit,
                               Buffer& out) {
  ByteReader r(delta);
  const std::uint64_t target_size = r.varint();
  const std::uint64_t cell_size = r.varint(kDeltaCellSizeMax);
  if (cell_size == 0) r.fail("cell size 0");
  // A run takes a gap, a length and a changed byte at the least.
  const std::size_t run_count = r.count(r.varint(), 3);
  VARVE_TRY(r.status("delta"));
  if (target_size > output_size_limit) return over_limit("delta", output_size_limit);

  const std::uint64_t cell_count = target_size / cell_size + (target_size % cell_size != 0);
  // Gaps and lengths are read side by side, so the place of the lengths is found
  // first. Both are bounded by the cell count, so that their sum cannot overflow.
  ByteReader gaps = r;
  for (std::size_t i = 0; i < run_count; ++i) r.varint(cell_count);
  ByteReader lengths = r;
  for (std::size_t i = 0; i < run_count; ++i) r.varint(cell_count);
  VARVE_TRY(r.status("delta"));

  fit_base(base, static_cast<std::size_t>(target_size), out);
  std::uint64_t cell = 0;
  for (std::size_t i = 0; i < run_count; ++i) {
    const std::uint64_t gap = gaps.varint();
    const std::uint64_t length = lengths.varint();
    if (length == 0 || (gap == 0 && i != 0)) r.fail("empty run or gap");
    if (gap > cell_count - cell || length > cell_count - cell - gap) {
      r.fail("run past the end of the target");
    }
    if (!r.ok()) break;
    const std::uint64_t start = (cell + gap) * cell_size;
    cell += gap + length;
    const ByteView changed = r.bytes(std::min(cell * cell_size, target_size) - start);
    if (!changed.empty()) std::memcpy(out.data() + start, changed.data(), changed.size());
  }
  return r.finish("delta");
}

Result<Bytes> apply_sparse_delta(ByteView base, ByteView delta, std::size_t output_size_limit) {
  Buffer out;
  VARVE_TRY(apply_sparse_delta_into(base, delta, output_size_limit, out));
  return std::move(out).freeze();  // Of exactly its size.
}

}  // namespace varve
