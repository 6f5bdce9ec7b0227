// What changed between two buffers, as runs of cells.
//
// Format, all integers LEB128:
//
//   target_size, cell_size, run_count
//   gap x run_count      cells left alone before each run
//   length x run_count   cells in each run
//   bytes                the changed cells of all runs, one after the other
//
// Each kind of field stands together, so that LZ4 or zstd over the delta makes
// next to nothing of the lengths (nearly all 1 in scattered edits) and the gaps.
//
// Before it is compared or patched, the base is brought to the target's size: cut,
// or continued with zeros. The last cell may be cut short by the end of the target.
//
// A delta is valid if and only if 1 <= cell_size <= 4096, every length is at least
// 1, every gap but the first is at least 1, all runs lie inside the target, and the
// changed bytes are exactly as many as the runs cover. It carries no checksum.
//
// Worked example: base 00 11 22 33 44 55 66 77, target the same with 33 -> aa and
// 77 -> bb, cell_size 1: `08 01 02 | 03 03 | 01 01 | aa bb`.
#pragma once

#include <cstddef>

#include "base/byte_writer.h"
#include "varve/bytes.h"
#include "varve/result.h"

namespace varve {

inline constexpr std::size_t kDeltaCellSizeMax = 4096;

// Appends the delta that turns `base` into `target`. Runs are joined across a gap
// where spelling out the gap is no larger than a second run. 1, 2, 4 and 8 are fast
// cell sizes; one outside 1..4096 is invalid_argument.
Status encode_sparse_delta(ByteView base, ByteView target, std::size_t cell_size, ByteWriter& out);

// The target. A delta that is not valid is corruption, as is a target larger than
// `output_size_limit`; neither allocates more than the limit.
Result<Bytes> apply_sparse_delta(ByteView base, ByteView delta, std::size_t output_size_limit);

// The same into a buffer that is used again; indeterminate after a failure. Neither
// `base` nor `delta` may lie in `out`, whose old contents are dropped first.
Status apply_sparse_delta_into(ByteView base, ByteView delta, std::size_t output_size_limit,
                               Buffer& out);

}  // namespace varve
