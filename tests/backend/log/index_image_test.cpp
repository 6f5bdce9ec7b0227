#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <random>

#include "backend/log/index.h"
#include "backend/log/log_format.h"
#include "index_world.h"
#include "support/allocation_watch.h"
#include "support/bytes_text.h"
#include "support/format_page.h"

namespace varve::log {
namespace {

using test::chunk_key;
using test::entries_from;
using test::expect_same;
using test::image_of;
using test::location_of;
using test::Model;
using varve::test::hex;
using varve::test::to_hex;

constexpr std::size_t kSlotCount = 1 << 16;

ByteView view(std::string_view text) { return as_byte_view(text); }

Index index_of(const Model& model) {
  Index index;
  for (const auto& [key, location] : model) index.put(view(key), location);
  index.ensure_order();
  return index;
}

// Lone keys, groups of both forms, and keys that start with each other.
Model sample() {
  Model model;
  for (int z = 0; z < 256; ++z) model[chunk_key(0, z)] = location_of(model.size());
  for (int z = 0; z < 30; ++z) model[chunk_key(1, z * 3)] = location_of(model.size());
  for (const std::string key : {"a", "b", "ab", "abc", "z"}) model[key] = location_of(model.size());
  model[std::string(255, 'k')] = location_of(model.size());
  return model;
}

void expect_corruption(const Bytes& image, std::string_view why, std::size_t slot_count = 4) {
  const auto index = Index::from_image(image, slot_count);
  ASSERT_FALSE(index.ok()) << to_hex(image);
  EXPECT_EQ(index.error().code(), ErrorCode::corruption);
  EXPECT_NE(index.error().message().find(why), std::string::npos) << index.error().message();
}

TEST(IndexImage, TheExampleOfItsPage) {
  const Bytes example = varve::test::example_of("varve_log_v1.md", "An index image");
  const Model model = {
      {"name", {.slot = 2, .offset_unit = 1, .value_size = 10}},
      {std::string("\x80\0\0\x01\x07", 5), {.slot = 0, .offset_unit = 256, .value_size = 4096}},
      {std::string("\x80\0\0\x01\x08", 5),
       {.slot = 1, .offset_unit = 0xffff'ffff, .value_size = Location::kValueSizeMax}}};
  EXPECT_EQ(to_hex(image_of(index_of(model))), to_hex(example));
  auto index = Index::from_image(example, 3);
  ASSERT_TRUE(index.ok()) << index.error().message();
  EXPECT_FALSE(index->has_order());
  index->ensure_order();
  expect_same(*index, model);
}

TEST(IndexImage, WhatIsWrittenIsRead) {
  const Model model = sample();
  const Bytes image = image_of(index_of(model));
  std::vector<SlotUse> uses;
  auto index = Index::from_image(image, kSlotCount, &uses);
  ASSERT_TRUE(index.ok()) << index.error().message();
  expect_same(*index, model);
  std::vector<SlotUse> expected(kSlotCount);
  for (const auto& [key, location] : model) {
    SlotUse& use = expected[location.slot];
    use.count += 1;
    use.byte_count += key.size() + location.value_size;
    use.cost += record_cost(key.size(), location.value_size);
  }
  EXPECT_EQ(uses, expected);
  index->ensure_order();
  expect_same(*index, model);
  EXPECT_EQ(image_of(*index), image);
}

TEST(IndexImage, MarksAreNotWritten) {
  Index index = index_of(sample());
  const Bytes image = image_of(index);
  for (const auto& [key, location] : sample()) index.mark_verified(view(key), location);
  EXPECT_EQ(image_of(index), image);
}

TEST(IndexImage, AnEmptyIndexIsAnEmptyImage) {
  const auto index = Index::from_image({}, 0);
  ASSERT_TRUE(index.ok());
  EXPECT_EQ(index->count(), 0u);
}

TEST(IndexImage, WhatWasReadCanChange) {
  Model model = sample();
  auto index = Index::from_image(image_of(index_of(model)), kSlotCount);
  ASSERT_TRUE(index.ok());
  index->ensure_order();
  for (int z = 0; z < 100; ++z) {
    model.erase(chunk_key(0, z));
    index->erase(view(chunk_key(0, z)));
    model[chunk_key(1, z)] = location_of(1000);
    index->put(view(chunk_key(1, z)), location_of(1000));
  }
  expect_same(*index, model);
}

TEST(IndexImage, PiecesAddUpToTheWhole) {
  const Index index = index_of(sample());
  const Bytes image = image_of(index);
  for (const std::size_t size_max : {0u, 1u, 24u, 25u, 100u, 3000u, 100'000u}) {
    EXPECT_EQ(image_of(index, size_max), image) << size_max;
  }
}

// The index changes between two pieces. What was there all the time is in the image with one of the
// places it had; what comes and goes may be there or not.
TEST(IndexImage, PiecesHoldWhatStays) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    const auto any_key = [&] {
      std::string key(1 + random() % 3, '\0');
      for (char& byte : key) byte = static_cast<char>(random() % 5);
      key.back() = static_cast<char>(random() % 40);
      return key;
    };
    Index index;
    index.ensure_order();
    Model model;
    std::map<std::string, std::vector<Location>> stayed;
    for (unsigned i = 0; i < 300; ++i) {
      const std::string key = any_key();
      index.put(view(key), location_of(i));
      model[key] = location_of(i);
    }
    for (const auto& [key, location] : model) stayed[key] = {location};

    ByteWriter out;
    std::optional<std::string> from = "";
    for (unsigned i = 1000; from; i += 10) {
      from = index.append_image(view(*from), 60, out);
      for (unsigned change = 0; change < 10; ++change) {
        const std::string key = any_key();
        const Location location = location_of(i + change);
        if (random() % 3 == 0) {
          index.erase(view(key));
          stayed.erase(key);
        } else {
          index.put(view(key), location);
          if (stayed.count(key) != 0) stayed[key].push_back(location);
        }
      }
    }
    const auto read = Index::from_image(out.view(), kSlotCount);
    ASSERT_TRUE(read.ok()) << read.error().message();
    for (const auto& [key, locations] : stayed) {
      const auto found = read->find(view(key));
      ASSERT_TRUE(found) << to_hex(view(key));
      EXPECT_NE(std::find(locations.begin(), locations.end(), *found), locations.end());
    }
  }
}

TEST(IndexImage, EveryRuleOfTheFormatIsChecked) {
  const std::string place = "0000 00000000 00000000";
  expect_corruption(hex("00"), "no whole head");
  expect_corruption(hex("00 00"), "fewer bytes");
  expect_corruption(hex("00 00 61 0000 00000000 000000"), "fewer bytes");
  expect_corruption(hex("00 01 61 62" + place), "offset 0 of 14 has fewer bytes");
  expect_corruption(hex("ff 00 61" + place), "a prefix of 255 bytes");
  expect_corruption(hex("00 01 61 61" + place + place), "do not rise");
  expect_corruption(hex("00 01 62 61" + place + place), "do not rise");
  expect_corruption(hex("00 00 61 0400 00000000 00000000"), "a slot that is not there");
  expect_corruption(hex("00 00 61 0000 00000000 00000040"), "a size above the limit");
  expect_corruption(hex("00 00 61 0000 00000000 00000080"), "a size above the limit");
  expect_corruption(hex("00 00 61" + place + "00 00 62" + place), "offset 13 of 26 has a prefix");
  expect_corruption(hex("01 00 62 61" + place + "01 00 61 61" + place), "a prefix that does not");
  expect_corruption(hex("01 00 62 61" + place + "00 00 61" + place), "a prefix that does not rise");
}

TEST(IndexImage, EveryTruncationIsCorruptionOrEndsWithAGroup) {
  const Bytes image = image_of(index_of(sample()));
  for (std::size_t size = 0; size < image.size(); ++size) {
    const Bytes cut = Bytes::copy_of(image.view().first(size));
    auto index = Index::from_image(cut, kSlotCount);
    if (!index) {
      ASSERT_EQ(index.error().code(), ErrorCode::corruption);
      continue;
    }
    index->ensure_order();
    ASSERT_EQ(image_of(*index), cut);
  }
}

TEST(IndexImage, AChangedByteIsCorruptionOrAnotherIndex) {
  Model model;
  for (int z = 0; z < 5; ++z) model[chunk_key(0, z)] = location_of(model.size());
  for (const std::string key : {"a", "b", "ab", "z"}) model[key] = location_of(model.size());
  const Bytes image = image_of(index_of(model));
  for (std::size_t at = 0; at < image.size(); ++at) {
    for (unsigned change = 1; change < 256; ++change) {
      Buffer changed = image.clone();
      changed.span()[at] ^= static_cast<std::byte>(change);
      const Bytes bytes = std::move(changed).freeze();
      const varve::test::AllocationWatch watch;
      auto index = Index::from_image(bytes, kSlotCount);
      ASSERT_LE(watch.peak_size(), 50'000u);
      if (!index) {
        ASSERT_EQ(index.error().code(), ErrorCode::corruption);
        continue;
      }
      index->ensure_order();
      ASSERT_EQ(image_of(*index), bytes);
    }
  }
}

TEST(IndexImage, RunningOutOfMemoryIsAnError) {
  const Bytes image = image_of(index_of(sample()));
  std::size_t failed_count = 0;
  for (std::size_t failing = 0;; ++failing) {
    const auto index = [&] {
      const varve::test::AllocationFailure failure(failing);
      return Index::from_image(image, kSlotCount);
    }();
    if (index.ok()) break;
    ASSERT_EQ(index.error().code(), ErrorCode::out_of_space);
    ++failed_count;
  }
  EXPECT_GT(failed_count, 2u);
}

}  // namespace
}  // namespace varve::log
