#include "io/sim/sim_disk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace varve::sim {
namespace {

TEST(SimDisk, FailsTheNthOperationOnce) {
  SimDisk disk;
  disk.set_fault(Fault{.op_number = 2, .code = ErrorCode::io});
  const auto file = disk.open("f", OpenMode::create);
  ASSERT_TRUE(file);
  const Status second = (*file)->write_at(0, as_byte_view("x"));
  EXPECT_EQ(second.error().message(), "f: write failed: simulated io at operation 2");
  EXPECT_TRUE((*file)->write_at(0, as_byte_view("x")));
}

TEST(SimDisk, FailsFromTheNthOperationOn) {
  SimDisk disk;
  disk.set_fault(Fault{.op_number = 2, .code = ErrorCode::out_of_space, .from_then_on = true});
  const auto file = disk.open("f", OpenMode::create);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ((*file)->write_at(0, as_byte_view("x")).error().code(), ErrorCode::out_of_space);
  }
  EXPECT_FALSE(disk.info("f"));
  disk.set_fault(std::nullopt);
  EXPECT_TRUE(disk.info("f"));
}

TEST(SimDisk, EveryCallCountsAndCanFail) {
  const auto each = [](SimDisk& disk) {
    std::vector<bool> results;
    auto file = disk.open("f", OpenMode::create);
    results.push_back(file.ok());
    if (!file) return results;
    std::byte out[1];
    results.push_back((*file)->write_at(0, as_byte_view("x")).ok());
    results.push_back((*file)->read_at(0, out).ok());
    results.push_back((*file)->size().ok());
    results.push_back((*file)->truncate(4096).ok());
    results.push_back((*file)->punch_hole(0, 4096).ok());
    results.push_back((*file)->sync_data().ok());
    results.push_back((*file)->close().ok());
    results.push_back(disk.create_dir("d").ok());
    results.push_back(disk.link("f", "g").ok());
    results.push_back(disk.exchange("f", "g").ok());
    results.push_back(disk.rename("g", "h").ok());
    results.push_back(disk.list(".").ok());
    results.push_back(disk.info("f").ok());
    results.push_back(disk.sync_dir(".").ok());
    results.push_back(disk.free_space(".").ok());
    results.push_back(disk.lock_writer("lock").ok());
    results.push_back(disk.lock_slot("f", 0).ok());
    results.push_back(disk.is_slot_locked("f", 0).ok());
    results.push_back(disk.remove("f").ok());
    results.push_back(disk.remove_dir("d").ok());
    return results;
  };
  SimDisk healthy;
  const std::size_t count = each(healthy).size();
  EXPECT_EQ(healthy.op_count(), count);
  for (std::size_t n = 1; n <= count; ++n) {
    SimDisk disk;
    disk.set_fault(Fault{.op_number = n});
    const std::vector<bool> results = each(disk);
    EXPECT_FALSE(results[n - 1]) << n;
  }
}

TEST(SimDisk, AFullDiskRefusesAndRecovers) {
  SimDisk disk;
  disk.set_capacity(1000);
  const auto file = *disk.open("f", OpenMode::create);
  ASSERT_TRUE(file->extend_written(900));
  EXPECT_EQ(*disk.free_space("."), 100u);
  const std::string big(200, 'x');
  EXPECT_EQ(file->append(as_byte_view(big)).error().code(), ErrorCode::out_of_space);
  EXPECT_EQ(*file->size(), 900u);
  EXPECT_TRUE(file->write_at(0, as_byte_view(big))) << "overwriting needs no space";
  ASSERT_TRUE(disk.remove("f"));
  EXPECT_EQ(*disk.free_space("."), 1000u);
}

TEST(SimDisk, ADiskWithoutLinksRefusesThemAndChangesNothing) {
  SimDisk disk;
  ASSERT_TRUE(disk.open("a", OpenMode::create));
  ASSERT_TRUE(disk.open("b", OpenMode::create));
  disk.set_links(false);
  const std::size_t log_size = disk.log().size();
  EXPECT_EQ(disk.link("a", "c").error().code(), ErrorCode::unsupported);
  EXPECT_EQ(disk.exchange("a", "b").error().code(), ErrorCode::unsupported);
  EXPECT_EQ(disk.log().size(), log_size);
  EXPECT_FALSE(*disk.exists("c"));
  EXPECT_TRUE(disk.rename("a", "b"));
  disk.set_links(true);
  EXPECT_TRUE(disk.link("b", "c"));
}

TEST(SimDisk, AFailedRenameMayHaveHappened) {
  int happened_count = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SimDisk disk({}, seed);
    ASSERT_TRUE(disk.open("a", OpenMode::create));
    disk.set_fault(Fault{.op_number = disk.op_count() + 1});
    ASSERT_FALSE(disk.rename("a", "b"));
    happened_count += *disk.exists("b") ? 1 : 0;
  }
  EXPECT_GT(happened_count, 20);
  EXPECT_LT(happened_count, 80);
}

TEST(SimDisk, AnAppendAfterAFailedTruncateFollowsWhateverIsThere) {
  for (const Effect effect : {Effect::none, Effect::all}) {
    SimDisk disk;
    const auto file = *disk.open("f", OpenMode::create);
    ASSERT_TRUE(file->append(as_byte_view("12345678")));
    disk.set_fault(Fault{.op_number = disk.op_count() + 1, .effect = effect});
    ASSERT_FALSE(file->truncate(4));
    const auto offset = file->append(as_byte_view("next"));
    ASSERT_TRUE(offset);
    EXPECT_EQ(*offset, effect == Effect::all ? 4u : 8u) << "no hole is left";
  }
}

TEST(SimDisk, ExtendingZeroesWhatAFailedAppendLeftAndNeverCuts) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SimDisk disk({}, seed);
    const auto file = *disk.open("f", OpenMode::create);
    ASSERT_TRUE(file->append(as_byte_view("committed.")));
    disk.set_fault(Fault{.op_number = disk.op_count() + 1});
    const std::string torn(5000, 't');
    ASSERT_FALSE(file->append(as_byte_view(torn)));
    const std::uint64_t size_before = *file->size();
    ASSERT_TRUE(file->extend_written(100));
    EXPECT_EQ(*file->size(), std::max<std::uint64_t>(size_before, 100));
    EXPECT_EQ(file->read_all(9999)->slice(0, 100).text(), "committed." + std::string(90, '\0'));
  }
}

TEST(SimDisk, AFailedPunchMayHaveDoneNothingAPartOrAll) {
  const std::string page(4096, 'x');
  const std::pair<Effect, std::size_t> cases[] = {
      {Effect::none, 0}, {Effect::part, 2048}, {Effect::all, 4096}};
  for (const auto& [effect, zero_count] : cases) {
    SimDisk disk;
    const auto file = *disk.open("f", OpenMode::create);
    ASSERT_TRUE(file->append(as_byte_view(page)));
    const auto mapped = file->map(0, 4096);
    ASSERT_TRUE(mapped);
    const std::uint64_t op_number = disk.op_count() + 1;
    disk.set_fault(Fault{.op_number = op_number, .effect = effect});
    EXPECT_EQ(file->punch_hole(0, 4096).error().message(),
              "f: punching a hole failed: simulated io at operation " + std::to_string(op_number));
    const std::string expected = std::string(zero_count, '\0') + page.substr(zero_count);
    EXPECT_EQ(file->read_all(9999)->text(), expected);
    EXPECT_EQ(mapped->text(), expected);
  }
}

TEST(SimDisk, ADiskWithoutHolesRefusesThemAndChangesNothing) {
  SimDisk disk;
  const auto file = *disk.open("f", OpenMode::create);
  const std::string page(4096, 'x');
  ASSERT_TRUE(file->append(as_byte_view(page)));
  disk.set_holes(false);
  const std::size_t log_size = disk.log().size();
  EXPECT_EQ(file->punch_hole(0, 4096).error().code(), ErrorCode::unsupported);
  EXPECT_EQ(disk.log().size(), log_size);
  EXPECT_EQ(file->read_all(9999)->text(), page);
  disk.set_holes(true);
  EXPECT_TRUE(file->punch_hole(0, 4096));
}

TEST(SimDisk, AHoleGivesNoRoomBackAndNeedsNone) {
  SimDisk disk;
  const auto file = *disk.open("f", OpenMode::create);
  ASSERT_TRUE(file->extend_written(8192));
  disk.set_capacity(8000);
  EXPECT_TRUE(file->punch_hole(0, 4096)) << "a disk that is more than full";
  EXPECT_EQ(*disk.free_space("."), 0u);
}

TEST(SimDisk, AnAbsurdOffsetIsAFullDisk) {
  SimDisk disk;
  const auto file = *disk.open("f", OpenMode::create);
  EXPECT_EQ(file->write_at(std::uint64_t{1} << 60, as_byte_view("x")).error().code(),
            ErrorCode::out_of_space);
}

TEST(SimDisk, AFileWithoutANameTakesNoRoom) {
  SimDisk disk;
  disk.set_capacity(1000);
  const auto file = *disk.open("f", OpenMode::create);
  ASSERT_TRUE(file->truncate(800));
  ASSERT_TRUE(disk.remove("f"));
  EXPECT_TRUE(file->truncate(0));
}

TEST(SimDisk, CuttingOffAMappedPartIsRefused) {
  SimDisk disk;
  const auto file = *disk.open("f", OpenMode::create);
  ASSERT_TRUE(file->truncate(1000));
  auto mapped = file->map(0, 600);
  ASSERT_TRUE(mapped);
  EXPECT_TRUE(file->truncate(700));
  EXPECT_EQ(file->truncate(599).error().code(), ErrorCode::invalid_argument);
  EXPECT_FALSE(disk.open("f", OpenMode::replace));
  mapped = Bytes();
  EXPECT_TRUE(file->truncate(0));
}

TEST(SimDisk, ASlotThatCouldNotBeTakenIsFree) {
  for (const Effect effect : {Effect::none, Effect::all}) {
    SimDisk disk;
    ASSERT_TRUE(disk.open("readers", OpenMode::create));
    disk.set_fault(Fault{.op_number = disk.op_count() + 1, .effect = effect});
    const auto slot = disk.lock_slot("readers", 7);
    EXPECT_EQ(slot.error().message(), "readers: taking a slot failed: simulated io at operation 2");
    EXPECT_FALSE(*disk.is_slot_locked("readers", 7));
    EXPECT_TRUE(disk.lock_slot("readers", 7));
  }
}

TEST(SimDisk, ACrashFreesLocks) {
  SimDisk disk;
  ASSERT_TRUE(disk.open("f", OpenMode::create));
  const auto slot = disk.lock_slot("f", 7);
  const auto writer = disk.lock_writer("f");
  ASSERT_TRUE(slot && writer);
  SimDisk after(disk.image());
  EXPECT_FALSE(*after.is_slot_locked("f", 7));
  EXPECT_TRUE(after.lock_slot("f", 7));
  EXPECT_TRUE(after.lock_writer("f"));
}

TEST(SimDisk, RecordsWhatHappened) {
  SimDisk disk;
  const auto file = *disk.open("f.tmp", OpenMode::create);
  ASSERT_TRUE(file->write_at(5, as_byte_view("abc")));
  ASSERT_TRUE(file->sync_data());
  ASSERT_TRUE(disk.rename("f.tmp", "f"));
  ASSERT_TRUE(disk.sync_dir("."));
  disk.mark(7);
  std::vector<std::string> lines;
  for (const DiskOp& op : disk.log()) lines.push_back(describe(op));
  const std::vector<std::string> expected{
      "create f.tmp as node 1",        "write node 1 offset 5 size 3", "sync node 1",
      "rename node 1 from f.tmp to f", "sync directory node 0",        "mark 7"};
  EXPECT_EQ(lines, expected);
}

TEST(SimDisk, AnOpenFileOutlivesItsName) {
  SimDisk disk;
  const auto file = *disk.open("f", OpenMode::create);
  ASSERT_TRUE(disk.remove("f"));
  ASSERT_TRUE(file->append(as_byte_view("still here")));
  EXPECT_EQ(file->read_all(100)->text(), "still here");
}

TEST(SimDisk, ManyThreadsMayUseIt) {
  SimDisk disk;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&disk, t] {
      const std::string name = std::to_string(t);
      const auto file = *disk.open(name, OpenMode::create);
      for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(file->append(as_byte_view(name)));
        const auto mapped = file->map(0, 1);
        ASSERT_EQ(mapped->text(), name);
        ASSERT_TRUE(file->sync_data());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (int t = 0; t < 4; ++t) EXPECT_EQ(disk.info(std::to_string(t))->size, 100u);
}

}  // namespace
}  // namespace varve::sim
