// A log on a disk whose syncs fail.
//
// A program of its own: the system calls it replaces are some that ThreadSanitizer must see.
#include <gtest/gtest.h>

#include <cerrno>

#include "backend/log/log_views.h"
#include "backend/log/sample_log.h"
#include "backend/log/small_log.h"
#include "io/posix_faults.h"
#include "support/scratch_dir.h"

namespace varve::test {
namespace {

TEST(LogFailedSync, ABatchIsWrittenAgainElsewhereAndIsDone) {
  const ScratchDir dir;
  auto backend = log::open_log(posix_vfs(), dir.file("log"), small_log_options()).value();
  PosixFaults faults;
  for (int i = 0; i < 20; ++i) {
    faults.fail(Call::fdatasync, EIO);
    EXPECT_TRUE(backend->write(one("a", std::to_string(i))));
    EXPECT_EQ(value_at(*backend, "a"), std::to_string(i));
    EXPECT_EQ(backend->stats().durable_sequence, backend->sequence());
  }
  ASSERT_TRUE(backend->close());
  backend = log::open_log(posix_vfs(), dir.file("log"), small_log_options()).value();
  EXPECT_TRUE(backend->open_report().problems.empty());
  EXPECT_EQ(value_at(*backend, "a"), "19");
}

TEST(LogFailedSync, AValueThatIsDamagedLaterCostsItselfAloneThoughItWasWrittenAgain) {
  const ScratchDir dir;
  const std::string path = dir.file("log");
  auto backend = log::open_log(posix_vfs(), path, small_log_options()).value();
  WriteBatch batch = one("a", text_of(5000, 1));
  batch.put(as_byte_view("b"), Bytes::copy_of(text_of(5000, 2)));
  PosixFaults faults;
  faults.fail(Call::fdatasync, EIO);
  ASSERT_TRUE(backend->write(batch));
  ASSERT_TRUE(backend->close());
  for (const std::string& file : files_of(posix_vfs(), path)) {
    Buffer contents = read_file(posix_vfs(), file).clone();
    const std::size_t at = as_text(contents.view()).find(text_of(5000, 1));
    if (at == std::string_view::npos) continue;
    contents.span()[at + 100] ^= std::byte{1};
    write_file(posix_vfs(), file, contents.view());
  }
  backend = log::open_log(posix_vfs(), path, small_log_options()).value();
  EXPECT_TRUE(backend->open_report().problems.empty());
  EXPECT_EQ(backend->get(as_byte_view("a")).error().code(), ErrorCode::corruption);
  EXPECT_EQ(value_at(*backend, "b"), text_of(5000, 2));
}

TEST(LogFailedSync, OneThatFailsAgainMakesTheBatchUncertainAndEndsTheWriting) {
  const ScratchDir dir;
  auto backend = log::open_log(posix_vfs(), dir.file("log"), small_log_options()).value();
  ASSERT_TRUE(backend->write(one("a", "before")));
  PosixFaults faults;
  faults.fail(Call::fdatasync, EIO, 2);
  const WriteResult uncertain = backend->write(one("a", "uncertain"));
  EXPECT_EQ(uncertain.outcome(), WriteOutcome::uncertain);
  const WriteResult refused = backend->write(one("b", "later"));
  EXPECT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("open it again"), std::string::npos)
      << refused.error().message();
  EXPECT_FALSE(backend->sync());
  EXPECT_EQ(value_at(*backend, "a"), "before");
  EXPECT_FALSE(backend->close());
  backend = log::open_log(posix_vfs(), dir.file("log"), small_log_options()).value();
  const std::string found = value_at(*backend, "a");
  EXPECT_TRUE(found == "before" || found == "uncertain") << found;
  EXPECT_EQ(value_at(*backend, "b"), "(none)");
  EXPECT_TRUE(backend->write(one("b", "later")));
}

}  // namespace
}  // namespace varve::test
