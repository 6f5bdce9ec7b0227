// A world on a simulated disk, which backups are made of.
#pragma once

#include <gtest/gtest.h>

#include "backend/log/small_log.h"
#include "crash/store_subject.h"
#include "io/sim/sim_disk.h"
#include "store/varve/backup.h"
#include "support/counting_vfs.h"

namespace varve::test {

inline constexpr std::string_view kTarget = "backup";

inline std::string text_of(int number, std::size_t size) {
  // Nothing a compression makes anything of.
  std::string text;
  std::uint32_t state = static_cast<std::uint32_t>(number) * 2654435761U + 1;
  while (text.size() < size) {
    state = state * 1664525 + 1013904223;
    text.push_back(static_cast<char>(state >> 24));
  }
  return text;
}

class BackupTest : public testing::Test {
 protected:
  BackupTest() {
    auto made = backups_.saves().create("world");
    EXPECT_TRUE(made) << made.error().message();
    world_ = *std::move(made);
  }

  void commit(Store& store, Commit commit) {
    commit.tick = store.tick() + 1;
    Progress progress;
    const auto done = store.commit(commit, progress);
    ASSERT_TRUE(done) << done.error().message();
  }
  // `count` chunks of about `size` bytes, an entity in and one outside of them, a player, a global.
  void fill(int count = 40, std::size_t size = 500) {
    Commit all;
    for (int i = 0; i < count; ++i) {
      all.chunks.push_back({ChunkPos(i, -i), Bytes::copy_of(text_of(i, size))});
    }
    all.entities = {{1, EntityValue{ChunkPos(0, 0), Bytes::copy_of("cow")}},
                    {2, EntityValue{{}, Bytes::copy_of("sun")}}};
    all.players = {{"ann", Bytes::copy_of("hungry")},
                   {std::string(255, 'p'), Bytes::copy_of("a long name")}};
    all.globals = {{"weather", Bytes::copy_of("rain")}};
    commit(*world_, std::move(all));
  }
  Result<BackupReport> back_up_to(std::string_view target, const Store& source) {
    auto held = pin_for_backup(source);
    if (!held) return held.error();
    Progress progress;
    return back_up(*held, target, {}, progress, backups_);
  }
  Result<BackupReport> back_up_world() { return back_up_to(kTarget, *world_); }

  crash::Records records_at(std::string_view path, std::uint64_t* generation = nullptr) {
    const auto store = backups_.saves().open(path);
    EXPECT_TRUE(store) << store.error().message();
    if (!store) return {};
    if (generation != nullptr) *generation = (*store)->generation();
    Progress progress;
    const auto verified = (*store)->verify(progress);
    EXPECT_TRUE(verified && verified->clean());
    auto records = crash::read_records(**store);
    EXPECT_TRUE(records) << records.error().message();
    EXPECT_TRUE((*store)->close());
    return *std::move(records);
  }
  void expect_backup_is(const StoreView& source) {
    std::uint64_t generation = 0;
    const auto found = records_at(kTarget, &generation);
    const auto wanted = crash::read_records(source);
    ASSERT_TRUE(wanted);
    const auto wrong = crash::difference(*wanted, found);
    EXPECT_FALSE(wrong) << *wrong;
    EXPECT_EQ(generation, source.generation());
  }
  void expect_nothing_beside() {
    const auto entries = sim_.list("/");
    ASSERT_TRUE(entries) << entries.error().message();
    for (const DirEntry& entry : *entries) {
      EXPECT_EQ(entry.name.find("unfinished"), std::string::npos) << entry.name;
      EXPECT_EQ(entry.name.find("replaced"), std::string::npos) << entry.name;
      EXPECT_EQ(entry.name.find("removing"), std::string::npos) << entry.name;
    }
  }
  // A value whose checksum is wrong, which the backend hands out as it is.
  void damage(Store& store, const ChunkPos& pos) { damage(store, chunk_key(0, pos)); }
  void damage(Store& store, const SaveKey& key) {
    Backend& backend = static_cast<VarveStore&>(store).backend();
    const auto found = backend.get(key);
    ASSERT_TRUE(found && *found);
    std::string frame((*found)->text());
    frame.back() = static_cast<char>(frame.back() ^ 1);
    WriteBatch batch;
    batch.put(key, Bytes::copy_of(frame));
    ASSERT_TRUE(backend.write(batch));
  }

  sim::SimDisk sim_;
  CountingVfs disk_{sim_};
  BackupDisk backups_{
      disk_, small_log_options(), {.change_size_max = 8 << 10, .page_size = 4 << 10}};
  std::unique_ptr<Store> world_;
};

}  // namespace varve::test
