#include <algorithm>

#include "base/byte_writer.h"
#include "base/try.h"
#include "journal/history_blob.h"
#include "journal/history_blob_layout.h"

namespace varve::journal {
namespace {

// Offsets have 32 bits.
constexpr std::size_t kBlobSizeMax = 0xffff'ffff;

template <class Map>
std::vector<typename Map::const_pointer> by_key(const Map& map) {
  std::vector<typename Map::const_pointer> rows;
  rows.reserve(map.size());
  for (const auto& each : map) rows.push_back(&each);
  std::sort(rows.begin(), rows.end(), [](auto a, auto b) { return a->first < b->first; });
  return rows;
}

class BlobWriter {
 public:
  // A name, and where it lies.
  std::uint32_t name(std::string_view text) {
    const auto at = static_cast<std::uint32_t>(names_.size());
    names_.u8(static_cast<std::uint8_t>(text.size()));
    names_.text(text);
    return at;
  }
  // A list of ticks, and where it lies.
  std::uint32_t ticks(const Touched::Ticks& ticks) {
    const auto at = static_cast<std::uint32_t>(postings_.size());
    postings_.varint(ticks.size());
    std::uint32_t before = 0;
    for (const std::uint32_t tick : ticks) {
      postings_.varint(tick - before);
      before = tick;
    }
    return at;
  }

  void spaces_and_chunks(const Touched& touched) {
    const auto rows = by_key(touched.chunks);
    std::optional<Space> last;
    for (const auto* each : rows) {
      if (last != each->first.space) {
        last = each->first.space;
        rows_.u32_le(name(last->name()));
        ++counts_[0];
      }
    }
    last.reset();
    std::uint32_t space_number = 0;
    for (const auto* each : rows) {
      const ChunkPos& pos = each->first;
      if (last && *last != pos.space) ++space_number;
      last = pos.space;
      rows_.u32_le(space_number);
      rows_.u32_le(pos.coordinate_count);
      for (const std::int32_t coordinate : pos.coordinates) rows_.i32_le(coordinate);
      rows_.u32_le(ticks(each->second));
    }
    counts_[1] = rows.size();
  }
  void entities(const Touched& touched) {
    for (const auto* each : by_key(touched.entities)) {
      rows_.u64_le(each->first);
      rows_.u32_le(ticks(each->second));
    }
    counts_[2] = touched.entities.size();
  }
  void named(const std::map<std::string, Touched::Ticks, std::less<>>& map, std::size_t number) {
    for (const auto& [text, list] : map) {
      rows_.u32_le(name(text));
      rows_.u32_le(ticks(list));
    }
    counts_[number] = map.size();
  }
  void singletons(const Touched& touched) {
    for (const auto& [id, list] : touched.singletons) {
      rows_.u32_le(id);
      rows_.u32_le(ticks(list));
    }
    counts_[5] = touched.singletons.size();
  }

  Result<Bytes> take(const Stretch& stretch) {
    ByteWriter out(kBlobSizeMax);
    out.reserve(kHistoryHeadSize + rows_.size() + names_.size() + postings_.size());
    out.text(kHistoryMagic);
    out.u32_le(kHistoryVersion);
    out.u64_le(stretch.first_tick);
    out.u64_le(stretch.tick_count);
    for (const std::size_t count : counts_) out.u32_le(static_cast<std::uint32_t>(count));
    out.u32_le(static_cast<std::uint32_t>(names_.size()));
    out.u32_le(static_cast<std::uint32_t>(postings_.size()));
    for (const ByteWriter* part : {&rows_, &names_, &postings_}) {
      if (!part->ok()) out.fail();
      out.bytes(part->view());
    }
    VARVE_TRY(out.status("index of history"));
    return out.take();
  }

 private:
  ByteWriter rows_{kBlobSizeMax};
  ByteWriter names_{kBlobSizeMax};
  ByteWriter postings_{kBlobSizeMax};
  std::array<std::size_t, kTouchedKindCount + 1> counts_ = {};
};

}  // namespace

Result<Bytes> encode_history(const Stretch& stretch, const Touched& touched) {
  BlobWriter writer;
  writer.spaces_and_chunks(touched);
  writer.entities(touched);
  writer.named(touched.players, 3);
  writer.named(touched.globals, 4);
  writer.singletons(touched);
  return writer.take(stretch);
}

}  // namespace varve::journal
