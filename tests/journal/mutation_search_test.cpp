// Looking for one thing in an encoded tick, against decoding all of it. The seeds are printed.
#include "journal/mutation_search.h"

#include <gtest/gtest.h>

#include <iostream>
#include <set>

#include "../codec/damage.h"
#include "model_world.h"
#include "search_model.h"

namespace varve::test {
namespace {

using journal::SaidOfComponent;

TEST(MutationSearch, FindsWhatDecodingFinds) {
  std::cout << "seeds 1 to 60\n";
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    RandomGame game(seed);
    for (int n = 0; n < 25; ++n) {
      // Now and then many at a time, so that there are planes and packed lists.
      const TickMutations tick = game.play_tick(seed % 3 == 0 ? 300 : 12);
      const Bytes payload = encode_mutations(tick).value();
      ASSERT_EQ(search_difference(payload, tick), "");
    }
  }
}

TEST(MutationSearch, FindsOneOfManyPackedValues) {
  TickRecorder recorder;
  for (std::uint32_t i = 0; i < 2'000; i += 3) {
    std::string value(12, '\0');
    for (std::size_t p = 0; p < value.size(); ++p)
      value[p] = static_cast<char>(p % 3 == 0 ? i * 7919 >> p : i % (p + 1));
    recorder.insert(make_entity(i, i % 5), 4, Bytes::copy_of(value));
    if (i % 9 == 0) recorder.insert(make_entity(i, i % 5), 7, Bytes::copy_of("x"));
  }
  const TickMutations tick = recorder.take();
  EXPECT_EQ(search_difference(encode_mutations(tick).value(), tick), "");
}

TEST(MutationSearch, DamageIsNoCrash) {
  RandomGame game(5);
  TickMutations tick;
  for (int n = 0; n < 4; ++n) tick = game.play_tick(40);
  const Bytes payload = encode_mutations(tick).value();
  const auto search_all = [](const Bytes& damaged) {
    (void)journal::search_component(damaged, 1, 1);
    (void)journal::search_singleton(damaged, 1);
    (void)journal::search_player(damaged, "p");
    (void)journal::search_global(damaged, "q");
  };
  for_every_prefix(payload, search_all);
  for_every_bit_flip(payload, search_all);
  EXPECT_EQ(journal::search_component({}, 1, 1).error().code(), ErrorCode::corruption);
  Buffer later = payload.clone();
  later.span()[0] = std::byte{0x7f};
  EXPECT_EQ(journal::search_component(std::move(later).freeze(), 1, 1).error().code(),
            ErrorCode::unsupported);
}

}  // namespace
}  // namespace varve::test
