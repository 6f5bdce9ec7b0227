#include "store/varve/payload.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <thread>

#include "backend/log/log_format.h"
#include "sample_bytes.h"
#include "sample_payloads.h"
#include "store/varve/payload_frame.h"
#include "support/bytes_text.h"
#include "support/format_page.h"

namespace varve {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

constexpr const char* kPage = "varve_v1.md";

RC_GTEST_PROP(Payload, ComesBackInEverySpeedClassAndForm, ()) {
  const std::string payload = *compressible_text();
  const std::string base = *rc::gen::oneOf(compressible_text(), rc::gen::just(payload + "x"));
  const Bytes base_bytes = Bytes::copy_of(base);
  const Save save(base_bytes);
  const auto cell_size = *rc::gen::element<std::size_t>(0, 1, 2, 3, 4, 8, 255);
  for (const SpeedClass speed : kAllSpeeds) {
    for (const bool with_dictionary : {false, true}) {
      const PayloadEncoder with = encoder(speed, cell_size, with_dictionary);
      for (const Bytes* against : {static_cast<const Bytes*>(nullptr), &base_bytes}) {
        const Bytes frame = encoded(with, as_byte_view(payload), against);
        RC_ASSERT(decoded(frame, save.sources) == payload);
        RC_ASSERT(frame.size() <= payload.size() + kFrameOverheadMax);
        RC_ASSERT(info_of(frame).payload_size == payload.size());
        // The same once more is the same bytes.
        RC_ASSERT(encoded(with, as_byte_view(payload), against) == frame);
      }
    }
  }
}

// Else the log would go over each payload once more.
static_assert(kFrameStartSize == log::kValueStartSize);

TEST(Payload, WhatIsStoredAsItIsIsReadWithoutACopy) {
  const Bytes payload = noise(5000);
  const Bytes frame = encoded(encoder(SpeedClass::fast), payload);
  EXPECT_EQ(frame.size(), payload.size() + kFrameStartSize);
  const auto out = decode_payload(kKey, frame, {});
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(*out, payload);
  EXPECT_EQ(out->data(), frame.data() + kFrameStartSize);
  EXPECT_EQ(frame.owner_count(), 2);
}

// In two pieces, a frame is the same bytes.
TEST(Payload, ApartFromWhatIsStoredAsItIsAFrameIsTheSame) {
  const Bytes base = noise(5000);
  const PayloadBase delta_base{.generator_number = kHillsNumber, .payload = base};
  for (const SpeedClass speed : kAllSpeeds) {
    const PayloadEncoder with = encoder(speed, 4);
    for (const std::size_t size : {0, 1, 1023, 1024, 4096, 5000, 70'000}) {
      for (const Bytes& payload : {noise(size), Bytes::copy_of(std::string(size, 'x'))}) {
        for (const bool has_base : {false, true}) {
          const Bytes whole = encoded(with, payload, has_base ? &base : nullptr);
          ByteWriter out;
          out.text("before");
          const PayloadBase* const against = has_base ? &delta_base : nullptr;
          const auto is_whole = with.encode_unless_apart(kKey, payload, against, out);
          ASSERT_TRUE(is_whole.ok());
          const bool is_raw = info_of(whole).transform == PayloadTransform::none &&
                              info_of(whole).compression == PayloadCompression::none;
          EXPECT_EQ(*is_whole, !is_raw || size < 1024) << size;
          EXPECT_EQ(with.leaves_as_is(size), speed == SpeedClass::raw && size >= 1024);
          EXPECT_FALSE(with.leaves_as_is(size) && *is_whole) << "nothing is looked for";
          if (!*is_whole) {
            EXPECT_EQ(out.size(), 6u) << "there is nothing of it";
            out.bytes(with.raw_start(kKey, HashedBytes(payload), against));
            out.bytes(payload);
          }
          EXPECT_EQ(Bytes::copy_of(out.view().subspan(6)), whole);
        }
      }
    }
  }
}

TEST(Payload, AnEmptyPayloadIsAValue) {
  for (const SpeedClass speed : kAllSpeeds) {
    const Bytes frame = encoded(encoder(speed, 4, true), {});
    EXPECT_EQ(frame.size(), kFrameStartSize);
    EXPECT_EQ(decoded(frame, {}), "");
  }
}

TEST(Payload, AFrameUnderAnotherKeyIsCorruption) {
  const Bytes frame = encoded(encoder(SpeedClass::fast), as_byte_view("stone"));
  const auto out = decode_payload(as_byte_view("chunk 3,-3"), frame, {});
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code(), ErrorCode::corruption);
  EXPECT_NE(out.error().message().find("another key"), std::string::npos);
}

TEST(Payload, AChecksumTheBackendComparedIsNotComparedAgain) {
  const Bytes frame = encoded(encoder(SpeedClass::fast), as_byte_view("stone"));
  const auto out = decode_payload(as_byte_view("another key"), frame, {.is_verified = true});
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->text(), "stone");
}

TEST(Payload, TheHeadIsEnoughForAListing) {
  const Bytes base = noise(50'000);
  Buffer edited = base.clone();
  edited.data()[77] ^= std::byte{1};
  const Bytes frame = encoded(encoder(SpeedClass::balanced, 4), edited.view(), &base);
  const auto info = inspect_payload(frame.view().first(std::min(frame.size(), kFrameHeadSizeMax)));
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->transform, PayloadTransform::delta);
  EXPECT_EQ(info->payload_size, 50'000u);
  EXPECT_EQ(info->generator_number, kHillsNumber);
}

TEST(Payload, TheLongestHeadFits) {
  ByteWriter out;
  begin_frame({.transform = PayloadTransform::delta,
               .compression = PayloadCompression::zstd_dictionary,
               .recipe = 0xffff,
               .payload_size = kPayloadSizeMax,
               .dictionary_number = 0xffffffff,
               .generator_number = 0xffffffff,
               .base_hash = ~std::uint64_t{0},
               .delta_size = kPayloadSizeMax - 1},
              out);
  EXPECT_LE(out.size(), kFrameHeadSizeMax);
  EXPECT_TRUE(inspect_payload(out.view()).ok());
}

TEST(Payload, AFrameIsAppendedAndAFailureLeavesWhatWasThere) {
  ByteWriter out(600);
  out.text("before");
  ASSERT_TRUE(encoder(SpeedClass::raw).encode(kKey, as_byte_view("stone"), nullptr, out).ok());
  EXPECT_EQ(as_text(out.view().first(6)), "before");
  EXPECT_EQ(decoded(Bytes::copy_of(out.view().subspan(6)), {}), "stone");
  const std::string whole(as_text(out.view()));
  for (const SpeedClass speed : kAllSpeeds) {
    const Status done = encoder(speed).encode(kKey, noise(1000), nullptr, out);
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().code(), ErrorCode::invalid_argument);
    EXPECT_EQ(as_text(out.view()), whole);
  }
}

TEST(Payload, ACellOfMoreThan255BytesIsRefused) {
  const auto made = PayloadEncoder::make({.cell_size = 256});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code(), ErrorCode::invalid_argument);
}

TEST(Payload, TheSameOnAnyThread) {
  const std::string payload = cells(10'000);
  const Bytes base = Bytes::copy_of(cells(9'000));
  for (const SpeedClass speed : kAllSpeeds) {
    const PayloadEncoder with = encoder(speed, 4, true);
    const Bytes whole = encoded(with, as_byte_view(payload));
    const Bytes delta = encoded(with, as_byte_view(payload), &base);
    const Save save(base);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        for (int round = 0; round < 4; ++round) {
          // Other work in between leaves its traces in the working memory.
          encoded(with, as_byte_view(payload).subspan(static_cast<std::size_t>(i) * 1000));
          EXPECT_EQ(encoded(with, as_byte_view(payload)), whole);
          EXPECT_EQ(encoded(with, as_byte_view(payload), &base), delta);
          EXPECT_EQ(decoded(whole, save.sources), payload);
          EXPECT_EQ(decoded(delta, save.sources), payload);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

// --- Whether there is anything to write ----------------------------------------------

TEST(Payload, TheSameSavedAgainIsRecognised) {
  const Bytes payload = Bytes::copy_of(cells(3000));
  const Save save;
  for (const SpeedClass was : kAllSpeeds) {
    const Bytes stored = encoded(encoder(was, 0, true), payload);
    for (const SpeedClass is : kAllSpeeds) {
      const Bytes fresh = encoded(encoder(is, 4, true), payload);
      const auto same = holds_payload(kKey, stored, fresh, payload, save.sources);
      ASSERT_TRUE(same.ok()) << same.error().message();
      EXPECT_TRUE(*same);
    }
  }
}

TEST(Payload, AChangeIsRecognisedWithoutDecoding) {
  const Bytes payload = Bytes::copy_of(cells(3000));
  Buffer changed = payload.clone();
  changed.data()[4000] ^= std::byte{1};
  for (const SpeedClass speed : kAllSpeeds) {
    const PayloadEncoder with = encoder(speed, 4, true);
    const Bytes stored = encoded(with, payload);
    // Without a dictionary to decode it, and under a key that is not its own.
    const auto same = holds_payload(as_byte_view("other"), stored, encoded(with, changed.view()),
                                    changed.view(), {});
    ASSERT_TRUE(same.ok()) << same.error().message();
    EXPECT_FALSE(*same);
  }
}

TEST(Payload, AChangeIsRecognisedAfterOtherSettings) {
  const Bytes payload = Bytes::copy_of(cells(3000));
  Buffer changed = payload.clone();
  changed.data()[4000] ^= std::byte{1};
  const Save save(payload);
  const Bytes stored = encoded(encoder(SpeedClass::balanced), payload);
  const Bytes fresh = encoded(encoder(SpeedClass::balanced), changed.view(), &payload);
  const auto same = holds_payload(kKey, stored, fresh, changed.view(), save.sources);
  ASSERT_TRUE(same.ok());
  EXPECT_FALSE(*same);
}

TEST(Payload, WhatCannotBeReadToCompareIsAnError) {
  const Bytes payload = Bytes::copy_of(cells(3000));
  Buffer damaged = encoded(encoder(SpeedClass::balanced), payload).clone();
  damaged.data()[damaged.size() - 1] ^= std::byte{1};
  const auto same = holds_payload(kKey, std::move(damaged).freeze(),
                                  encoded(encoder(SpeedClass::fast), payload), payload, {});
  ASSERT_FALSE(same.ok());
  EXPECT_EQ(same.error().code(), ErrorCode::corruption);
}

// --- The page ------------------------------------------------------------------------

TEST(Payload, TheExamplesOfThePageAreReadAndWritten) {
  const ByteView key = as_byte_view("chunk");
  std::string two_byte_cells;
  for (int i = 0; i < 32; ++i) two_byte_cells += {i < 16 ? '\5' : '\6', '\0'};
  const Bytes base = hex("00112233445566778899aabbccddeeff");
  GeneratorTable generators;
  ASSERT_TRUE(generators.add(1, kHills).ok());
  const PayloadSources sources{.generators = &generators,
                               .generator = &kHills,
                               .generate = [&]() -> Result<Bytes> { return base; }};
  for (const auto& [heading, payload] : std::vector<std::pair<const char*, Bytes>>{
           {"Stored as it is", Bytes::copy_of("stone")},
           {"An empty payload", Bytes()},
           {"In planes, compressed with LZ4", Bytes::copy_of(two_byte_cells)},
           {"A delta", hex("001122f3445566778899aabbccddeeff")}}) {
    SCOPED_TRACE(heading);
    const Bytes frame = example_of(kPage, heading);
    const auto out = decode_payload(key, frame, sources);
    ASSERT_TRUE(out.ok()) << out.error().message();
    EXPECT_EQ(*out, payload);
    // And put together again from its parts.
    const auto head = read_head(frame);
    ASSERT_TRUE(head.ok());
    EXPECT_EQ(head->first.recipe, 0x1234);
    ByteWriter again;
    begin_frame(head->first, again);
    EXPECT_EQ(again.size(), head->second);
    again.bytes(frame.view().subspan(head->second));
    seal_frame(key, 0, again);
    EXPECT_EQ(to_hex(again.view()), to_hex(frame));
  }
}

}  // namespace
}  // namespace varve
