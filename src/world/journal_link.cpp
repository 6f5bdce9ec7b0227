#include "world/journal_link.h"

#include <fmt/format.h>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/try.h"
#include "journal/journal_folder.h"

namespace varve {
namespace {

constexpr std::uint8_t kLinkVersion = 1;

Result<JournalLink> decode_link(ByteView data) {
  ByteReader r(data);
  const std::uint8_t version = r.u8();
  JournalLink link;
  for (std::uint8_t& byte : link.id) byte = r.u8();
  link.opening = r.u64_le();
  link.path = as_text(r.rest());
  VARVE_TRY(r.finish("global:varve:journal"));
  if (version != kLinkVersion) {
    return unsupported(fmt::format(
        "global:varve:journal: version {}; this program reads version {}", version, kLinkVersion));
  }
  return link;
}

}  // namespace

Bytes encode_link(const JournalLink& link) {
  ByteWriter out;
  out.u8(kLinkVersion);
  for (const std::uint8_t byte : link.id) out.u8(byte);
  out.u64_le(link.opening);
  out.bytes(as_byte_view(link.path));
  return out.take();
}

Result<std::optional<JournalLink>> read_link(const StoreView& store) {
  VARVE_ASSIGN(const auto data, store.read_global(kJournalGlobal));
  if (!data) return std::optional<JournalLink>();
  VARVE_ASSIGN(JournalLink link, decode_link(*data));
  return std::optional<JournalLink>(std::move(link));
}

}  // namespace varve
