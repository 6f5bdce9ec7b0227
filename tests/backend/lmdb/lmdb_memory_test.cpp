// An LMDB backend whose memory runs out, at every place where it asks for some.
#include <optional>

#include "backend/lmdb/lmdb_sample.h"
#include "support/allocation_watch.h"
#include "support/scratch_dir.h"

namespace varve::test {
namespace {

constexpr std::size_t kFailureCountMax = 2000;

// Calls attempt(i) for i = 0, 1, ... until it says that memory was enough.
template <class Attempt>
void for_every_failure(Attempt attempt) {
  std::size_t i = 0;
  while (i < kFailureCountMax && !attempt(i) && !testing::Test::HasFailure()) ++i;
  EXPECT_LT(i, kFailureCountMax) << "it never ends";
}

TEST(LmdbMemory, OpeningFailsAndTheNextTimeDoesNot) {
  for_every_failure([](std::size_t i) {
    SCOPED_TRACE(i);
    const ScratchDir dir;
    const std::string path = dir.file("lmdb");
    bool is_open = false;
    {
      const AllocationFailure failure(i);
      is_open = open_lmdb_backend(path).has_value();
    }
    const auto again = open_lmdb_backend(path);
    EXPECT_TRUE(again) << again.error().message();
    return is_open;
  });
}

TEST(LmdbMemory, ABatchIsThereOrNot) {
  const ScratchDir dir;
  const auto backend = open_lmdb_backend(dir.file("lmdb")).value();
  ASSERT_TRUE(backend->write(one("a", "before")));
  std::uint64_t sequence = 1;
  for_every_failure([&](std::size_t i) {
    SCOPED_TRACE(i);
    const WriteBatch batch = one("a", text_of(9000, i));
    std::optional<WriteResult> result;
    {
      const AllocationFailure failure(i);
      result.emplace(backend->write(batch));
    }
    sequence += result->ok();
    EXPECT_EQ(backend->sequence(), sequence);
    EXPECT_EQ(value_at(*backend, "a"), result->ok() ? text_of(9000, i) : "before");
    return result->ok();
  });
  EXPECT_TRUE(backend->write(one("a", "after")));
}

TEST(LmdbMemory, ReadingFailsAndTheNextTimeDoesNot) {
  const ScratchDir dir;
  const auto backend = open_lmdb_backend(dir.file("lmdb")).value();
  for (std::uint64_t n = 1; n <= 10; ++n) ASSERT_TRUE(backend->write(history_batch(n)));
  const std::vector<Bytes> keys{Bytes::copy_of("number"), Bytes::copy_of("none")};
  for_every_failure([&](std::size_t i) {
    SCOPED_TRACE(i);
    bool is_enough = true;
    {
      const AllocationFailure failure(i);
      is_enough = backend->get(keys[0]).has_value() && is_enough;
      const auto many = backend->multi_get(keys);
      is_enough = many.size() == 2 && many[0] && many[1] && is_enough;
      is_enough = backend->range({}).has_value() && is_enough;
      is_enough = backend->verify().has_value() && is_enough;
      const auto held = backend->snapshot();
      is_enough = held && (*held)->get(keys[0]) && (*held)->range({}) && is_enough;
      (void)backend->stats();
    }
    EXPECT_EQ(contents_of(*backend).value(), history_after(10));
    return is_enough;
  });
}

}  // namespace
}  // namespace varve::test
