#include "store/varve/payload_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/try.h"

namespace varve {

Result<Bytes> train_payload_dictionary(std::span<const ByteView> payloads) {
  // Training takes time in proportion to the bytes, and learns little from more of them.
  constexpr std::size_t kTrainingSizeMax = 16 << 20;
  std::vector<ByteView> samples;
  std::size_t size = 0;
  for (const ByteView payload : payloads) {
    if (payload.empty() || payload.size() > kDictionaryPayloadSizeMax) continue;
    if (payload.size() > kTrainingSizeMax - size) break;
    size += payload.size();
    samples.push_back(payload);
  }
  // A dictionary of more than some hundredths of what it was learned from is made of those samples
  // and helps nothing else.
  constexpr std::size_t kSizeMin = 1 << 10;
  return ZstdDictionary::train(samples, std::clamp(size / 32, kSizeMin, kDictionarySizeMax));
}

Result<std::shared_ptr<const PayloadDictionary>> PayloadDictionary::make(std::uint32_t number,
                                                                         Bytes bytes) {
  auto zstd = ZstdDictionary::prepare(std::move(bytes));
  if (!zstd) return zstd.error().with_context(fmt::format("dictionary {}", number));
  return std::shared_ptr<const PayloadDictionary>(new PayloadDictionary(number, *std::move(zstd)));
}

Status DictionarySet::add(std::shared_ptr<const PayloadDictionary> dictionary) {
  const std::uint32_t number = dictionary->number();
  if (!by_number_.emplace(number, std::move(dictionary)).second) {
    return invalid_argument(fmt::format("there is a dictionary {} already", number));
  }
  return {};
}

std::shared_ptr<const PayloadDictionary> DictionarySet::find(std::uint32_t number) const {
  const auto found = by_number_.find(number);
  return found == by_number_.end() ? nullptr : found->second;
}

std::shared_ptr<const PayloadDictionary> DictionarySet::newest() const {
  return by_number_.empty() ? nullptr : by_number_.rbegin()->second;
}

Status GeneratorTable::add(std::uint32_t number, GeneratorId id) {
  if (number_of(id) || find(number) != nullptr) {
    return invalid_argument(
        fmt::format("there is a generator {} already, or one called {} version {}", number, id.name,
                    id.version));
  }
  by_number_.emplace(number, std::move(id));
  return {};
}

const GeneratorId* GeneratorTable::find(std::uint32_t number) const {
  const auto found = by_number_.find(number);
  return found == by_number_.end() ? nullptr : &found->second;
}

std::optional<std::uint32_t> GeneratorTable::number_of(const GeneratorId& id) const {
  // A save has seen few generators.
  for (const auto& [number, known] : by_number_) {
    if (known == id) return number;
  }
  return std::nullopt;
}

}  // namespace varve
