// The two records of a save that hold its header. They are put together, one before and one behind
// everything else of a batch, so that damage to a part of it leaves one of them.
#pragma once

#include <cstddef>
#include <vector>

#include "store/varve/save_header.h"
#include "varve/backend.h"
#include "varve/store.h"

namespace varve {

inline constexpr std::size_t kHeaderRecordCount = 2;

// Puts both around what the batch has already.
void put_header(WriteBatch& batch, const SaveHeader& header);

struct FoundHeader {
  SaveHeader header;
  // What is wrong with the records. The header can be used all the same.
  std::vector<RecordProblem> problems = {};

  // Whether both are there and good. A save no program that knows of the copy has written to yet
  // has one, and nothing is wrong with it.
  bool has_both() const noexcept {
    return problems.empty() && (header.features & kFeatureHeaderCopy) != 0;
  }
};

// corruption, with what to do, if neither can be used; unsupported if either is of a newer program.
Result<FoundHeader> find_header(const ReadView& view);
// For whoever knows which header counted before: where that is still there, the copy is not looked
// at.
Result<FoundHeader> find_header(const ReadView& view, const SaveHeader& known);

}  // namespace varve
