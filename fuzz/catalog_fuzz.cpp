// Invariants checked: no input reads out of bounds; a refusal is corruption or a version of
// the future; every file that is listed lies where a file of the save may lie; and what was
// read, written as one record, is read as the same.
//
// A checksum that does not fit ends the look at a record at once, and no mutation finds
// one that does. So each input is also checked with its records' sizes and checksums made
// to fit.
#include "store/nebula/catalog.h"

#include <algorithm>

#include "base/byte_writer.h"
#include "base/endian.h"
#include "fuzz_target.h"
#include "varve/checksum.h"

namespace varve::fuzz {
namespace {

using namespace nebula;  // NOLINT(google-build-using-namespace)

constexpr std::size_t kHeaderSize = 32;

void check_index(const SaveIndex& index) {
  const SaveLayout layout("save");
  index.visit([&](const RecordKey& key, const FileEntry& entry) {
    VARVE_INVARIANT(entry.id.version <= index.sequence);
    const std::string file = layout.file(key);
    VARVE_INVARIANT(file.starts_with("save/") && file.find("/..") == std::string::npos);
    VARVE_INVARIANT(file.find("varve/") == std::string::npos);
    return true;
  });
}

bool check_catalog(ByteView in) {
  const auto catalog = decode_catalog(in);
  if (!catalog) {
    const ErrorCode code = catalog.error().code();
    VARVE_INVARIANT(code == ErrorCode::corruption || code == ErrorCode::unsupported);
    return false;
  }
  VARVE_INVARIANT(catalog->end.offset % kRecordAlignment == 0);
  check_index(catalog->index);
  const auto written = encode_record(whole_record(catalog->index, {}), 0);
  VARVE_INVARIANT(written);
  const auto again = decode_catalog(*written);
  VARVE_INVARIANT(again && !again->has_torn_tail && !again->damaged_offset);
  VARVE_INVARIANT(again->index.sequence == catalog->index.sequence);
  VARVE_INVARIANT(again->index.tick == catalog->index.tick);
  VARVE_INVARIANT(again->index.generator == catalog->index.generator);
  VARVE_INVARIANT(again->index.file_count() == catalog->index.file_count());
  catalog->index.visit([&](const RecordKey& key, const FileEntry& entry) {
    const FileEntry* same = again->index.find(key);
    VARVE_INVARIANT(same != nullptr && *same == entry);
    return true;
  });
  return true;
}

// The input as one record at the beginning of a file: a kind, a sequence and a body.
Bytes as_record(ByteView in) {
  ByteWriter out;
  out.text("NVCT");
  out.u8(1);
  out.u8(in.empty() ? 0 : static_cast<std::uint8_t>(in[0]) % 4);
  out.u16_le(0);
  out.u64_le(in.size() < 2 ? 0 : static_cast<std::uint64_t>(in[1]));
  const ByteView body = in.subspan(std::min<std::size_t>(in.size(), 2));
  out.u64_le(body.size());
  out.u64_le(xxh3(body, xxh3(out.view().first(24), 0)));
  out.bytes(body);
  out.align(kRecordAlignment);
  return out.take();
}

// The input with the checksum of every record made to fit.
Bytes mended(ByteView in) {
  Buffer file = Bytes::copy_of(in).clone();
  for (std::size_t offset = 0; offset + kHeaderSize <= file.size(); offset += kRecordAlignment) {
    std::byte* const record = file.data() + offset;
    const std::uint64_t room = file.size() - offset - kHeaderSize;
    const std::uint64_t size = std::min(load_le<std::uint64_t>(record + 16), room);
    store_le<std::uint64_t>(record + 16, size);
    const std::uint64_t head = xxh3(ByteView(record, 24), offset);
    store_le<std::uint64_t>(record + 24, xxh3(ByteView(record + kHeaderSize, size), head));
  }
  return std::move(file).freeze();
}

}  // namespace

bool check_input(ByteView in) {
  const bool is_accepted = check_catalog(in);
  const bool is_body = check_catalog(as_record(in));
  return check_catalog(mended(in)) || is_accepted || is_body;
}

std::vector<std::string> seeds() {
  using namespace std::string_literals;
  const auto file_of = [](const std::vector<CatalogRecord>& records) {
    std::string file;
    for (const CatalogRecord& record : records) {
      file += encode_record(record, file.size()).value().text();
    }
    return file;
  };
  const RecordKey chunk{.kind = RecordKind::chunk, .pos = {1, -5, 300, 2}};
  const RecordKey player{.kind = RecordKind::player, .name = "../ann"};
  const CatalogRecord first{.kind = CatalogRecordKind::whole,
                            .sequence = 3,
                            .generation = 2,
                            .tick = 9,
                            .generator = GeneratorId{"hills", 1},
                            .changes = {{chunk, FileEntry{.id = {3, 0}, .checksum = 77}},
                                        {scene_key(), FileEntry{.checked = false}}}};
  const CatalogRecord second{
      .sequence = 5,
      .changes = {{chunk, std::nullopt}, {player, FileEntry{.id = {5, 1}, .placeholder = true}}}};
  return {
      // As as_record() takes them apart.
      "\0\3\1\2\0\0"s,
      "\0\4\1\2\1\1g\1\2\0\1\2\4\0\1\2\3\7\x22\1a\0\0"s,
      file_of({first}),
      file_of({first, second}),
  };
}

}  // namespace varve::fuzz
