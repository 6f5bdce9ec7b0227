// What every disk must do, run on the real one and on the simulated one.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "io/deferred_file.h"
#include "io/path.h"
#include "io/sim/sim_disk.h"
#include "io/vfs.h"
#include "support/scratch_dir.h"

namespace varve {
namespace {

enum class Disk { posix, sim };

class VfsContract : public ::testing::TestWithParam<Disk> {
 protected:
  Vfs& vfs() { return GetParam() == Disk::posix ? posix_vfs() : sim_; }
  std::string path(std::string_view name) const {
    return path_join(GetParam() == Disk::posix ? dir_.path() : "/", name);
  }
  std::unique_ptr<File> open(std::string_view name, OpenMode mode = OpenMode::create) {
    auto file = vfs().open(path(name), mode);
    EXPECT_TRUE(file) << file.error().message();
    return file ? std::move(*file) : nullptr;
  }
  void put(std::string_view name, std::string_view contents) {
    ASSERT_TRUE(open(name, OpenMode::replace)->append(as_byte_view(contents)));
  }
  std::string get(std::string_view name) {
    const auto file = vfs().open(path(name), OpenMode::read);
    if (!file) return std::string(to_string(file.error().code()));
    return std::string((*file)->read_all(1 << 20)->text());
  }
  template <class T>
  ErrorCode code(const Result<T>& result) {
    EXPECT_FALSE(result);
    return result ? ErrorCode::cancelled : result.error().code();
  }

 private:
  test::ScratchDir dir_;
  sim::SimDisk sim_;
};

INSTANTIATE_TEST_SUITE_P(Disks, VfsContract, ::testing::Values(Disk::posix, Disk::sim),
                         [](const auto& info) {
                           return std::string(info.param == Disk::posix ? "Posix" : "Sim");
                         });

TEST_P(VfsContract, OpenModes) {
  EXPECT_EQ(code(vfs().open(path("f"), OpenMode::read)), ErrorCode::not_found);
  EXPECT_EQ(code(vfs().open(path("f"), OpenMode::write)), ErrorCode::not_found);
  EXPECT_EQ(code(vfs().open(path("no/f"), OpenMode::create)), ErrorCode::not_found);
  ASSERT_TRUE(open("f", OpenMode::create_new)->append(as_byte_view("abc")));
  EXPECT_EQ(code(vfs().open(path("f"), OpenMode::create_new)), ErrorCode::invalid_argument);
  EXPECT_EQ(*open("f", OpenMode::create)->size(), 3u);
  EXPECT_EQ(*open("f", OpenMode::write)->size(), 3u);
  const auto reader = open("f", OpenMode::read);
  EXPECT_FALSE(reader->write_at(0, as_byte_view("x")));
  EXPECT_EQ(get("f"), "abc");
  EXPECT_EQ(*open("f", OpenMode::replace)->size(), 0u);
}

TEST_P(VfsContract, ReadsAndWritesAtPositions) {
  const auto file = open("f");
  ASSERT_TRUE(file->write_at(6, as_byte_view("world")));
  ASSERT_TRUE(file->write_at(0, as_byte_view("hello")));
  EXPECT_EQ(get("f"), std::string("hello\0world", 11));
  std::byte out[4];
  EXPECT_EQ(*file->read_at(9, out), 2u) << "short only at the end";
  EXPECT_EQ(*file->read_at(11, out), 0u);
  EXPECT_EQ(*file->read_at(1000, out), 0u);
  EXPECT_EQ(code(file->read_exactly(9, out)), ErrorCode::corruption);
  EXPECT_TRUE(file->write_at(500, {})) << "writing nothing does nothing";
  EXPECT_EQ(*file->size(), 11u);
}

TEST_P(VfsContract, HugeOffsetsAreRefused) {
  const auto file = open("f");
  std::byte out[4];
  EXPECT_EQ(code(file->read_at(~std::uint64_t{0} - 1, out)), ErrorCode::invalid_argument);
  EXPECT_EQ(code(file->write_at(std::uint64_t{1} << 63, out)), ErrorCode::invalid_argument);
  EXPECT_EQ(code(file->truncate(~std::uint64_t{0})), ErrorCode::invalid_argument);
  EXPECT_EQ(code(file->map(~std::uint64_t{0}, 2)), ErrorCode::invalid_argument);
}

TEST_P(VfsContract, ReadAllIsBoundedBeforeItAllocates) {
  ASSERT_TRUE(open("f")->truncate(std::uint64_t{1} << 33));
  EXPECT_EQ(code(open("f")->read_all(1 << 20)), ErrorCode::corruption);
}

TEST_P(VfsContract, AppendsFollowWritesAndTruncation) {
  const auto file = open("f");
  EXPECT_EQ(*file->append(as_byte_view("ab")), 0u);
  ASSERT_TRUE(file->write_at(4, as_byte_view("ef")));
  EXPECT_EQ(*file->append(as_byte_view("gh")), 6u);
  ASSERT_TRUE(file->truncate(3));
  EXPECT_EQ(*file->append(as_byte_view("Z")), 3u);
  EXPECT_EQ(get("f"), std::string("ab\0Z", 4));
}

TEST_P(VfsContract, CutBytesDoNotComeBack) {
  const auto file = open("f");
  ASSERT_TRUE(file->append(as_byte_view("secret")));
  ASSERT_TRUE(file->truncate(1));
  ASSERT_TRUE(file->truncate(6));
  EXPECT_EQ(get("f"), std::string("s\0\0\0\0\0", 6));
}

TEST_P(VfsContract, ExtendsWithZerosAndNeverCuts) {
  const auto file = open("f");
  ASSERT_TRUE(file->append(as_byte_view("x")));
  ASSERT_TRUE(file->extend_written(3));
  ASSERT_TRUE(file->extend_written(2));
  EXPECT_EQ(get("f"), std::string("x\0\0", 3));
  EXPECT_EQ(*file->append(as_byte_view("y")), 3u);
}

TEST_P(VfsContract, AHoleReadsAsZerosAndTheSizeStays) {
  const auto file = open("f");
  const std::string page(4096, 'x');
  const std::string zeros(4096, '\0');
  ASSERT_TRUE(file->append(as_byte_view(page + page + page)));
  const auto mapped = file->map(4000, 200);
  ASSERT_TRUE(mapped);
  const Status punched = file->punch_hole(4096, 4096);
  if (!punched && punched.error().code() == ErrorCode::unsupported) {
    GTEST_SKIP() << punched.error().message();
  }
  ASSERT_TRUE(punched) << punched.error().message();
  EXPECT_EQ(get("f"), page + zeros + page);
  EXPECT_EQ(mapped->text(), page.substr(0, 96) + zeros.substr(0, 104)) << "it shows through";
  EXPECT_EQ(*file->append(as_byte_view("end")), 3 * 4096u);
  ASSERT_TRUE(file->write_at(4096, as_byte_view("again")));
  EXPECT_EQ(get("f").substr(4090, 12), std::string("xxxxxxagain\0", 12));
  EXPECT_TRUE(file->punch_hole(4096, 8192));
  EXPECT_TRUE(file->punch_hole(4096, 8192)) << "a hole may be punched again";
  EXPECT_EQ(get("f"), page + zeros + zeros + "end");
}

TEST_P(VfsContract, AHoleIsMadeOfUnitsInsideTheFile) {
  const auto file = open("f");
  const std::string contents(10'000, 'x');
  ASSERT_TRUE(file->append(as_byte_view(contents)));
  EXPECT_EQ(code(file->punch_hole(1, 4096)), ErrorCode::invalid_argument);
  EXPECT_EQ(code(file->punch_hole(0, 100)), ErrorCode::invalid_argument);
  EXPECT_EQ(code(file->punch_hole(8192, 4096)), ErrorCode::invalid_argument) << "beyond the end";
  EXPECT_EQ(code(file->punch_hole(12'288, 0)), ErrorCode::invalid_argument);
  EXPECT_EQ(code(file->punch_hole(std::uint64_t{1} << 63, 4096)), ErrorCode::invalid_argument);
  EXPECT_EQ(code(file->punch_hole(4096, ~std::uint64_t{4095})), ErrorCode::invalid_argument);
  EXPECT_TRUE(file->punch_hole(4096, 0)) << "punching nothing does nothing";
  EXPECT_FALSE(open("f", OpenMode::read)->punch_hole(0, 4096)) << "it is a change";
  EXPECT_EQ(get("f"), contents);
}

TEST_P(VfsContract, SyncsFilesAndDirectories) {
  const auto file = open("f");
  ASSERT_TRUE(file->append(as_byte_view("x")));
  EXPECT_TRUE(file->sync_data());
  EXPECT_TRUE(file->sync_all());
  EXPECT_TRUE(vfs().sync_dir(path("")));
  EXPECT_EQ(code(vfs().sync_dir(path("absent"))), ErrorCode::not_found);
  const auto other = open("g");
  File* both[] = {file.get(), other.get()};
  EXPECT_TRUE(vfs().sync_data(both));
}

TEST_P(VfsContract, RenameReplacesInOneStep) {
  put("a", "new");
  put("b", "old");
  ASSERT_TRUE(vfs().rename(path("a"), path("b")));
  EXPECT_EQ(get("b"), "new");
  EXPECT_EQ(get("a"), "not_found");
  EXPECT_EQ(code(vfs().rename(path("a"), path("c"))), ErrorCode::not_found);
}

TEST_P(VfsContract, RenameMovesDirectoriesWithTheirFiles) {
  ASSERT_TRUE(vfs().create_dir(path("d")));
  put("d/f", "inside");
  ASSERT_TRUE(vfs().rename(path("d"), path("e")));
  EXPECT_EQ(get("e/f"), "inside");
  ASSERT_TRUE(vfs().create_dir(path("full")));
  put("full/x", "");
  EXPECT_EQ(code(vfs().rename(path("e"), path("full"))), ErrorCode::invalid_argument);
  EXPECT_EQ(code(vfs().rename(path("e"), path("full/x"))), ErrorCode::invalid_argument);
  EXPECT_EQ(code(vfs().rename(path("e"), path("e/inside"))), ErrorCode::invalid_argument);
}

TEST_P(VfsContract, ExchangeSwapsTwoNames) {
  ASSERT_TRUE(vfs().create_dir(path("d")));
  ASSERT_TRUE(vfs().create_dir(path("e")));
  put("d/f", "one");
  put("e/f", "two");
  const Status exchanged = vfs().exchange(path("d"), path("e"));
  if (!exchanged && exchanged.error().code() == ErrorCode::unsupported) {
    GTEST_SKIP() << exchanged.error().message();
  }
  ASSERT_TRUE(exchanged) << exchanged.error().message();
  EXPECT_EQ(get("d/f"), "two");
  EXPECT_EQ(get("e/f"), "one");
  EXPECT_EQ(code(vfs().exchange(path("d"), path("absent"))), ErrorCode::not_found);
}

TEST_P(VfsContract, ALinkIsTheSameFileUntilOneNameGoes) {
  put("a", "shared");
  ASSERT_TRUE(vfs().link(path("a"), path("b")));
  ASSERT_TRUE(open("b", OpenMode::write)->write_at(0, as_byte_view("S")));
  EXPECT_EQ(get("a"), "Shared");
  EXPECT_EQ(code(vfs().link(path("a"), path("b"))), ErrorCode::invalid_argument);
  EXPECT_EQ(code(vfs().link(path("absent"), path("c"))), ErrorCode::not_found);
  EXPECT_EQ(code(vfs().link(path(""), path("c"))), ErrorCode::invalid_argument);
  ASSERT_TRUE(vfs().remove(path("a")));
  EXPECT_EQ(get("b"), "Shared");
}

TEST_P(VfsContract, ListsSortedWithKindsAndSizes) {
  put("b", "12345");
  put("a.tmp", "");
  ASSERT_TRUE(vfs().create_dir(path("c")));
  const auto entries = vfs().list(path(""));
  ASSERT_TRUE(entries);
  const std::vector<DirEntry> expected{
      {"a.tmp", FileKind::file}, {"b", FileKind::file, 5}, {"c", FileKind::directory}};
  EXPECT_EQ(*entries, expected);
  EXPECT_EQ(code(vfs().list(path("absent"))), ErrorCode::not_found);
}

TEST_P(VfsContract, DirectoriesAreMadeAndRemoved) {
  ASSERT_TRUE(vfs().create_dir(path("d")));
  EXPECT_TRUE(vfs().create_dir(path("d"))) << "already there is success";
  put("f", "");
  EXPECT_EQ(code(vfs().create_dir(path("f"))), ErrorCode::invalid_argument);
  EXPECT_EQ(code(vfs().create_dir(path("no/d"))), ErrorCode::not_found);
  put("d/f", "");
  EXPECT_EQ(code(vfs().remove_dir(path("d"))), ErrorCode::invalid_argument);
  ASSERT_TRUE(vfs().remove(path("d/f")));
  EXPECT_TRUE(vfs().remove_dir(path("d")));
  EXPECT_EQ(code(vfs().remove_dir(path("d"))), ErrorCode::not_found);
  EXPECT_EQ(code(vfs().remove(path("d"))), ErrorCode::not_found);
}

TEST_P(VfsContract, TellsWhatIsThere) {
  put("f", "12345");
  EXPECT_EQ(vfs().info(path("f"))->size, 5u);
  EXPECT_EQ(vfs().info(path("f"))->kind, FileKind::file);
  EXPECT_EQ(vfs().info(path(""))->kind, FileKind::directory);
  EXPECT_EQ(code(vfs().info(path("absent"))), ErrorCode::not_found);
  EXPECT_TRUE(*vfs().exists(path("f")));
  EXPECT_FALSE(*vfs().exists(path("absent")));
}

TEST_P(VfsContract, FreeSpaceIsAnswered) {
  const auto space = vfs().free_space(path(""));
  ASSERT_TRUE(space);
  EXPECT_GT(*space, 0u);
}

TEST_P(VfsContract, MappingsStayValidAcrossWritesGrowthAndClose) {
  auto file = open("f");
  ASSERT_TRUE(file->append(as_byte_view(std::string(5000, 'a') + "tail")));
  const auto mapped = file->map(4990, 14);
  ASSERT_TRUE(mapped) << mapped.error().message();
  EXPECT_EQ(mapped->text(), "aaaaaaaaaatail");
  const std::byte* where = mapped->data();
  ASSERT_TRUE(file->write_at(5000, as_byte_view("TAIL")));
  ASSERT_TRUE(file->extend_written(3'000'000));
  ASSERT_TRUE(file->write_at(2'999'999, as_byte_view("z")));
  EXPECT_EQ(mapped->text(), "aaaaaaaaaaTAIL") << "writes show through";
  EXPECT_EQ(mapped->data(), where);
  ASSERT_TRUE(file->close());
  file.reset();
  ASSERT_TRUE(vfs().remove(path("f")));
  EXPECT_EQ(mapped->slice(10).text(), "TAIL") << "it outlives the file and its name";
}

TEST_P(VfsContract, MappingBeyondTheEndIsRefused) {
  const auto file = open("f");
  ASSERT_TRUE(file->append(as_byte_view("abc")));
  EXPECT_EQ(code(file->map(1, 3)), ErrorCode::corruption);
  EXPECT_TRUE(file->map(3, 0)->empty());
}

TEST_P(VfsContract, OneWriterAtATime) {
  auto first = vfs().lock_writer(path("lock"));
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_EQ(code(vfs().lock_writer(path("lock"))), ErrorCode::busy);
  EXPECT_TRUE(vfs().lock_writer(path("other")));
  EXPECT_EQ(code(vfs().lock_writer(path("absent/lock"))), ErrorCode::not_found);
  first->reset();
  EXPECT_TRUE(vfs().lock_writer(path("lock")));
}

TEST_P(VfsContract, ASlotHasOneHolder) {
  put("readers", "");
  auto first = vfs().lock_slot(path("readers"), 3);
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_EQ(code(vfs().lock_slot(path("readers"), 3)), ErrorCode::busy);
  EXPECT_TRUE(*vfs().is_slot_locked(path("readers"), 3)) << "also for who holds it";
  for (const std::uint32_t other : {0u, 2u, 4u, 0xffff'ffffu}) {
    EXPECT_FALSE(*vfs().is_slot_locked(path("readers"), other)) << other;
    const auto lock = vfs().lock_slot(path("readers"), other);
    EXPECT_TRUE(lock) << lock.error().message();
    EXPECT_TRUE(*vfs().is_slot_locked(path("readers"), other)) << other;
  }
  EXPECT_FALSE(*vfs().is_slot_locked(path("readers"), 4)) << "asking takes nothing";
  first->reset();
  EXPECT_FALSE(*vfs().is_slot_locked(path("readers"), 3));
  EXPECT_TRUE(vfs().lock_slot(path("readers"), 3));
  EXPECT_EQ(get("readers"), "") << "nothing is written";
}

TEST_P(VfsContract, SlotsNeedAFile) {
  ASSERT_TRUE(vfs().create_dir(path("d")));
  EXPECT_EQ(code(vfs().lock_slot(path("absent"), 0)), ErrorCode::not_found);
  EXPECT_EQ(code(vfs().is_slot_locked(path("absent"), 0)), ErrorCode::not_found);
  EXPECT_EQ(code(vfs().lock_slot(path("d"), 0)), ErrorCode::invalid_argument);
  EXPECT_EQ(code(vfs().is_slot_locked(path("d"), 0)), ErrorCode::invalid_argument);
  EXPECT_FALSE(*vfs().exists(path("absent"))) << "none is made";
}

TEST_P(VfsContract, SlotsBelongToTheFileNotToItsName) {
  put("a", "");
  const auto lock = vfs().lock_slot(path("a"), 0);
  ASSERT_TRUE(lock);
  ASSERT_TRUE(vfs().rename(path("a"), path("b")));
  put("a", "");
  EXPECT_TRUE(*vfs().is_slot_locked(path("b"), 0));
  EXPECT_FALSE(*vfs().is_slot_locked(path("a"), 0));
  // Who opens and closes the file meanwhile releases nothing.
  EXPECT_EQ(get("b"), "");
  EXPECT_EQ(code(vfs().lock_slot(path("b"), 0)), ErrorCode::busy);
}

TEST_P(VfsContract, SlotsAndTheLockOfAWriterDoNotMeet) {
  put("f", "");
  for (const std::uint32_t index : {0u, 0xffff'ffffu}) {
    auto writer = vfs().lock_writer(path("f"));
    ASSERT_TRUE(writer) << writer.error().message();
    EXPECT_FALSE(*vfs().is_slot_locked(path("f"), index));
    auto slot = vfs().lock_slot(path("f"), index);
    ASSERT_TRUE(slot) << slot.error().message();
    EXPECT_EQ(code(vfs().lock_writer(path("f"))), ErrorCode::busy);
    writer->reset();
    EXPECT_TRUE(*vfs().is_slot_locked(path("f"), index));
    writer = vfs().lock_writer(path("f"));
    EXPECT_TRUE(writer) << "a slot keeps no writer out";
    slot->reset();
    EXPECT_EQ(code(vfs().lock_writer(path("f"))), ErrorCode::busy);
  }
}

TEST_P(VfsContract, AClosedFileRefusesEverything) {
  const auto file = open("f");
  ASSERT_TRUE(file->close());
  EXPECT_TRUE(file->close());
  std::byte out[1];
  EXPECT_EQ(code(file->read_at(0, out)), ErrorCode::invalid_argument);
  EXPECT_EQ(code(file->append(as_byte_view("x"))), ErrorCode::invalid_argument);
  EXPECT_EQ(code(file->sync_data()), ErrorCode::invalid_argument);
  EXPECT_EQ(code(file->size()), ErrorCode::invalid_argument);
  EXPECT_EQ(code(file->truncate(0)), ErrorCode::invalid_argument);
  EXPECT_EQ(code(file->punch_hole(0, 0)), ErrorCode::invalid_argument);
  EXPECT_EQ(code(file->map(0, 0)), ErrorCode::invalid_argument);
}

// Beside a File of its own kind it must be the same to whoever uses it.
TEST_P(VfsContract, AFileThatIsOpenedWhenItIsFirstUsed) {
  DeferredFile absent(vfs(), path("f"), OpenMode::write);
  EXPECT_EQ(code(absent.size()), ErrorCode::not_found);
  put("f", "abc");
  EXPECT_EQ(absent.size().value(), 3u) << "what is there by then";

  DeferredFile file(vfs(), path("f"), OpenMode::write);
  EXPECT_EQ(file.path(), path("f"));
  ASSERT_TRUE(file.write_at(1, as_byte_view("xyz")));
  EXPECT_EQ(file.read_all(100)->text(), "axyz");
  ASSERT_TRUE(file.extend_written(8192));
  ASSERT_TRUE(file.sync_data());
  ASSERT_TRUE(file.sync_all());
  EXPECT_EQ(file.map(0, 4)->text(), "axyz");
  ASSERT_TRUE(vfs().remove(path("f")));
  EXPECT_EQ(file.size().value(), 8192u) << "opened before its name went";
  ASSERT_TRUE(file.truncate(2));
  EXPECT_EQ(file.read_all(100)->text(), "ax");
  EXPECT_TRUE(file.close());
  EXPECT_FALSE(file.size());

  EXPECT_TRUE(DeferredFile(vfs(), path("none"), OpenMode::read).close()) << "it was never opened";
}

}  // namespace
}  // namespace varve
