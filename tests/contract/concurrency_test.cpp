// Readers on other threads while commits run: whole generations, and never back in time.
#include <thread>

#include "contract/store_contract.h"
#include "support/readers.h"

namespace varve::test {
namespace {

TEST_P(StoreContract, ReadersNeverSeeHalfACommitOrGoBack) {
  const auto texts = [&](int i) {
    return Commit{.tick = static_cast<std::uint64_t>(i),
                  .chunks = {chunk(at(1), std::to_string(i)), chunk(at(2), std::to_string(i))}};
  };
  must(texts(1));
  const Readers readers(3, [&] {
    const std::uint64_t before = store().generation();
    const auto first = store().read_chunk(at(1)).value();
    const auto second = store().read_chunk(at(2)).value();
    const std::uint64_t after = store().generation();
    ASSERT_TRUE(first && second);
    ASSERT_GE(after, before);
    if (before == after) {
      ASSERT_EQ(first, second) << "in generation " << before;
    }
  });
  for (int i = 2; i <= 60; ++i) {
    must(texts(i));
    readers.let_one_read();
  }
}

TEST_P(StoreContract, AListingIsOfOneGeneration) {
  // All chunks of a generation have the same size, and it has as many as its number says.
  const auto grown = [&](int i) {
    Commit commit;
    for (int x = 0; x <= i; ++x) {
      commit.chunks.push_back(chunk(at(x), std::string(static_cast<std::size_t>(i), 'x')));
    }
    return commit;
  };
  must(grown(1));
  const Readers readers(2, [&] {
    std::vector<std::uint64_t> sizes;
    ASSERT_TRUE(store().list_chunks({}, [&](const ChunkInfo& info) {
      sizes.push_back(info.payload_size);
      std::this_thread::yield();
      return true;
    }));
    for (const std::uint64_t size : sizes) ASSERT_EQ(size, sizes.front());
    ASSERT_EQ(payload(RecordKind::chunk, std::string(sizes.size() - 1, 'x')).size(), sizes.front());
  });
  for (int i = 2; i <= 60; ++i) {
    must(grown(i));
    readers.let_one_read();
  }
}

TEST_P(StoreContract, EntitiesOfAChunkAreOfOneGeneration) {
  const ChunkPos home = owner(1);
  const auto both = [&](int i) {
    return Commit{
        .entities = {entity(1, home, std::to_string(i)), entity(2, home, std::to_string(i))}};
  };
  if (!applies(can().entities, both(1))) return;
  must(both(1));
  const Readers readers(3, [&] {
    const auto there = store().read_entities_of(home).value();
    ASSERT_EQ(there.size(), 2u);
    ASSERT_EQ(there[0].data, there[1].data);
  });
  for (int i = 2; i <= 60; ++i) {
    must(both(i));
    readers.let_one_read();
  }
}

TEST_P(StoreContract, PinsTakenDuringCommitsAreWhole) {
  must({.tick = 1, .chunks = {chunk(at(1), "1"), chunk(at(2), "1")}});
  if (!can().pins) {
    const auto pin = store().pin();
    ASSERT_FALSE(pin);
    EXPECT_EQ(pin.error().code(), ErrorCode::unsupported);
    return;
  }
  const Readers readers(3, [&] {
    const auto pin = store().pin().value();
    const Bytes expected = payload(RecordKind::chunk, std::to_string(pin->tick()));
    ASSERT_EQ(pin->read_chunk(at(1)).value(), expected);
    std::this_thread::yield();
    ASSERT_EQ(pin->read_chunk(at(2)).value(), expected);
  });
  for (int i = 2; i <= 60; ++i) {
    must({.tick = static_cast<std::uint64_t>(i),
          .chunks = {chunk(at(1), std::to_string(i)), chunk(at(2), std::to_string(i))}});
    readers.let_one_read();
  }
}

}  // namespace
}  // namespace varve::test
