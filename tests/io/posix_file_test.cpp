// What the operating system may do to a file, and what PosixFile makes of it.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <random>
#include <string>

#include "io/posix_faults.h"
#include "io/vfs.h"
#include "support/scratch_dir.h"

namespace varve {
namespace {

using test::Call;
using test::PosixFaults;

class PosixFile : public ::testing::Test {
 protected:
  std::unique_ptr<File> open(OpenMode mode = OpenMode::create) {
    auto file = posix_vfs().open(dir_.file("f"), mode);
    EXPECT_TRUE(file) << file.error().message();
    return std::move(*file);
  }

  test::ScratchDir dir_;
  PosixFaults faults_;
};

TEST_F(PosixFile, ShortTransfersAreFinished) {
  const auto file = open();
  faults_.limit_transfers(3);
  ASSERT_TRUE(file->write_at(0, as_byte_view("0123456789")));
  EXPECT_EQ(faults_.count(Call::pwrite), 4);
  std::string back(10, '?');
  ASSERT_TRUE(file->read_exactly(0, std::as_writable_bytes(std::span(back))));
  EXPECT_EQ(back, "0123456789");
  EXPECT_EQ(faults_.count(Call::pread), 4);
}

TEST_F(PosixFile, InterruptedTransfersAreTriedAgain) {
  const auto file = open();
  faults_.fail(Call::pwrite, EINTR, 2);
  ASSERT_TRUE(file->write_at(0, as_byte_view("abc")));
  EXPECT_EQ(faults_.count(Call::pwrite), 3);
  faults_.fail(Call::pread, EINTR, 2);
  const auto all = file->read_all(100);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->text(), "abc");
  faults_.fail(Call::ftruncate, EINTR, 1);
  ASSERT_TRUE(file->truncate(1));
  EXPECT_EQ(*file->size(), 1u);
}

TEST_F(PosixFile, AWriteThatMakesNoProgressIsAFullDisk) {
  const auto file = open();
  faults_.limit_transfers(0);
  const Status written = file->write_at(0, as_byte_view("abc"));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), ErrorCode::out_of_space);
}

TEST_F(PosixFile, ErrorsSayWhatWhereAndWhy) {
  const auto file = open();
  faults_.fail(Call::pwrite, ENOSPC);
  const Status written = file->write_at(4096, as_byte_view("abc"));
  EXPECT_EQ(written.error().code(), ErrorCode::out_of_space);
  EXPECT_EQ(written.error().message(),
            dir_.file("f") +
                ": write of 3 bytes at offset 4096 failed: No space left on device (ENOSPC)");
  EXPECT_TRUE(file->write_at(4096, as_byte_view("abc"))) << "a full disk is not for ever";
}

TEST_F(PosixFile, AfterAFailedSyncNothingIsWrittenOrSyncedAgain) {
  const auto file = open();
  ASSERT_TRUE(file->write_at(0, as_byte_view("abc")));
  faults_.fail(Call::fdatasync, EIO);
  EXPECT_EQ(file->sync_data().error().code(), ErrorCode::io);
  // The kernel would say yes now; nobody may ask.
  EXPECT_FALSE(file->sync_data());
  EXPECT_FALSE(file->sync_all());
  EXPECT_FALSE(file->write_at(0, as_byte_view("abc")));
  EXPECT_FALSE(file->append(as_byte_view("abc")));
  EXPECT_FALSE(file->truncate(0));
  EXPECT_FALSE(file->extend_written(100));
  EXPECT_EQ(file->punch_hole(0, 0).error().code(), ErrorCode::io);
  EXPECT_EQ(faults_.count(Call::fdatasync), 1);
  EXPECT_EQ(faults_.count(Call::fsync), 0);
  EXPECT_EQ(file->read_all(100)->text(), "abc") << "reading is still allowed";
  EXPECT_NE(file->sync_data().error().message().find("earlier sync"), std::string::npos);
}

TEST_F(PosixFile, AnInterruptedSyncIsNotTriedAgain) {
  const auto file = open();
  faults_.fail(Call::fsync, EINTR);
  EXPECT_FALSE(file->sync_all());
  EXPECT_EQ(faults_.count(Call::fsync), 1);
}

TEST_F(PosixFile, AFailedCloseIsReportedOnceAndNeverRepeated) {
  const auto file = open();
  faults_.fail(Call::close, EIO);
  EXPECT_EQ(file->close().error().code(), ErrorCode::io);
  EXPECT_TRUE(file->close());
  EXPECT_EQ(faults_.count(Call::close), 1);
  EXPECT_FALSE(file->write_at(0, as_byte_view("x")));
}

TEST_F(PosixFile, AFailedAppendIsOverwrittenByTheNext) {
  const auto file = open();
  ASSERT_TRUE(file->append(as_byte_view("committed.")));
  // Four bytes reach the disk before it is full.
  faults_.limit_transfers(4);
  faults_.fail(Call::pwrite, ENOSPC, 1, 1);
  EXPECT_FALSE(file->append(as_byte_view("torn bytes")));
  EXPECT_EQ(*file->size(), 14u);
  faults_.limit_transfers(100);
  const auto offset = file->append(as_byte_view("next"));
  ASSERT_TRUE(offset);
  EXPECT_EQ(*offset, 10u);
  EXPECT_EQ(file->read_all(100)->text(), "committed.next");
}

TEST_F(PosixFile, ExtendedSpaceIsWrittenNotOnlyReserved) {
  const auto file = open();
  ASSERT_TRUE(file->append(as_byte_view("head")));
  ASSERT_TRUE(file->extend_written(600'000));
  EXPECT_EQ(*file->size(), 600'000u);
  EXPECT_GE(faults_.count(Call::pwrite), 3) << "zeros go through pwrite";
  const auto all = file->read_all(1'000'000);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->slice(0, 4).text(), "head");
  EXPECT_EQ(all->slice(4), Bytes::copy_of(std::string(599'996, '\0')));
  ASSERT_TRUE(file->extend_written(10)) << "never cuts";
  EXPECT_EQ(*file->size(), 600'000u);
}

TEST_F(PosixFile, AHoleGivesItsSpaceBack) {
  constexpr std::size_t kSize = 1 << 20;
  // Noise, so that no file system packs it.
  std::string noise(kSize, '\0');
  std::mt19937 random(1);
  for (char& c : noise) c = static_cast<char>(random());
  const auto file = open();
  ASSERT_TRUE(file->append(as_byte_view(noise)));
  ASSERT_TRUE(file->sync_all()) << "blocks are counted when they are written";
  const auto block_count = [&] {
    struct stat info;
    EXPECT_EQ(stat(dir_.file("f").c_str(), &info), 0);
    return info.st_blocks;
  };
  const auto before = block_count();
  const Status punched = file->punch_hole(kSize / 4, kSize / 2);
  if (!punched && punched.error().code() == ErrorCode::unsupported) {
    GTEST_SKIP() << punched.error().message();
  }
  ASSERT_TRUE(punched) << punched.error().message();
  ASSERT_TRUE(file->sync_all());
  // The file system may need a block or two for its own notes.
  EXPECT_LT(block_count(), before - static_cast<blkcnt_t>(kSize / 2 / 512) + 64);
  EXPECT_EQ(*file->size(), kSize);
}

TEST_F(PosixFile, AnInterruptedPunchIsTriedAgain) {
  const auto file = open();
  ASSERT_TRUE(file->truncate(8192));
  faults_.fail(Call::fallocate, EINTR, 2);
  const Status punched = file->punch_hole(0, 4096);
  EXPECT_EQ(faults_.count(Call::fallocate), 3);
  EXPECT_TRUE(punched || punched.error().code() == ErrorCode::unsupported)
      << punched.error().message();
}

TEST_F(PosixFile, APunchThatCannotBeIsUnsupportedAndChangesNothing) {
  const auto file = open();
  const std::string page(4096, 'x');
  ASSERT_TRUE(file->append(as_byte_view(page)));
  for (const int failure : {EOPNOTSUPP, ENOSYS}) {
    faults_.fail(Call::fallocate, failure);
    EXPECT_EQ(file->punch_hole(0, 4096).error().code(), ErrorCode::unsupported);
  }
  faults_.fail(Call::fallocate, EIO);
  const Status failed = file->punch_hole(0, 4096);
  EXPECT_EQ(failed.error().message(),
            dir_.file("f") +
                ": punching a hole of 4096 bytes at offset 0 failed: Input/output error (EIO)");
  EXPECT_EQ(file->read_all(9999)->text(), page);
  EXPECT_TRUE(file->sync_data()) << "a punch that failed does not latch";
}

TEST_F(PosixFile, ADirectoryOrADeviceIsNotAFile) {
  EXPECT_EQ(posix_vfs().open(dir_.path(), OpenMode::read).error().code(),
            ErrorCode::invalid_argument);
  EXPECT_EQ(posix_vfs().open("/dev/null", OpenMode::write).error().code(),
            ErrorCode::invalid_argument);
}

TEST_F(PosixFile, APipeDoesNotBlock) {
  ASSERT_EQ(mkfifo(dir_.file("pipe").c_str(), 0600), 0);
  for (const OpenMode mode : {OpenMode::read, OpenMode::write, OpenMode::create}) {
    EXPECT_EQ(posix_vfs().open(dir_.file("pipe"), mode).error().code(),
              ErrorCode::invalid_argument);
  }
}

TEST_F(PosixFile, ALinkIsReadButNotWrittenThrough) {
  ASSERT_TRUE(open()->append(as_byte_view("abc")));
  ASSERT_EQ(symlink("f", dir_.file("l").c_str()), 0);
  EXPECT_EQ((*posix_vfs().open(dir_.file("l"), OpenMode::read))->read_all(9)->text(), "abc");
  for (const OpenMode mode : {OpenMode::write, OpenMode::create, OpenMode::replace}) {
    const auto file = posix_vfs().open(dir_.file("l"), mode);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code(), ErrorCode::invalid_argument);
    EXPECT_NE(file.error().message().find("symbolic link"), std::string::npos);
  }
}

TEST_F(PosixFile, APathIsResolvedUpToItsLastName) {
  ASSERT_TRUE(posix_vfs().create_dir(dir_.file("folder")));
  ASSERT_EQ(symlink("folder", dir_.file("link").c_str()), 0);
  const auto resolved = [&](std::string_view name) {
    const auto path = posix_vfs().resolve(dir_.file(name));
    return path ? *path : std::string(to_string(path.error().code()));
  };
  const std::string folder = resolved("folder");
  EXPECT_TRUE(folder.starts_with('/')) << folder;
  EXPECT_TRUE(folder.ends_with("/folder")) << folder;
  EXPECT_EQ(resolved("link"), folder);
  EXPECT_EQ(resolved("./link/../link/"), folder);
  EXPECT_EQ(resolved("link/absent"), folder + "/absent");
  EXPECT_EQ(resolved("no/absent"), "not_found");
}

TEST_F(PosixFile, ALinkInTheListHidesNothingAndIsNoFolder) {
  ASSERT_TRUE(open());
  ASSERT_EQ(symlink("nowhere", dir_.file("dangling").c_str()), 0);
  ASSERT_EQ(symlink("loop", dir_.file("loop").c_str()), 0);
  ASSERT_EQ(symlink("f/x", dir_.file("through-a-file").c_str()), 0);
  ASSERT_EQ(symlink(".", dir_.file("to-a-folder").c_str()), 0);
  const auto entries = posix_vfs().list(dir_.path());
  ASSERT_TRUE(entries) << entries.error().message();
  const std::vector<DirEntry> expected{{"dangling", FileKind::other},
                                       {"f", FileKind::file},
                                       {"loop", FileKind::other},
                                       {"through-a-file", FileKind::other},
                                       {"to-a-folder", FileKind::directory}};
  EXPECT_EQ(*entries, expected);
  EXPECT_EQ(posix_vfs().create_dir(dir_.file("to-a-folder")).error().code(),
            ErrorCode::invalid_argument);
}

// The message of a failure needs memory; the latch must not wait for it.
TEST_F(PosixFile, ASyncThatThrowsLatchesToo) {
  class ThrowingFile final : public File {
   public:
    ThrowingFile() : File("throwing") {}

   private:
    Result<std::size_t> do_read(std::uint64_t, std::span<std::byte>) const override { return 0; }
    Status do_write(std::uint64_t, ByteView) override { return {}; }
    Status do_truncate(std::uint64_t) override { return {}; }
    Status do_extend_written(std::uint64_t, std::uint64_t) override { return {}; }
    Status do_punch_hole(std::uint64_t, std::uint64_t) override { return {}; }
    Status do_sync(bool) override {
      if (!std::exchange(thrown_, true)) throw std::bad_alloc();
      return {};
    }
    Result<std::uint64_t> do_size() const override { return 0; }
    Result<Bytes> do_map(std::uint64_t, std::size_t) const override { return Bytes(); }
    Status do_close() override { return {}; }
    bool thrown_ = false;
  } file;
  EXPECT_THROW((void)file.sync_data(), std::bad_alloc);
  EXPECT_FALSE(file.sync_data());
  File* both[] = {&file};
  EXPECT_FALSE(posix_vfs().sync_data(both));
}

TEST_F(PosixFile, SyncingSeveralTriesAllAndReportsAFailure) {
  std::vector<std::unique_ptr<File>> files;
  std::vector<File*> pointers;
  for (int i = 0; i < 11; ++i) {
    files.push_back(*posix_vfs().open(dir_.file(std::to_string(i)), OpenMode::create));
    ASSERT_TRUE(files.back()->append(as_byte_view("x")));
    pointers.push_back(files.back().get());
  }
  ASSERT_TRUE(posix_vfs().sync_data(pointers));
  ASSERT_TRUE(posix_vfs().sync_data({}));
  // The calling thread takes files 0 and 8; its first sync fails.
  faults_.fail(Call::fdatasync, EIO);
  EXPECT_FALSE(posix_vfs().sync_data(pointers));
  EXPECT_GE(faults_.count(Call::fdatasync), 4) << "files 0 and 8, twice: a failure ends nothing";
  EXPECT_FALSE(files[0]->append(as_byte_view("y"))) << "latched";
  for (int i = 1; i < 11; ++i) EXPECT_TRUE(files[i]->append(as_byte_view("y"))) << i;
}

}  // namespace
}  // namespace varve
