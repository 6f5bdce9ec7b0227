// Readers who may not write: a mount that is read-only, somebody else's files, a disk that fails.
#include <gtest/gtest.h>

#include "backend/log/small_log.h"
#include "io/vfs.h"
#include "support/read_only_vfs.h"
#include "support/scratch_dir.h"

namespace varve::test {
namespace {

class LogReadOnly : public testing::Test {
 protected:
  LogReadOnly() {
    const auto log = log::open_log(posix_vfs(), dir_.path(), small_log_options());
    EXPECT_TRUE(log);
    WriteBatch batch;
    batch.put(as_byte_view("weather"), Bytes::copy_of("rain"));
    EXPECT_TRUE((*log)->write(batch));
    EXPECT_TRUE((*log)->close());
  }
  Result<std::unique_ptr<Backend>> read() {
    return log::open_log_to_read(disk_, dir_.path(), small_log_options());
  }

  ScratchDir dir_;
  ReadOnlyVfs disk_;
};

TEST_F(LogReadOnly, ShowsWhatIsThereAndLetsNobodyWriteMeanwhile) {
  const auto one = read();
  ASSERT_TRUE(one) << one.error().message();
  const auto other = read();
  ASSERT_TRUE(other) << other.error().message();
  for (const auto* reader : {&one, &other}) {
    EXPECT_EQ((**reader)->get(as_byte_view("weather")).value().value().text(), "rain");
    EXPECT_TRUE((**reader)->refresh());
  }
  const auto snapshot = (*one)->snapshot();
  ASSERT_TRUE((*one)->close());
  ASSERT_TRUE((*other)->close());
  EXPECT_EQ(log::open_log(posix_vfs(), dir_.path(), small_log_options()).error().code(),
            ErrorCode::busy)
      << "a snapshot is held";
}

TEST_F(LogReadOnly, IsBusyWhileSomebodyWrites) {
  const auto writer = log::open_log(posix_vfs(), dir_.path(), small_log_options());
  ASSERT_TRUE(writer);
  const auto refused = read();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::busy);
  for (const char* part : {"read-only", "held for writing by process"}) {
    EXPECT_NE(refused.error().message().find(part), std::string::npos) << refused.error().message();
  }
  ASSERT_TRUE((*writer)->close());
}

TEST_F(LogReadOnly, ACopyWithoutTheFilesOfLocksIsShown) {
  ASSERT_TRUE(posix_vfs().remove(dir_.file("lock")));
  ASSERT_TRUE(posix_vfs().remove(dir_.file("readers")));
  const auto reader = read();
  ASSERT_TRUE(reader) << reader.error().message();
  EXPECT_EQ((*reader)->get(as_byte_view("weather")).value().value().text(), "rain");
  EXPECT_FALSE(posix_vfs().exists(dir_.file("readers")).value());
}

}  // namespace
}  // namespace varve::test
