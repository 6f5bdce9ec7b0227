#include "store/varve/header_records.h"

#include <fmt/format.h>

#include "base/try.h"
#include "store/varve/save_keys.h"
#include "store/varve/save_tables.h"

namespace varve {
namespace {

// Nullopt if there is none.
using HeaderRecord = Result<std::optional<SaveHeader>>;

HeaderRecord read_record(const ReadView& view, const SaveKey& key) {
  VARVE_ASSIGN(const std::optional<Bytes> frame, view.get(key));
  if (!frame) return std::nullopt;
  VARVE_ASSIGN(const Bytes payload, read_plain_frame(key, *frame));
  VARVE_ASSIGN(const SaveHeader header, decode_save_header(payload));
  return std::optional(header);
}

bool is_good(const HeaderRecord& record) { return record && *record; }

std::string what_is_wrong(std::string_view name, const HeaderRecord& record) {
  if (!record) return record.error().with_context(name).message();
  return fmt::format("{} is missing", name);
}

Error neither(const HeaderRecord& header, const HeaderRecord& copy) {
  return corruption(
      fmt::format("no record says which save this is, since both are lost: {} (key 01); {} (key "
                  "f1); bring back a backup with `varve backup --restore`",
                  what_is_wrong("the header", header), what_is_wrong("its copy", copy)));
}

RecordProblem problem(const std::string& message) {
  return {"the save", corruption(message + "; the next commit writes both again")};
}

}  // namespace

void put_header(WriteBatch& batch, const SaveHeader& header) {
  SaveHeader written = header;
  // Whoever does not know of the copy would leave it behind at an older generation.
  written.features |= kFeatureHeaderCopy;
  const HashedBytes payload(encode_save_header(written));
  batch.put_first(header_key(), plain_frame(header_key(), payload));
  batch.put(header_copy_key(), plain_frame(header_copy_key(), payload));
}

Result<FoundHeader> find_header(const ReadView& view, const SaveHeader& known) {
  const HeaderRecord header = read_record(view, header_key());
  if (is_good(header) && is_same_state(**header, known)) return FoundHeader{**header};
  return find_header(view);
}

Result<FoundHeader> find_header(const ReadView& view) {
  const HeaderRecord header = read_record(view, header_key());
  const HeaderRecord copy = read_record(view, header_copy_key());
  for (const HeaderRecord* record : {&header, &copy}) {
    // Only damage is worked around. What a disk failed to read may be good.
    if (!*record && record->error().code() != ErrorCode::corruption) return record->error();
  }
  if (!is_good(header) && !is_good(copy)) return neither(header, copy);
  FoundHeader found;
  if (!is_good(header)) {
    found.header = **copy;
    found.problems.push_back(problem(what_is_wrong("the header", header) + "; its copy is used"));
    return found;
  }
  found.header = **header;
  const bool wants_copy = (found.header.features & kFeatureHeaderCopy) != 0;
  if (!is_good(copy)) {
    if (!copy || wants_copy) {
      found.problems.push_back(problem(what_is_wrong("the copy of the header", copy)));
    }
  } else if (**copy != found.header) {
    // They are put in one batch, so one of them is older than it should be.
    if ((*copy)->generation > found.header.generation) found.header = **copy;
    found.problems.push_back(problem(
        fmt::format("the header, of generation {}, and its copy, of generation {}, differ; {} is "
                    "used",
                    (*header)->generation, (*copy)->generation,
                    found.header == **copy ? "the copy" : "the header")));
  }
  return found;
}

}  // namespace varve
