#include "codec/compression.h"

#include <fmt/format.h>

#include <array>
#include <cassert>
#include <cstring>

#include "base/try.h"
#include "codec/deflate.h"
#include "codec/grow_output.h"
#include "codec/lz4.h"
#include "codec/zstd.h"

namespace varve {
namespace {

class NoCompression final : public Compression {
 public:
  NoCompression() : Compression(CompressionId::none, "none") {}

  Status compress(ByteView in, ByteWriter& out) const override {
    out.bytes(in);
    return out.status("none");
  }

  Status decompress_into(ByteView in, std::size_t output_size_limit, Buffer& out) const override {
    if (in.size() > output_size_limit) return over_limit("none", output_size_limit);
    replace_size(out, in.size());
    if (!in.empty()) std::memcpy(out.data(), in.data(), in.size());
    return {};
  }
};

std::unique_ptr<const Compression> make_none(int) { return std::make_unique<NoCompression>(); }

struct Row {
  CompressionId id;
  LevelRange levels;
  std::unique_ptr<const Compression> (*make)(int level);
};

// The one place that knows them all. A row's place is its id.
constexpr Row kRows[] = {
    {CompressionId::none, {0, 0, 0}, make_none},
    {CompressionId::lz4, kLz4Levels, make_lz4},
    {CompressionId::zstd, kZstdLevels, make_zstd},
    {CompressionId::zlib, kDeflateLevels, make_zlib},
    {CompressionId::gzip, kDeflateLevels, make_gzip},
    {CompressionId::deflate, kDeflateLevels, make_deflate},
};
constexpr std::size_t kCount = std::size(kRows);

constexpr bool rows_are_in_order() {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (static_cast<std::size_t>(kRows[i].id) != i) return false;
  }
  return true;
}
static_assert(rows_are_in_order());

const Row& row_of(CompressionId id) noexcept {
  assert(static_cast<std::size_t>(id) < kCount);
  return kRows[static_cast<std::size_t>(id)];
}

// Never destroyed: a background thread may still compress while the program ends.
const std::array<const Compression*, kCount>& instances() noexcept {
  static const auto* const all = [] {
    auto* made = new std::array<const Compression*, kCount>;
    for (std::size_t i = 0; i < kCount; ++i) {
      (*made)[i] = kRows[i].make(kRows[i].levels.standard).release();
    }
    return made;
  }();
  return *all;
}

}  // namespace

Result<Bytes> Compression::decompress(ByteView in, std::size_t output_size_limit) const {
  Buffer out;
  VARVE_TRY(decompress_into(in, output_size_limit, out));
  return freeze_without_slack(std::move(out), output_size_limit);
}

const Compression& compression(CompressionId id) noexcept {
  return *instances()[static_cast<std::size_t>(row_of(id).id)];
}

const Compression* find_compression(std::uint8_t id) noexcept {
  return id < kCount ? instances()[id] : nullptr;
}

const Compression* find_compression(std::string_view name) noexcept {
  for (const Compression* candidate : instances()) {
    if (candidate->name() == name) return candidate;
  }
  return nullptr;
}

std::span<const Compression* const> all_compressions() noexcept { return instances(); }

LevelRange compression_levels(CompressionId id) noexcept { return row_of(id).levels; }

Result<std::unique_ptr<const Compression>> make_compression(CompressionId id, int level) {
  const Row& row = row_of(id);
  if (level < row.levels.min || level > row.levels.max) {
    return invalid_argument(fmt::format("{}: level {} is outside {} to {}", compression(id).name(),
                                        level, row.levels.min, row.levels.max));
  }
  return row.make(level);
}

}  // namespace varve
