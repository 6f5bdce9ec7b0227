// What frames need besides their bytes: dictionaries and generators.
#include "store/varve/payload_sources.h"

#include <gtest/gtest.h>

#include "sample_bytes.h"
#include "sample_payloads.h"

namespace varve {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// A chunk in which little differs from what the generator made.
struct Edited {
  Bytes base = noise(20'000);
  Bytes payload = edited_from(base);
  Bytes frame = encoded(encoder(SpeedClass::fast), payload, &base);

  static Bytes edited_from(const Bytes& from) {
    Buffer copy = from.clone();
    copy.data()[1234] ^= std::byte{1};
    return std::move(copy).freeze();
  }
};

Error error_of(const Bytes& frame, const PayloadSources& sources) {
  auto out = decode_payload(kKey, frame, sources);
  EXPECT_FALSE(out.ok());
  return out ? not_found("it was read") : out.error();
}

bool says(const Error& error, std::string_view what) {
  const bool found = error.message().find(what) != std::string::npos;
  if (!found) ADD_FAILURE() << "\"" << what << "\" is not in: " << error.message();
  return found;
}

TEST(PayloadGenerator, ADeltaIsSmallAndReadWithItsGenerator) {
  const Edited edited;
  EXPECT_LT(edited.frame.size(), 40u);
  const Save save(edited.base);
  EXPECT_EQ(decoded(edited.frame, save.sources), edited.payload.text());
}

TEST(PayloadGenerator, AnotherVersionIsUnsupportedAndNamesTheOneNeeded) {
  const Edited edited;
  Save save(edited.base);
  const GeneratorId newer{.name = "hills", .version = 4};
  save.sources.generator = &newer;
  save.sources.generate = []() -> Result<Bytes> {
    ADD_FAILURE() << "asked for a base of no use";
    return Bytes();
  };
  const Error error = error_of(edited.frame, save.sources);
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_EQ(error.message(),
            "payload: a delta against generator \"hills\" version 3, but the save is open with "
            "generator \"hills\" version 4; open the save with that generator as it was, and save "
            "with deltas off to need it no longer");
}

TEST(PayloadGenerator, AnotherGeneratorIsUnsupported) {
  const Edited edited;
  Save save(edited.base);
  const GeneratorId other{.name = "plains", .version = 3};
  save.sources.generator = &other;
  const Error error = error_of(edited.frame, save.sources);
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_TRUE(says(error, "\"hills\" version 3") && says(error, "\"plains\" version 3"));
}

TEST(PayloadGenerator, NoGeneratorIsUnsupported) {
  const Edited edited;
  Save save(edited.base);
  save.sources.generator = nullptr;
  save.sources.generate = {};
  const Error error = error_of(edited.frame, save.sources);
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_TRUE(says(error, "\"hills\" version 3, but there is no generator"));
}

TEST(PayloadGenerator, AGeneratorThatChangedItsMindIsUnsupported) {
  const Edited edited;
  // One bit, a byte less, a byte more, nothing.
  const Bytes others[] = {Edited::edited_from(edited.base), edited.base.slice(1),
                          Bytes::copy_of(std::string(edited.base.text()) + 'x'), Bytes()};
  for (const Bytes& other : others) {
    const Save save(other);
    const Error error = error_of(edited.frame, save.sources);
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_TRUE(says(error, "\"hills\" version 3, which makes other bytes now"));
  }
}

TEST(PayloadGenerator, ANumberTheTableDoesNotHaveIsCorruption) {
  const Edited edited;
  Save save(edited.base);
  const GeneratorTable empty;
  for (const GeneratorTable* table : {static_cast<const GeneratorTable*>(nullptr), &empty}) {
    save.sources.generators = table;
    const Error error = error_of(edited.frame, save.sources);
    EXPECT_EQ(error.code(), ErrorCode::corruption);
    EXPECT_TRUE(says(error, "generator number 5"));
  }
}

TEST(PayloadGenerator, ItsErrorsArePassedOn) {
  const Edited edited;
  Save save(edited.base);
  save.sources.generate = []() -> Result<Bytes> { return busy("ask again"); };
  const Error error = error_of(edited.frame, save.sources);
  EXPECT_EQ(error.code(), ErrorCode::busy);
  EXPECT_EQ(error.message(), "ask again");
}

TEST(PayloadGenerator, IsAskedForDeltasAlone) {
  Save save;
  save.sources.generate = []() -> Result<Bytes> {
    ADD_FAILURE() << "asked for a base nobody needs";
    return Bytes();
  };
  for (const SpeedClass speed : kAllSpeeds) {
    const Bytes payload = small_sample();
    EXPECT_EQ(decoded(encoded(encoder(speed, 4, true), payload), save.sources), payload.text());
  }
}

TEST(PayloadGenerator, MayReadPayloadsItself) {
  const Edited edited;
  Save save(edited.base);
  const std::string of_cells = cells(4000);
  const Bytes other = encoded(encoder(SpeedClass::fast, 4), as_byte_view(of_cells));
  ASSERT_EQ(info_of(other).transform, PayloadTransform::planes);
  save.sources.generate = [&]() -> Result<Bytes> {
    EXPECT_EQ(decoded(other, {}), of_cells);
    return edited.base;
  };
  EXPECT_EQ(decoded(edited.frame, save.sources), edited.payload.text());
}

TEST(PayloadGenerator, ATableGivesNumbersAndGenerators) {
  GeneratorTable table;
  ASSERT_TRUE(table.add(1, {"hills", 3}).ok());
  ASSERT_TRUE(table.add(2, {"hills", 4}).ok());
  EXPECT_EQ(table.add(2, {"plains", 1}).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(table.add(3, {"hills", 3}).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(table.count(), 2u);
  EXPECT_EQ(table.number_of({"hills", 4}), 2u);
  EXPECT_EQ(table.number_of({"hills", 5}), std::nullopt);
  ASSERT_NE(table.find(1), nullptr);
  EXPECT_EQ(table.find(1)->version, 3u);
  EXPECT_EQ(table.find(9), nullptr);
}

TEST(PayloadDictionary, MakesSmallRecordsSmaller) {
  const Bytes payload = record(5000);
  const Bytes plain = encoded(encoder(SpeedClass::balanced), payload);
  const Bytes with = encoded(encoder(SpeedClass::balanced, 0, true), payload);
  EXPECT_EQ(info_of(with).compression, PayloadCompression::zstd_dictionary);
  EXPECT_EQ(info_of(with).dictionary_number, kDictionaryNumber);
  EXPECT_LT(with.size() * 3, plain.size() * 2);
  const Save save;
  EXPECT_EQ(decoded(with, save.sources), payload.text());
}

TEST(PayloadDictionary, OneThatIsMissingIsCorruption) {
  const Bytes frame = encoded(encoder(SpeedClass::balanced, 0, true), record(1));
  const DictionarySet empty;
  for (const DictionarySet* set : {static_cast<const DictionarySet*>(nullptr), &empty}) {
    const Error error = error_of(frame, {.dictionaries = set});
    EXPECT_EQ(error.code(), ErrorCode::corruption);
    EXPECT_EQ(error.message(), "payload: needs dictionary 7, which the save does not have");
  }
}

TEST(PayloadDictionary, AnotherUnderItsNumberIsUnsupported) {
  const Bytes frame = encoded(encoder(SpeedClass::balanced, 0, true), record(1));
  DictionarySet set;
  ASSERT_TRUE(set.add(dictionary_of(kDictionaryNumber, trained_on_records(100'000))).ok());
  const Error error = error_of(frame, {.dictionaries = &set});
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_TRUE(says(error, "payload with dictionary 7: zstd: the frame needs dictionary"));
}

TEST(PayloadDictionary, ASetHoldsSeveralVersions) {
  DictionarySet set;
  EXPECT_EQ(set.newest(), nullptr);
  const auto first = dictionary_of(1, trained_on_records(0));
  const auto second = dictionary_of(2, trained_on_records(100'000));
  ASSERT_TRUE(set.add(second).ok());
  ASSERT_TRUE(set.add(first).ok());
  EXPECT_EQ(set.add(first).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(set.count(), 2u);
  EXPECT_EQ(set.newest(), second);
  EXPECT_EQ(set.find(1), first);
  EXPECT_EQ(set.find(3), nullptr);
  for (const auto& with : {first, second}) {
    const auto made = PayloadEncoder::make({.speed = SpeedClass::small, .dictionary = with});
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(decoded(encoded(*made, record(3)), {.dictionaries = &set}), record(3).text());
  }
}

TEST(PayloadDictionary, TooFewSamplesAreRefused) {
  const Bytes one = record(1);
  const Bytes large = zeros(kDictionaryPayloadSizeMax + 1);
  const std::vector<ByteView> large_ones(1000, large.view());
  const ByteView of_one[] = {one};
  EXPECT_EQ(train_payload_dictionary({}).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(train_payload_dictionary(of_one).error().code(), ErrorCode::invalid_argument);
  EXPECT_EQ(train_payload_dictionary(large_ones).error().code(), ErrorCode::invalid_argument);
}

TEST(PayloadDictionary, WhatIsNoDictionaryIsCorruption) {
  const auto made = PayloadDictionary::make(3, Bytes::copy_of("no dictionary"));
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code(), ErrorCode::corruption);
  EXPECT_TRUE(says(made.error(), "dictionary 3: "));
}

}  // namespace
}  // namespace varve
