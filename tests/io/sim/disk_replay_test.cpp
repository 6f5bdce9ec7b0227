// The disk model, fact by fact: what a crash may and may not leave.
#include "io/sim/disk_replay.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "io/sim/crash_states.h"
#include "io/sim/sim_disk.h"

namespace varve::sim {
namespace {

std::string look(const DiskImage& image, std::string_view path) {
  SimDisk disk(image);
  const auto file = disk.open(path, OpenMode::read);
  if (!file) return "(absent)";
  return std::string((*file)->read_all(1 << 20)->text());
}

// Everything that can be found at `path` after a crash at the end of `program`,
// garbage aside.
std::set<std::string> outcomes(const std::function<void(SimDisk&)>& program,
                               const std::function<std::string(const DiskImage&)>& look_at) {
  SimDisk disk;
  program(disk);
  const OpLog log = disk.log();
  DiskReplay replay{DiskImage()};
  for (const DiskOp& op : log) EXPECT_TRUE(replay.step(op)) << describe(op);
  std::set<std::string> found;
  for_each_crash(replay, {.all_subsets_atom_count = 16, .garbage_count_max = 0}, 1,
                 [&](const CrashChoice& choice) {
                   found.insert(look_at(replay.crash(choice)));
                   return true;
                 });
  return found;
}

std::set<std::string> outcomes_of(std::string_view path,
                                  const std::function<void(SimDisk&)>& program) {
  return outcomes(program, [&](const DiskImage& image) { return look(image, path); });
}

using Outcomes = std::set<std::string>;

void write_synced(SimDisk& disk, std::string_view path, std::string_view contents) {
  const auto file = *disk.open(path, OpenMode::create);
  ASSERT_TRUE(file->write_at(0, as_byte_view(contents)));
  ASSERT_TRUE(file->sync_data());
}

TEST(DiskReplay, WhatWasSyncedStays) {
  EXPECT_EQ(outcomes_of("f",
                        [](SimDisk& disk) {
                          write_synced(disk, "f", "abc");
                          ASSERT_TRUE(disk.sync_dir("."));
                        }),
            Outcomes{"abc"});
}

TEST(DiskReplay, SyncingAFileDoesNotMakeItsNameDurable) {
  EXPECT_EQ(outcomes_of("f", [](SimDisk& disk) { write_synced(disk, "f", "abc"); }),
            (Outcomes{"(absent)", "abc"}));
}

TEST(DiskReplay, SizeAndDataAreSeparate) {
  EXPECT_EQ(
      outcomes_of("f",
                  [](SimDisk& disk) {
                    write_synced(disk, "f", "");
                    ASSERT_TRUE(disk.sync_dir("."));
                    ASSERT_TRUE((*disk.open("f", OpenMode::write))->append(as_byte_view("abc")));
                  }),
      (Outcomes{"", std::string("\0\0\0", 3), "abc"}));
}

TEST(DiskReplay, SectorsAreKeptOrLostOneByOne) {
  const auto program = [](SimDisk& disk) {
    write_synced(disk, "f", std::string(1024, 'o'));
    ASSERT_TRUE(disk.sync_dir("."));
    const std::string fresh(1024, 'n');
    ASSERT_TRUE((*disk.open("f", OpenMode::write))->write_at(0, as_byte_view(fresh)));
  };
  const auto first_of_each = [](const DiskImage& image) {
    const std::string all = look(image, "f");
    return std::string{all[0], all[511], all[512], all[1023]};
  };
  EXPECT_EQ(outcomes(program, first_of_each), (Outcomes{"oooo", "nnoo", "oonn", "nnnn"}));
}

TEST(DiskReplay, EachSectorOfAHoleIsPunchedOrNotUntilASync) {
  const auto punch = [](SimDisk& disk) {
    write_synced(disk, "f", std::string(2 * 4096, 'o'));
    ASSERT_TRUE(disk.sync_dir("."));
    ASSERT_TRUE((*disk.open("f", OpenMode::write))->punch_hole(4096, 4096));
  };
  // One letter for each sector of the second page: 'o' as it was, 'z' zeros.
  const auto sectors = [](const DiskImage& image) {
    const std::string all = look(image, "f");
    EXPECT_EQ(all.substr(0, 4096), std::string(4096, 'o'));
    std::string seen;
    for (std::size_t at = 4096; at < all.size(); at += 512) {
      const std::string sector = all.substr(at, 512);
      seen += sector == std::string(512, 'o') ? 'o' : sector == std::string(512, '\0') ? 'z' : '?';
    }
    return seen;
  };
  const Outcomes found = outcomes(punch, sectors);
  EXPECT_EQ(found.size(), 256u);
  for (const char* one : {"oooooooo", "zzzzzzzz", "zooooooo", "zzzzzzzo"}) {
    EXPECT_TRUE(found.contains(one)) << one;
  }
  for (const std::string& one : found) EXPECT_EQ(one.find('?'), std::string::npos) << one;
  const auto punch_and_sync = [&](SimDisk& disk) {
    punch(disk);
    ASSERT_TRUE((*disk.open("f", OpenMode::write))->sync_data());
  };
  EXPECT_EQ(outcomes(punch_and_sync, sectors), Outcomes{"zzzzzzzz"});
}

TEST(DiskReplay, ASectorWrittenTwiceMayShowEitherVersionNeverAMix) {
  EXPECT_EQ(outcomes_of("f",
                        [](SimDisk& disk) {
                          write_synced(disk, "f", "..");
                          ASSERT_TRUE(disk.sync_dir("."));
                          const auto file = *disk.open("f", OpenMode::write);
                          ASSERT_TRUE(file->write_at(0, as_byte_view("1")));
                          ASSERT_TRUE(file->write_at(1, as_byte_view("2")));
                        }),
            (Outcomes{"..", "1.", "12"}));
}

TEST(DiskReplay, ARenameIsThereOrNot) {
  const auto program = [](SimDisk& disk) {
    write_synced(disk, "old", "O");
    write_synced(disk, "new", "N");
    ASSERT_TRUE(disk.sync_dir("."));
    ASSERT_TRUE(disk.rename("new", "old"));
  };
  const auto both = [](const DiskImage& i) { return look(i, "old") + look(i, "new"); };
  EXPECT_EQ(outcomes(program, both), (Outcomes{"ON", "N(absent)"}));
}

TEST(DiskReplay, ARenameMayComeBeforeTheDataItRenames) {
  const Outcomes found = outcomes_of("f", [](SimDisk& disk) {
    ASSERT_TRUE((*disk.open("f.tmp", OpenMode::create))->append(as_byte_view("abc")));
    ASSERT_TRUE(disk.rename("f.tmp", "f"));
  });
  EXPECT_TRUE(found.contains("")) << "the zero-byte file of a rename without sync";
}

TEST(DiskReplay, ARenameAcrossDirectoriesMayLeaveBothNamesNeverNeither) {
  const auto both = [](const DiskImage& i) { return look(i, "a/f") + look(i, "b/f"); };
  const auto prepare = [](SimDisk& disk) {
    ASSERT_TRUE(disk.create_dir("a"));
    ASSERT_TRUE(disk.create_dir("b"));
    write_synced(disk, "a/f", "X");
    ASSERT_TRUE(disk.sync_dir("a"));
    ASSERT_TRUE(disk.sync_dir("."));
    ASSERT_TRUE(disk.rename("a/f", "b/f"));
  };
  EXPECT_EQ(outcomes(prepare, both), (Outcomes{"X(absent)", "XX", "(absent)X"}));
  const auto synced_from = [&](SimDisk& disk) {
    prepare(disk);
    ASSERT_TRUE(disk.sync_dir("a"));
  };
  EXPECT_EQ(outcomes(synced_from, both), Outcomes{"(absent)X"});
  const auto synced_to = [&](SimDisk& disk) {
    prepare(disk);
    ASSERT_TRUE(disk.sync_dir("b"));
  };
  EXPECT_EQ(outcomes(synced_to, both), (Outcomes{"XX", "(absent)X"}));
}

TEST(DiskReplay, AnExchangeIsThereOrNot) {
  const auto program = [](SimDisk& disk) {
    write_synced(disk, "a", "A");
    write_synced(disk, "b", "B");
    ASSERT_TRUE(disk.sync_dir("."));
    ASSERT_TRUE(disk.exchange("a", "b"));
  };
  const auto both = [](const DiskImage& i) { return look(i, "a") + look(i, "b"); };
  EXPECT_EQ(outcomes(program, both), (Outcomes{"AB", "BA"}));
}

TEST(DiskReplay, ARemovalNeedsItsDirectorySynced) {
  const auto remove = [](SimDisk& disk) {
    write_synced(disk, "f", "abc");
    ASSERT_TRUE(disk.sync_dir("."));
    ASSERT_TRUE(disk.remove("f"));
  };
  EXPECT_EQ(outcomes_of("f", remove), (Outcomes{"abc", "(absent)"}));
  EXPECT_EQ(outcomes_of("f",
                        [&](SimDisk& disk) {
                          remove(disk);
                          ASSERT_TRUE(disk.sync_dir("."));
                        }),
            Outcomes{"(absent)"});
}

TEST(DiskReplay, CutBytesDoNotComeBackWhenTheFileGrowsAgain) {
  EXPECT_EQ(outcomes_of("f",
                        [](SimDisk& disk) {
                          write_synced(disk, "f", "secret");
                          ASSERT_TRUE(disk.sync_dir("."));
                          const auto file = *disk.open("f", OpenMode::write);
                          ASSERT_TRUE(file->truncate(0));
                          ASSERT_TRUE(file->truncate(2));
                          ASSERT_TRUE(file->sync_data());
                        }),
            (Outcomes{std::string("\0\0", 2)}));
}

TEST(DiskReplay, AfterAFailedSyncALaterSuccessProvesNothing) {
  EXPECT_EQ(outcomes_of("f",
                        [](SimDisk& disk) {
                          write_synced(disk, "f", std::string(512, 'o'));
                          ASSERT_TRUE(disk.sync_dir("."));
                          const auto file = *disk.open("f", OpenMode::write);
                          ASSERT_TRUE(file->write_at(0, as_byte_view("n")));
                          disk.set_fault(Fault{.op_number = disk.op_count() + 1});
                          ASSERT_FALSE(file->sync_data());
                          // Another handle knows nothing of the failure.
                          ASSERT_TRUE((*disk.open("f", OpenMode::write))->sync_data());
                        })
                .size(),
            2u)
      << "both the old and the new byte are possible";
}

TEST(DiskReplay, WritingAgainAfterAFailedSyncIsDurableOnceSynced) {
  EXPECT_EQ(outcomes_of("f",
                        [](SimDisk& disk) {
                          write_synced(disk, "f", "o");
                          ASSERT_TRUE(disk.sync_dir("."));
                          const auto file = *disk.open("f", OpenMode::write);
                          ASSERT_TRUE(file->write_at(0, as_byte_view("x")));
                          disk.set_fault(Fault{.op_number = disk.op_count() + 1});
                          ASSERT_FALSE(file->sync_data());
                          const auto again = *disk.open("f", OpenMode::write);
                          ASSERT_TRUE(again->write_at(0, as_byte_view("n")));
                          ASSERT_TRUE(again->sync_data());
                        }),
            Outcomes{"n"});
}

TEST(DiskReplay, AGrowingFileMayStopAtAPageBoundary) {
  const auto size_of = [](const DiskImage& image) {
    return std::to_string(look(image, "f").size());
  };
  const auto program = [](SimDisk& disk) {
    write_synced(disk, "f", "");
    ASSERT_TRUE(disk.sync_dir("."));
    const std::string data(10'000, 'x');
    ASSERT_TRUE((*disk.open("f", OpenMode::write))->append(as_byte_view(data)));
  };
  EXPECT_EQ(outcomes(program, size_of), (Outcomes{"0", "4096", "8192", "10000"}));
}

TEST(DiskReplay, ADurableNameIsNotUndoneByAnOlderMove) {
  const auto prepare = [](SimDisk& disk) {
    ASSERT_TRUE(disk.create_dir("tmp"));
    ASSERT_TRUE(disk.create_dir("live"));
    ASSERT_TRUE(disk.sync_dir("."));
    write_synced(disk, "tmp/x", "1");
    ASSERT_TRUE(disk.rename("tmp/x", "live/x"));
    ASSERT_TRUE(disk.sync_dir("live"));
  };
  EXPECT_EQ(outcomes_of("live/x",
                        [&](SimDisk& disk) {
                          prepare(disk);
                          write_synced(disk, "live/y", "2");
                          ASSERT_TRUE(disk.rename("live/y", "live/x"));
                          ASSERT_TRUE(disk.sync_dir("live"));
                        }),
            Outcomes{"2"});
  EXPECT_EQ(outcomes_of("live/x",
                        [&](SimDisk& disk) {
                          prepare(disk);
                          ASSERT_TRUE(disk.remove("live/x"));
                          ASSERT_TRUE(disk.sync_dir("live"));
                        }),
            Outcomes{"(absent)"});
}

TEST(DiskReplay, AMovedFileReplacesWhatWasCreatedThereBefore) {
  const auto both = [](const DiskImage& i) { return look(i, "a/f") + look(i, "b/f"); };
  EXPECT_EQ(outcomes(
                [](SimDisk& disk) {
                  ASSERT_TRUE(disk.create_dir("a"));
                  ASSERT_TRUE(disk.create_dir("b"));
                  ASSERT_TRUE(disk.sync_dir("."));
                  write_synced(disk, "a/f", "N");
                  ASSERT_TRUE(disk.sync_dir("a"));
                  write_synced(disk, "b/f", "O");
                  ASSERT_TRUE(disk.rename("a/f", "b/f"));
                  ASSERT_TRUE(disk.sync_dir("a"));
                },
                both),
            Outcomes{"(absent)N"});
}

TEST(DiskReplay, AfterAFailedDirectorySyncALaterSuccessProvesNothing) {
  EXPECT_EQ(outcomes_of("f",
                        [](SimDisk& disk) {
                          write_synced(disk, "f", "x");
                          disk.set_fault(Fault{.op_number = disk.op_count() + 1});
                          ASSERT_FALSE(disk.sync_dir("."));
                          ASSERT_TRUE(disk.sync_dir("."));
                        }),
            (Outcomes{"x", "(absent)"}));
  EXPECT_EQ(outcomes_of("f",
                        [](SimDisk& disk) {
                          write_synced(disk, "f", "x");
                          disk.set_fault(Fault{.op_number = disk.op_count() + 1});
                          ASSERT_FALSE(disk.sync_dir("."));
                          write_synced(disk, "g", "y");
                          ASSERT_TRUE(disk.rename("g", "f"));
                          ASSERT_TRUE(disk.sync_dir("."));
                        }),
            Outcomes{"y"})
      << "doing it again does help";
}

TEST(DiskReplay, ACutSurvivesAFailedSync) {
  const auto cut = [](SimDisk& disk, bool fails) {
    write_synced(disk, "f", std::string(1024, 'o'));
    ASSERT_TRUE(disk.sync_dir("."));
    const auto file = *disk.open("f", OpenMode::write);
    ASSERT_TRUE(file->truncate(0));
    if (fails) disk.set_fault(Fault{.op_number = disk.op_count() + 1});
    ASSERT_EQ(file->sync_data().ok(), !fails);
    const auto again = *disk.open("f", OpenMode::write);
    ASSERT_TRUE(again->truncate(1024));
    ASSERT_TRUE(again->sync_data());
  };
  for (const bool fails : {false, true}) {
    EXPECT_EQ(outcomes_of("f", [&](SimDisk& disk) { cut(disk, fails); }),
              Outcomes{std::string(1024, '\0')});
  }
}

TEST(DiskReplay, WhatAFailedSyncLostDoesNotComeBackBehindACut) {
  EXPECT_EQ(outcomes_of("f",
                        [](SimDisk& disk) {
                          const auto file = *disk.open("f", OpenMode::create);
                          ASSERT_TRUE(disk.sync_dir("."));
                          ASSERT_TRUE(file->append(as_byte_view("x")));
                          disk.set_fault(Fault{.op_number = disk.op_count() + 1});
                          ASSERT_FALSE(file->sync_data());
                          const auto again = *disk.open("f", OpenMode::replace);
                          ASSERT_TRUE(again->extend_written(1));
                          ASSERT_TRUE(again->sync_data());
                        }),
            Outcomes{std::string(1, '\0')});
}

TEST(DiskReplay, WhatAFailedSyncLostMayStillBeThereBeforeACut) {
  EXPECT_EQ(outcomes_of("f",
                        [](SimDisk& disk) {
                          write_synced(disk, "f", "oooo");
                          ASSERT_TRUE(disk.sync_dir("."));
                          const auto file = *disk.open("f", OpenMode::write);
                          ASSERT_TRUE(file->write_at(0, as_byte_view("nnnn")));
                          disk.set_fault(Fault{.op_number = disk.op_count() + 1});
                          ASSERT_FALSE(file->sync_data());
                          const auto again = *disk.open("f", OpenMode::write);
                          ASSERT_TRUE(again->truncate(2));
                          ASSERT_TRUE(again->truncate(3));
                          ASSERT_TRUE(again->sync_data());
                        }),
            (Outcomes{std::string("oo\0", 3), std::string("nn\0", 3)}));
}

TEST(DiskReplay, AReorderedLogThatMakesNoSenseIsRefused) {
  SimDisk disk;
  write_synced(disk, "f", "abc");
  OpLog log = disk.log();
  std::swap(log[0], log[1]);  // The write before the creation.
  DiskReplay replay{DiskImage()};
  EXPECT_FALSE(replay.step(log[0]));
}

}  // namespace
}  // namespace varve::sim
