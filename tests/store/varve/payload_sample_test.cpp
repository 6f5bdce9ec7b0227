// What is told of a payload from a part of it.
#include "store/varve/payload_sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "sample_bytes.h"

namespace varve {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// How many different bytes are among so many, from one end to the other, counted one by one.
std::size_t different_count(const std::string& payload, std::size_t look_count) {
  std::set<char> seen;
  const std::size_t step = (payload.size() / look_count - 1) | 1;
  for (std::size_t i = 0; i < look_count; ++i) seen.insert(payload[i * step]);
  return seen.size();
}

bool is_noise(const std::string& payload) {
  return payload.size() >= 512 && different_count(payload, 64) >= 48 &&
         different_count(payload, 512) >= 200;
}

// Bytes of which so many values occur: above 200 or so they pass, one payload and not another.
std::string with_values(std::size_t value_count, std::size_t size, std::uint64_t seed) {
  std::string payload(noise(size, seed).text());
  for (char& c : payload) {
    c = static_cast<char>(static_cast<unsigned char>(c) * value_count / 256);
  }
  return payload;
}

TEST(PayloadSample, TellsNoiseAsACountOfEachByteDoes) {
  std::size_t noisy_count = 0;
  std::size_t checked_count = 0;
  for (const std::size_t size : {1u, 63u, 64u, 511u, 512u, 513u, 4097u, 8192u, 100'001u}) {
    for (std::size_t value_count = 120; value_count <= 256; value_count += 4) {
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const std::string payload = with_values(value_count, size, seed);
        EXPECT_EQ(looks_like_noise(as_byte_view(payload)), is_noise(payload))
            << size << " bytes of " << value_count << " values, seed " << seed;
        noisy_count += is_noise(payload) ? 1 : 0;
        ++checked_count;
      }
    }
  }
  EXPECT_GT(noisy_count, checked_count / 20);
  EXPECT_LT(noisy_count, checked_count * 19 / 20);
}

// The most that is counted.
TEST(PayloadSample, AllValuesThereAreAreNoise) {
  std::string payload;
  for (int i = 0; i < 512; ++i) payload.push_back(static_cast<char>(i));
  EXPECT_TRUE(looks_like_noise(as_byte_view(payload)));
}

// The first half of what is looked at decides only where the second cannot change it.
TEST(PayloadSample, NoiseMayBeginLate) {
  for (const std::size_t quiet_size : {0u, 100u, 1000u, 2048u, 2900u, 3300u, 4096u, 8192u}) {
    std::string payload(noise(8192, 1).text());
    std::fill_n(payload.begin(), quiet_size, 'a');
    EXPECT_EQ(looks_like_noise(as_byte_view(payload)), is_noise(payload)) << quiet_size;
  }
}

}  // namespace
}  // namespace varve
