// A save in small: a dictionary, a table of generators, and payloads of every kind.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "store/varve/payload.h"

namespace varve::test {

inline const ByteView kKey = as_byte_view("chunk 3,-2");
inline const GeneratorId kHills{.name = "hills", .version = 3};
inline constexpr std::uint32_t kHillsNumber = 5;
inline constexpr std::uint32_t kDictionaryNumber = 7;

// A record that resembles the others, as those of one world do.
inline Bytes record(int i) {
  std::string text = "{\"kind\":\"chest\",\"owner\":\"player" + std::to_string(i % 17) + "\",";
  text += "\"items\":[\"oak_planks\",\"cobblestone\",\"torch\"],\"position\":[";
  text += std::to_string(i * 31) + "," + std::to_string(i % 256) + "]}";
  return Bytes::copy_of(text);
}

inline Bytes trained_on_records(int first) {
  std::vector<Bytes> records;
  for (int i = 0; i < 2000; ++i) records.push_back(record(first + i));
  const std::vector<ByteView> samples(records.begin(), records.end());
  const auto bytes = train_payload_dictionary(samples);
  EXPECT_TRUE(bytes.ok()) << bytes.error().message();
  return *bytes;
}

inline std::shared_ptr<const PayloadDictionary> dictionary_of(std::uint32_t number,
                                                              const Bytes& bytes) {
  const auto made = PayloadDictionary::make(number, bytes);
  EXPECT_TRUE(made.ok()) << made.error().message();
  return *made;
}

// Training takes a while; once is enough.
inline std::shared_ptr<const PayloadDictionary> dictionary() {
  static const auto made = dictionary_of(kDictionaryNumber, trained_on_records(0));
  return made;
}

inline PayloadEncoder encoder(SpeedClass speed, std::size_t cell_size = 0,
                              bool with_dictionary = false) {
  auto made = PayloadEncoder::make({.speed = speed,
                                    .cell_size = cell_size,
                                    .dictionary = with_dictionary ? dictionary() : nullptr});
  EXPECT_TRUE(made.ok()) << made.error().message();
  return *std::move(made);
}

inline Bytes encoded(const PayloadEncoder& with, ByteView payload, const Bytes* base = nullptr,
                     ByteView key = kKey) {
  ByteWriter out;
  const PayloadBase of_hills{.generator_number = kHillsNumber,
                             .payload = base == nullptr ? ByteView() : base->view()};
  const Status done = with.encode(key, payload, base == nullptr ? nullptr : &of_hills, out);
  EXPECT_TRUE(done.ok()) << done.error().message();
  return out.take();
}

// Everything a frame made above may need.
class Save {
 public:
  explicit Save(Bytes base = {}) {
    EXPECT_TRUE(dictionaries_.add(dictionary()).ok());
    EXPECT_TRUE(generators_.add(kHillsNumber, kHills).ok());
    sources = {.dictionaries = &dictionaries_,
               .generators = &generators_,
               .generator = &kHills,
               .generate = [base]() -> Result<Bytes> { return base; }};
  }
  Save(const Save&) = delete;
  Save& operator=(const Save&) = delete;

  PayloadSources sources;

 private:
  DictionarySet dictionaries_;
  GeneratorTable generators_;
};

inline PayloadInfo info_of(const Bytes& frame) {
  const auto info = inspect_payload(frame);
  EXPECT_TRUE(info.ok()) << info.error().message();
  return info ? *info : PayloadInfo();
}

inline std::string decoded(const Bytes& frame, const PayloadSources& sources) {
  const auto out = decode_payload(kKey, frame, sources);
  EXPECT_TRUE(out.ok()) << out.error().message();
  return out ? std::string(out->text()) : "not decoded";
}

inline constexpr SpeedClass kAllSpeeds[] = {SpeedClass::raw, SpeedClass::fast, SpeedClass::balanced,
                                            SpeedClass::small};

// Cells of four bytes in which planes are worth it: a counter beside two constants.
inline std::string cells(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += static_cast<char>(i * 7919 >> 3);
    text += {'\x10', static_cast<char>(i / 64), '\0'};
  }
  return text;
}

}  // namespace varve::test
