#include "backend/log/index.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "index_world.h"
#include "support/allocation_watch.h"

namespace varve::log {
namespace {

using test::chunk_key;
using test::entries_from;
using test::expect_same;
using test::location_of;
using test::Model;

ByteView view(std::string_view text) { return as_byte_view(text); }

// Few different bytes, so that keys are starts of each other and groups become full; and some
// that are as long as a key may be.
rc::Gen<std::string> any_key() {
  const auto byte = rc::gen::element('\x00', '\x01', 'a', 'b', '\x7f', '\x80', '\xfe', '\xff');
  const auto any_byte = rc::gen::arbitrary<char>();
  return rc::gen::oneOf(
      rc::gen::resize(4, rc::gen::nonEmpty(rc::gen::container<std::string>(byte))),
      rc::gen::map(any_byte, [](char last) { return std::string("group") + last; }),
      rc::gen::map(rc::gen::pair(rc::gen::inRange<std::size_t>(1, 256), byte),
                   [](const auto& made) { return std::string(made.first, made.second); }),
      rc::gen::map(rc::gen::pair(rc::gen::inRange<std::size_t>(0, 255), any_byte),
                   [](const auto& made) { return std::string(made.first, 'a') + made.second; }));
}

TEST(Index, IsEmptyAtFirst) {
  Index index;
  EXPECT_EQ(index.count(), 0u);
  EXPECT_FALSE(index.find(view("a")));
  EXPECT_FALSE(index.erase(view("a")));
  EXPECT_FALSE(index.move(view("a"), {}, {}));
  EXPECT_FALSE(index.has_order());
  index.ensure_order();
  EXPECT_TRUE(index.has_order());
  EXPECT_TRUE(entries_from(index, "").empty());
  EXPECT_TRUE(test::image_of(index).empty());
}

TEST(Index, PutsReplacesAndErases) {
  Index index;
  EXPECT_FALSE(index.put(view("key"), location_of(1)));
  EXPECT_EQ(index.put(view("key"), location_of(2)), location_of(1));
  EXPECT_EQ(index.find(view("key")), location_of(2));
  EXPECT_FALSE(index.find(view("kez")));
  EXPECT_FALSE(index.find(view("ke")));
  EXPECT_FALSE(index.find(view("keyy")));
  EXPECT_EQ(index.erase(view("key")), location_of(2));
  EXPECT_FALSE(index.erase(view("key")));
  EXPECT_EQ(index.count(), 0u);
}

TEST(Index, KeepsEveryBitOfAPlace) {
  Index index;
  for (const Location& location :
       {Location{0, 0, 0}, Location{0xffff, 0xffff'ffff, Location::kValueSizeMax},
        Location{0x0102, 0x0304'0506, 0x0708'090a}, Location{1, 0, 1u << 29}}) {
    for (const bool verified : {false, true}) {
      Location put = location;
      put.verified = verified;
      index.put(view("key"), put);
      const auto found = index.find(view("key"));
      ASSERT_EQ(found, location);
      EXPECT_EQ(found->slot, location.slot);
      EXPECT_EQ(found->offset_unit, location.offset_unit);
      EXPECT_EQ(found->value_size, location.value_size);
      EXPECT_EQ(found->verified, verified);
    }
  }
}

TEST(Index, MovesOnlyWhatIsStillThere) {
  Index index;
  index.put(view("key"), location_of(1));
  EXPECT_FALSE(index.move(view("key"), location_of(2), location_of(3)));
  EXPECT_FALSE(index.move(view("kez"), location_of(1), location_of(3)));
  EXPECT_TRUE(index.move(view("key"), location_of(1), location_of(3)));
  EXPECT_EQ(index.find(view("key")), location_of(3));
}

TEST(Index, MarksAsVerifiedOnlyWhatIsStillThere) {
  Index index;
  index.put(view("key"), location_of(1));
  index.mark_verified(view("key"), location_of(2));
  index.mark_verified(view("kez"), location_of(1));
  EXPECT_FALSE(index.find(view("key"))->verified);
  index.mark_verified(view("key"), location_of(1));
  EXPECT_TRUE(index.find(view("key"))->verified);
  EXPECT_EQ(index.find(view("key")), location_of(1));
  index.put(view("key"), location_of(1));
  EXPECT_FALSE(index.find(view("key"))->verified);
}

TEST(Index, AGroupGrowsAndShrinksThroughEverySize) {
  std::mt19937 random(1);
  for (const std::string prefix : {"", "p", "prefix12345", "a prefix longer than sixteen bytes"}) {
    Index index;
    index.ensure_order();
    Model model;
    std::vector<int> tags(256);
    for (int i = 0; i < 256; ++i) tags[static_cast<std::size_t>(i)] = i;
    for (const bool grow : {true, false, true}) {
      std::shuffle(tags.begin(), tags.end(), random);
      for (const int tag : tags) {
        const std::string key = prefix + static_cast<char>(tag);
        if (grow) {
          ASSERT_FALSE(index.put(view(key), location_of(static_cast<unsigned>(tag))));
          model[key] = location_of(static_cast<unsigned>(tag));
        } else {
          ASSERT_EQ(index.erase(view(key)), model.at(key));
          model.erase(key);
          ASSERT_FALSE(index.find(view(key)));
        }
        expect_same(index, model);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Index, KeysThatStartWithEachOtherComeInOrder) {
  Index index;
  Model model;
  for (const std::string key : {"a", "ab", "abc", "abd", "ac", "b", "ba", "bab", "c", "abcde"}) {
    index.put(view(key), location_of(model.size()));
    model[key] = location_of(model.size());
  }
  index.ensure_order();
  expect_same(index, model);
  for (const std::string from :
       {"", "a", "aa", "ab", "aba", "abc", "abcd", "abcdef", "abz", "b", "bz", "c", "ca", "d"}) {
    EXPECT_EQ(entries_from(index, from), entries_from(model, from)) << from;
  }
  EXPECT_EQ(entries_from(index, std::string(300, 'a')), entries_from(model, std::string(300, 'a')));
}

TEST(Index, AVisitEndsWhenItIsTold) {
  Index index;
  for (const std::string key : {"a", "ab", "abc", "b"}) index.put(view(key), {});
  index.ensure_order();
  for (std::size_t wanted = 1; wanted <= 4; ++wanted) {
    std::size_t count = 0;
    index.visit({}, [&](ByteView, const Location&) { return ++count < wanted; });
    EXPECT_EQ(count, wanted);
  }
}

RC_GTEST_PROP(Index, DoesWhatAMapDoes, ()) {
  Index index;
  Model model;
  const auto keys = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(any_key()));
  const std::size_t order_at = *rc::gen::inRange<std::size_t>(0, 600);
  const auto seed = *rc::gen::arbitrary<std::uint32_t>();
  std::mt19937 random(seed);
  for (std::size_t step = 0; step < 600; ++step) {
    if (step == order_at) index.ensure_order();
    std::string key = keys[random() % keys.size()];
    if (random() % 4 == 0) key.back() = static_cast<char>(random());
    const Location location = location_of(random());
    const auto was = model.find(key);
    const auto before = was == model.end() ? std::nullopt : std::optional<Location>(was->second);
    switch (random() % 8) {
      case 0:
      case 1:
        RC_ASSERT(index.erase(view(key)) == before);
        model.erase(key);
        break;
      case 2: {
        const Location from = before.value_or(location);
        RC_ASSERT(index.move(view(key), from, location) == before.has_value());
        if (before) model[key] = location;
        break;
      }
      default:
        RC_ASSERT(index.put(view(key), location) == before);
        model[key] = location;
    }
  }
  index.ensure_order();
  RC_ASSERT(index.count() == model.size());
  for (const auto& [key, location] : model) RC_ASSERT(index.find(view(key)) == location);
  for (const std::string& from : keys) {
    RC_ASSERT(entries_from(index, from) == entries_from(model, from));
  }
  RC_ASSERT(entries_from(index, "") == entries_from(model, ""));
  for (const auto& [key, location] : model) RC_ASSERT(index.erase(view(key)) == location);
  RC_ASSERT(index.count() == 0u);
  RC_ASSERT(entries_from(index, "").empty());
}

// Long enough that memory is tidied, and in an order in which much is left behind.
TEST(Index, KeepsEverythingWhileMemoryIsTidied) {
  std::mt19937 random(7);
  Index index;
  Model model;
  index.ensure_order();
  for (int step = 0; step < 120'000; ++step) {
    const std::string key =
        chunk_key(static_cast<int>(random() % 80), static_cast<int>(random() % 1000));
    // Grows first, then shrinks, then grows again.
    const bool erase = step / 40'000 == 1 ? random() % 4 != 0 : random() % 8 == 0;
    if (erase) {
      ASSERT_EQ(index.erase(view(key)).has_value(), model.erase(key) != 0);
    } else {
      index.put(view(key), location_of(static_cast<unsigned>(step)));
      model[key] = location_of(static_cast<unsigned>(step));
    }
  }
  expect_same(index, model);
  for (const auto& [key, location] : Model(model)) ASSERT_EQ(index.erase(view(key)), location);
  EXPECT_LT(index.memory_size(), 150'000u) << "what is empty was given back";
}

TEST(Index, RunningOutOfMemoryChangesNothing) {
  for (const bool with_order : {false, true}) {
    Index index;
    Model model;
    if (with_order) index.ensure_order();
    std::mt19937 random(3);
    std::size_t failed_count = 0;
    for (int step = 0; step < 6'000; ++step) {
      const std::string key =
          step % 2 == 0 ? chunk_key(static_cast<int>(random()), static_cast<int>(random()))
                        : chunk_key(0, static_cast<int>(random() % 5000));
      const Location location = location_of(static_cast<unsigned>(step));
      for (std::size_t failing = 0;; ++failing) {
        bool done = false;
        {
          const varve::test::AllocationFailure failure(failing);
          try {
            index.put(view(key), location);
            done = true;
          } catch (const std::bad_alloc&) {
          }
        }
        if (done) break;
        ++failed_count;
        ASSERT_EQ(index.count(), model.size());
        ASSERT_EQ(index.find(view(key)).has_value(), model.count(key) != 0);
      }
      model[key] = location;
    }
    EXPECT_GT(failed_count, 10u);
    expect_same(index, model);
  }
}

TEST(Index, RunningOutOfMemoryLeavesNoHalfOrder) {
  Index index;
  Model model;
  for (int i = 0; i < 300; ++i) {
    model[chunk_key(i * 7919 % 1000, 0)] = location_of(static_cast<unsigned>(i));
  }
  for (const auto& [key, location] : model) index.put(view(key), location);
  for (std::size_t failing = 0; !index.has_order(); ++failing) {
    const varve::test::AllocationFailure failure(failing);
    try {
      index.ensure_order();
    } catch (const std::bad_alloc&) {
      ASSERT_FALSE(index.has_order());
    }
  }
  expect_same(index, model);
}

TEST(Index, ErasingMovingAndMarkingNeedNoMemory) {
  Index index;
  std::vector<std::string> keys;
  for (int i = 0; i < 20'000; ++i) keys.push_back(chunk_key(i % 70, i / 70));
  for (std::size_t i = 0; i < keys.size(); ++i) index.put(view(keys[i]), location_of(i));
  index.ensure_order();
  const varve::test::AllocationFailure failure(0);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    index.mark_verified(view(keys[i]), location_of(i));
    index.move(view(keys[i]), location_of(i), location_of(i + 1));
    index.erase(view(keys[i]));
  }
  EXPECT_EQ(index.count(), 0u);
}

TEST(Index, MarksWhileOthersRead) {
  Index index;
  std::vector<std::string> keys;
  for (int x = 0; x < 4; ++x) {
    // A full group, a group with room, and lone keys.
    for (int z = 0; z < (x == 0 ? 256 : 20); ++z) keys.push_back(chunk_key(x, z));
    keys.push_back(chunk_key(x, 100'000));
  }
  for (std::size_t i = 0; i < keys.size(); ++i) index.put(view(keys[i]), location_of(i));
  index.ensure_order();

  std::atomic<bool> wrong = false;
  const auto read = [&] {
    for (int round = 0; round < 20; ++round) {
      for (std::size_t i = 0; i < keys.size(); ++i) {
        const auto found = index.find(view(keys[i]));
        if (!found || !(*found == location_of(i))) wrong = true;
      }
      if (entries_from(index, "").size() != keys.size()) wrong = true;
    }
  };
  const auto mark = [&] {
    for (std::size_t i = 0; i < keys.size(); ++i)
      index.mark_verified(view(keys[i]), location_of(i));
  };
  {
    std::vector<std::jthread> threads;
    threads.emplace_back(read);
    threads.emplace_back(mark);
    threads.emplace_back(mark);
  }
  EXPECT_FALSE(wrong);
  for (const std::string& key : keys) EXPECT_TRUE(index.find(view(key))->verified);
}

}  // namespace
}  // namespace varve::log
