// Payloads as the varve store keeps them: each in a frame that says how it is to be read.
// docs/formats/varve_v1.md#payload has every byte.
//
// A frame is bound to its key: under another one it does not pass. It can be read as long as
// the save has the dictionary it names and, if it is a delta, the generator is at hand in the same
// version. Bytes may come from anywhere: sizes are checked before memory is taken.
//
// Thread safety: everything here may be used from any number of threads at once. Working memory
// belongs to the calling thread and is used again. Where memory runs out, std::bad_alloc is
// thrown, for the store to turn into an error at its edge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/byte_writer.h"
#include "store/varve/payload_frame.h"
#include "store/varve/payload_info.h"
#include "store/varve/payload_sources.h"
#include "varve/bytes.h"
#include "varve/result.h"
#include "varve/varve_store.h"

namespace varve {

// --- Writing -------------------------------------------------------------------------

// What the generator makes of the record's position, and its number in the save's table.
struct PayloadBase {
  std::uint32_t generator_number = 0;
  ByteView payload = {};
};

// Makes frames, choosing for each payload the smallest encoding its speed class can afford to
// look for. docs/ARCHITECTURE.md says why it looks for them this way.
//
//   up to 4 KiB      everything the class has is tried
//   above            whether to split planes is decided by a sample of at most 8 KiB, and then
//                    the class's compression is used; with a dictionary also that one, up to 64
//                    KiB; and LZ4 where zstd makes next to nothing of a payload
//   small            everything is tried at any size
//   with a base      a delta is tried, and kept if it is the smaller; the whole payload is not even
//                    tried where the sample says that it would be four times as large
//
// What does not become smaller by 1/8 (fast), 1/16 (balanced) or 1/64 (small) is stored as it is:
// it is read without a copy then.
//
// The same payload, base and settings give the same bytes, on any thread, as long as the
// compression libraries stay the same.
class PayloadEncoder {
 public:
  struct Settings {
    SpeedClass speed = SpeedClass::fast;
    std::size_t cell_size = 0;                                      // as in VarveOptions
    std::shared_ptr<const PayloadDictionary> dictionary = nullptr;  // unused by raw and fast
  };

  // invalid_argument for a cell above 255 bytes.
  static Result<PayloadEncoder> make(Settings settings);

  // Appends the frame of `payload`. `base` may be null. A payload above kPayloadSizeMax, and a
  // writer without room, is invalid_argument; every failure leaves in `out` what was there before.
  Status encode(ByteView key, ByteView payload, const PayloadBase* base, ByteWriter& out) const;

  // The same without a copy of a larger payload that is to be stored as it is. False, with nothing
  // appended: the payload is the rest of a frame that begins with raw_start().
  Result<bool> encode_unless_apart(ByteView key, ByteView payload, const PayloadBase* base,
                                   ByteWriter& out) const;
  FrameStart raw_start(ByteView key, const HashedBytes& payload,
                       const PayloadBase* base) const noexcept;
  // Whether encode_unless_apart() would return false without a look at the payload.
  bool leaves_as_is(std::size_t payload_size) const noexcept {
    return settings_.speed == SpeedClass::raw && may_be_apart(payload_size) &&
           payload_size <= kPayloadSizeMax;
  }

 private:
  // Less is copied sooner than it is kept apart.
  static constexpr std::size_t kApartSizeMin = 1 << 10;
  static bool may_be_apart(std::size_t payload_size) noexcept {
    return payload_size >= kApartSizeMin;
  }
  class Choice;
  static Status check(ByteView payload);
  explicit PayloadEncoder(Settings settings);
  std::uint16_t recipe(const PayloadBase* base) const noexcept;

  Settings settings_;
  std::shared_ptr<const Compression> zstd_;             // null where the class has none
  std::shared_ptr<const Compression> zstd_dictionary_;  // null where there is none to be used
  std::uint64_t recipe_hash_ = 0;
};

// --- Reading -------------------------------------------------------------------------

// The payload. What was stored as it is comes without a copy, as a part of `frame`.
//
// corruption: the bytes are damaged, or belong to another key, or the save has lost the dictionary
// or the name of the generator they need. unsupported: they are good, but made by a newer version,
// with another dictionary than the one of that number, or against another generator, another
// version of it or one that makes other payloads than it did. The message says which generator is
// needed and what to do. Errors of `generate` are passed on.
Result<Bytes> decode_payload(ByteView key, const Bytes& frame, const PayloadSources& sources);

// What the head says, for listings. The first kFrameHeadSizeMax bytes of a frame are enough, and
// the checksum is not compared: a damaged frame may tell anything that is within the limits.
Result<PayloadInfo> inspect_payload(ByteView frame);

// Whether a frame of which `head` is the beginning, kFrameHeadSizeMax bytes or all of it, holds
// another payload than `fresh` for sure, found under the same key. False says nothing.
bool is_other_payload(ByteView head, ByteView fresh);

// Whether `stored`, found under `key`, holds `payload`, from which `fresh` has just been made under
// that key: then there is nothing to write. Almost always told without decoding:
//
// - Frames that are equal hold the same.
// - Frames that differ, but have the same recipe, do not: encoding is deterministic.
// - Payloads of different sizes differ.
//
// Only what was stored with other settings is decoded and compared, once. That is why there is
// no hash of the payload in a frame that compresses it: it would be a pass over all bytes, some 4 %
// of the time LZ4 takes for a large chunk, and since a hash that fits proves nothing, the bytes
// would have to be compared in the end all the same.
//
// A mistake can only be "no", and cost a write: where a recipe, which has 16 bits, is the same for
// other settings, or where `stored` is damaged behind its head. An error says that `stored` could
// not be read, which is no reason not to replace it.
Result<bool> holds_payload(ByteView key, const Bytes& stored, ByteView fresh, ByteView payload,
                           const PayloadSources& sources);

}  // namespace varve
