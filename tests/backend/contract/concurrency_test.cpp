// Readers beside writers: whole batches, and never back in time.
#include <mutex>
#include <set>
#include <thread>

#include "backend/contract/backend_contract.h"
#include "support/readers.h"

namespace varve::test {
namespace {

constexpr int kRoundCount = 60;

// Writes rounds of batches beside readers. What half a batch shows, it shows for a moment only, so
// that one batch at a time would hardly ever be caught at it.
template <class Write>
void write_beside(const Readers& readers, const BackendSubject& subject, Write write) {
  const int burst_count = subject.is_quick() ? 15 : 1;
  int number = 2;
  for (int round = 0; round < kRoundCount; ++round) {
    for (int i = 0; i < burst_count; ++i) write(number++);
    readers.let_one_read();
  }
}

TEST_P(BackendContract, ManyKeysAreOfOneBatch) {
  const std::vector<Bytes> keys{at("a"), at("b"), at("c")};
  must({{"a", "1"}, {"b", "1"}, {"c", "1"}});
  const Readers readers(3, [&] {
    const auto results = backend().multi_get(keys);
    ASSERT_EQ(results.size(), 3u);
    ASSERT_EQ(text_of(results[0]), text_of(results[1]));
    ASSERT_EQ(text_of(results[0]), text_of(results[2]));
  });
  write_beside(readers, subject(), [&](int i) {
    const std::string text = std::to_string(i);
    // The last one is put, erased and put: nobody sees it missing.
    must({{"a", text}, {"c", "half"}, {"c", std::nullopt}, {"b", text}, {"c", text}});
  });
}

TEST_P(BackendContract, NobodyReadsBackInTime) {
  must({{"a", "1"}});
  const Readers readers(3, [&] {
    const std::uint64_t before = backend().sequence();
    const int first = std::stoi(text_at("a"));
    const int second = std::stoi(text_at("a"));
    const std::uint64_t after = backend().sequence();
    ASSERT_LE(first, second);
    ASSERT_LE(before, after);
    if (before == after) {
      ASSERT_EQ(first, second) << "both of batch " << before;
    }
  });
  write_beside(readers, subject(), [&](int i) { must({{"a", std::to_string(i)}}); });
}

TEST_P(BackendContract, APageIsOfOneBatch) {
  // There are always as many entries as their values say.
  must({{"10", "1"}});
  const Readers readers(2, [&] {
    const auto page = backend().range({}).value();
    for (const RangeEntry& entry : page.entries) {
      ASSERT_EQ(entry.value.value().text(), std::to_string(page.entries.size()));
    }
  });
  write_beside(readers, subject(), [&](int i) {
    const int count = i % 20 + 1;
    WriteBatch grown;
    for (int key = 10; key < 31; ++key) {
      const Bytes name = at(std::to_string(key));
      if (key < 10 + count) {
        grown.put(name, Bytes::copy_of(std::to_string(count)));
      } else {
        grown.erase(name);
      }
    }
    must(grown);
  });
}

TEST_P(BackendContract, SnapshotsTakenBesideAWriterAreWholeAndStaySo) {
  must({{"a", "1"}, {"b", "1"}});
  const Readers readers(3, [&] {
    const auto held = backend().snapshot().value();
    const std::uint64_t sequence = held->sequence();
    const std::string first = text_at(*held, "a");
    std::this_thread::yield();
    ASSERT_EQ(text_at(*held, "b"), first);
    ASSERT_EQ(contents_of(*held), contents({{"a", first}, {"b", first}}));
    ASSERT_EQ(held->sequence(), sequence);
    ASSERT_LE(sequence, backend().sequence());
  });
  write_beside(readers, subject(),
               [&](int i) { must({{"a", std::to_string(i)}, {"b", std::to_string(i)}}); });
}

TEST_P(BackendContract, WritersQueueUp) {
  constexpr int kWriterCount = 4;
  constexpr int kEach = 20;
  std::mutex mutex;
  std::set<std::uint64_t> sequences;
  {
    std::vector<std::jthread> writers;
    for (int writer = 0; writer < kWriterCount; ++writer) {
      writers.emplace_back([&, writer] {
        std::uint64_t last = 0;
        for (int i = 0; i < kEach; ++i) {
          const std::string text = std::to_string(writer);
          const std::uint64_t sequence =
              must({{"by " + text + " " + std::to_string(i), text}, {"one", text}, {"two", text}});
          EXPECT_GT(sequence, last);
          last = sequence;
          const std::lock_guard lock(mutex);
          sequences.insert(sequence);
        }
      });
    }
  }
  EXPECT_EQ(sequences.size(), std::size_t{kWriterCount * kEach}) << "each batch has its number";
  EXPECT_EQ(*sequences.rbegin(), backend().sequence());
  EXPECT_EQ(backend().stats().entry_count, std::uint64_t{kWriterCount * kEach + 2});
  EXPECT_EQ(text_at("one"), text_at("two"));
}

TEST_P(BackendContract, EverythingThatLooksRunsBesideAWriter) {
  must({{"a", "1"}});
  const Readers readers(2, [&] {
    const BackendStats stats = backend().stats();
    ASSERT_EQ(stats.entry_count, 1u);
    ASSERT_LE(stats.durable_sequence, stats.sequence);
    ASSERT_TRUE(backend().verify().value().empty());
    ASSERT_TRUE(backend().verify(VerifyScope::structure).value().empty());
    ASSERT_TRUE(backend().sync());
  });
  write_beside(readers, subject(), [&](int i) { must({{"a", std::to_string(i)}}); });
}

}  // namespace
}  // namespace varve::test
