// What frames refer to by number: the dictionaries of a save, and the generators its deltas were
// made against. The store keeps both in the save; here is what it makes of them once they are read.
//
// Thread safety: an object that does not change may be read by any number of threads. All are
// cheap to copy: a store that is read while it learns a dictionary changes a copy and swaps it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "codec/zstd.h"
#include "varve/bytes.h"
#include "varve/result.h"
#include "varve/store.h"

namespace varve {

// --- Dictionaries --------------------------------------------------------------------

// Chunks above this size have enough of their own to refer to: a dictionary no longer pays. They
// are neither learned from nor tried with one, except where being small is everything.
inline constexpr std::size_t kDictionaryPayloadSizeMax = 64 << 10;
inline constexpr std::size_t kDictionarySizeMax = 32 << 10;

// Learns a dictionary from payloads like those to be saved. A few hundred are good; those above
// kDictionaryPayloadSizeMax are left out, and no more than 16 MiB is looked at. Takes about a
// hundred milliseconds, on the calling thread. invalid_argument if there are too few, or they have
// nothing in common.
Result<Bytes> train_payload_dictionary(std::span<const ByteView> payloads);

class PayloadDictionary {
 public:
  // `bytes` as they were trained. What is no dictionary is corruption.
  static Result<std::shared_ptr<const PayloadDictionary>> make(std::uint32_t number, Bytes bytes);

  std::uint32_t number() const noexcept { return number_; }
  const Bytes& bytes() const noexcept { return zstd_->bytes(); }
  // For both ways, at zstd's fastest level.
  const Compression& compression() const noexcept { return *compression_; }
  const std::shared_ptr<const ZstdDictionary>& zstd() const noexcept { return zstd_; }

 private:
  PayloadDictionary(std::uint32_t number, std::shared_ptr<const ZstdDictionary> zstd)
      : number_(number), zstd_(std::move(zstd)), compression_(make_zstd(zstd_)) {}

  std::uint32_t number_;
  std::shared_ptr<const ZstdDictionary> zstd_;
  std::unique_ptr<const Compression> compression_;
};

// All dictionaries a save ever had, as long as a frame may need them.
class DictionarySet {
 public:
  // A number that is taken is invalid_argument: frames made with the first one would not be
  // read any more.
  Status add(std::shared_ptr<const PayloadDictionary> dictionary);
  // nullptr if there is none.
  std::shared_ptr<const PayloadDictionary> find(std::uint32_t number) const;
  // The one with the highest number, which new frames are made with; nullptr if there is none.
  std::shared_ptr<const PayloadDictionary> newest() const;
  std::size_t count() const noexcept { return by_number_.size(); }

 private:
  std::map<std::uint32_t, std::shared_ptr<const PayloadDictionary>> by_number_;
};

// --- Generators ----------------------------------------------------------------------

// Name and version of each generator that a delta of the save was made against. A number stays
// with its generator for the life of the save; a frame has only the number.
class GeneratorTable {
 public:
  // A number or a generator that is there already is invalid_argument.
  Status add(std::uint32_t number, GeneratorId id);
  // nullptr if there is none.
  const GeneratorId* find(std::uint32_t number) const;
  std::optional<std::uint32_t> number_of(const GeneratorId& id) const;
  std::size_t count() const noexcept { return by_number_.size(); }

 private:
  std::map<std::uint32_t, GeneratorId> by_number_;
};

// --- Both ----------------------------------------------------------------------------

// What a frame may need besides its own bytes.
struct PayloadSources {
  const DictionarySet* dictionaries = nullptr;
  const GeneratorTable* generators = nullptr;
  // The generator the save is open with, and its payload for the record's position. The function is
  // called only for deltas made against that very generator.
  const GeneratorId* generator = nullptr;
  std::function<Result<Bytes>()> generate = {};
  // The backend has compared this value with a checksum of its own that is bound to the key, so
  // that doing so again would only take time. Nothing else is taken on trust.
  bool is_verified = false;
};

}  // namespace varve
