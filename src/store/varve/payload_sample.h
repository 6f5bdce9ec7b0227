// A guess at how a payload compresses, from a small part of it. For the files of this folder.
#pragma once

#include <cstddef>

#include "store/varve/payload_workspace.h"
#include "varve/bytes.h"

namespace varve {

struct PayloadSample {
  // Whether LZ4 makes less of the sample when it is split into planes.
  bool prefers_planes = false;
  // What LZ4 would make of the whole payload, the better way. Repeats that are further apart than
  // the sample is long are not seen, so it is rather too much.
  std::size_t expected_size = 0;
};

// Whether the bytes of a payload look as if drawn at random, which a few hundred of them tell. So
// may those of one that compresses well; few others do.
bool looks_like_noise(ByteView payload) noexcept;

// Compresses a few stretches of the payload, 1 to 8 KiB in sum and a 128th of it where it is large,
// as they are and, if `stride` is 2 or more, in planes. Uses the planes and the attempt of the
// workspace.
PayloadSample sample_payload(ByteView payload, std::size_t stride,
                             const PayloadWorkspace& workspace);

}  // namespace varve
