#include "store/varve/save_header.h"

#include <gtest/gtest.h>

#include "sample_store.h"
#include "support/bytes_text.h"
#include "support/format_page.h"

namespace varve {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

constexpr const char* kPage = "varve_v1.md";

const SaveHeader kSample{.features = kFeatureHeaderCopy,
                         .save_id = 0x1122334455667788,
                         .generation = 5,
                         .tick = 1200,
                         .generator_number = 1};

Bytes flipped(const Bytes& bytes, std::size_t bit) {
  Buffer changed = bytes.clone();
  changed.data()[bit / 8] ^= std::byte{static_cast<unsigned char>(1u << bit % 8)};
  return std::move(changed).freeze();
}

TEST(SaveHeader, ThePageHasTheseBytes) {
  EXPECT_EQ(to_hex(encode_save_header(kSample)), to_hex(example_of(kPage, "A header")));
  EXPECT_EQ(decode_save_header(example_of(kPage, "A header")).value(), kSample);
  for (const auto& [key, title] : {std::pair(header_key(), "The header's record"),
                                   std::pair(header_copy_key(), "The record of its copy")}) {
    EXPECT_EQ(to_hex(plain_frame(key, encode_save_header(kSample))),
              to_hex(example_of(kPage, title)));
    const auto read = read_plain_frame(key, example_of(kPage, title));
    ASSERT_TRUE(read) << title << ": " << read.error().message();
    EXPECT_EQ(decode_save_header(*read).value(), kSample);
  }
}

TEST(SaveHeader, EveryTruncationIsCorruption) {
  const Bytes whole = encode_save_header(kSample);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto cut = decode_save_header(whole.slice(0, size));
    ASSERT_FALSE(cut) << size;
    EXPECT_EQ(cut.error().code(), ErrorCode::corruption) << size;
  }
  EXPECT_FALSE(decode_save_header(Bytes::copy_of(std::string(whole.text()) + "x")));
}

TEST(SaveHeader, EveryBitFlipOfItsRecordIsFound) {
  for (const SaveKey& key : {header_key(), header_copy_key()}) {
    const Bytes frame = plain_frame(key, encode_save_header(kSample));
    for (std::size_t bit = 0; bit < 8 * frame.size(); ++bit) {
      EXPECT_FALSE(read_plain_frame(key, flipped(frame, bit))) << bit;
    }
  }
}

TEST(SaveHeader, ABitFlipWithoutAChecksumIsAnotherHeaderOrAnError) {
  const Bytes whole = encode_save_header(kSample);
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    const Bytes changed = flipped(whole, bit);
    const auto decoded = decode_save_header(changed);
    if (decoded) {
      EXPECT_EQ(encode_save_header(*decoded), changed) << bit;
    }
  }
}

TEST(SaveHeader, ANewerVersionIsRefusedWithWhatToDo) {
  Buffer newer = encode_save_header(kSample).clone();
  newer.data()[8] = std::byte{2};
  const auto decoded = decode_save_header(newer.view());
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code(), ErrorCode::unsupported);
  EXPECT_NE(decoded.error().message().find("version 2"), std::string::npos);
  EXPECT_NE(decoded.error().message().find("use a newer one"), std::string::npos);
  // Whatever follows: a later version may have another header.
  EXPECT_EQ(decode_save_header(newer.view().first(12)).error().code(), ErrorCode::unsupported);
}

TEST(SaveHeader, FeaturesThisProgramDoesNotKnowAreRefusedEachByItself) {
  for (int bit = 2; bit < 64; ++bit) {
    SaveHeader header = kSample;
    header.features = std::uint64_t{1} << bit;
    const auto decoded = decode_save_header(encode_save_header(header));
    ASSERT_FALSE(decoded) << bit;
    EXPECT_EQ(decoded.error().code(), ErrorCode::unsupported);
    EXPECT_NE(decoded.error().message().find("use a newer one"), std::string::npos);
  }
}

TEST(SaveHeader, SharedPayloadsAndACopyAreFeaturesThisProgramKnows) {
  for (std::uint64_t features = 0; features < 4; ++features) {
    SaveHeader header = kSample;
    header.features = features;
    EXPECT_EQ(decode_save_header(encode_save_header(header)).value(), header);
  }
}

TEST(SaveHeader, ASaveOfANewerProgramIsNotOpened) {
  const auto disk = new_disk();
  SaveHeader header = kSample;
  header.features = 8;
  disk->put_framed(header_key(), encode_save_header(header).text());
  const auto opened = try_open(disk);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::unsupported);
  EXPECT_NE(opened.error().message().find("sample"), std::string::npos);
  EXPECT_NE(opened.error().message().find("0x8"), std::string::npos);
}

TEST(SaveHeader, ABackendWithoutOneHoldsNoSave) {
  const auto disk = std::make_shared<SampleDisk>();
  const auto opened = try_open(disk);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::corruption);
  EXPECT_NE(opened.error().message().find("header is missing"), std::string::npos);
}

TEST(SaveHeader, EveryCommitBringsOneAndItSurvives) {
  const auto disk = new_disk();
  for (std::uint64_t i = 1; i <= 3; ++i) {
    const auto store = open_sample(disk);
    commit(*store, {.tick = 10 * i, .generator = GeneratorId{"hills", 3}});
    EXPECT_EQ(store->generation(), i);
  }
  for (const SaveKey& key : {header_key(), header_copy_key()}) {
    EXPECT_EQ(decode_save_header(read_plain_frame(key, disk->get(key)).value()).value(),
              (SaveHeader{.features = kFeatureHeaderCopy,
                          .save_id = 0x1122,
                          .generation = 3,
                          .tick = 30,
                          .generator_number = 1}));
  }
  EXPECT_EQ(open_sample(disk)->generator(), (GeneratorId{"hills", 3}));
}

}  // namespace
}  // namespace varve
