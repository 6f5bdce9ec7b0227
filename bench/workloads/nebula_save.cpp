// nebula_save: how long a save of 5 chunks takes in the nebula format, in a world of 100 and
// in one of 10,000, beside the way of the document that describes the format: copy all chunk
// files to a new folder, then swap the folders by two renames.
//
// That way syncs nothing, so it is no peer but a reference: after a crash there may be no save
// at all. The arm "copied and synced" does what it would need to keep what it acknowledges.
// Raw is one append of the same bytes to one file, and one fdatasync.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/byte_writer.h"
#include "base/try.h"
#include "codec/compression.h"
#include "harness/device_settler.h"
#include "harness/random.h"
#include "harness/stopwatch.h"
#include "harness/workload.h"
#include "io/path.h"
#include "io/vfs.h"
#include "varve/format.h"

namespace varve::bench {
namespace {

using namespace std::chrono_literals;

constexpr int kDirtyCount = 5;
constexpr std::size_t kChunkSize = 8 << 10;

ChunkPos pos_of(int chunk) { return {chunk % 6, chunk / 6, 0, 0}; }
std::string file_of(int chunk) { return fmt::format("{}_{}_0_0.chunk", chunk % 6, chunk / 6); }

// Bytes no compression makes smaller, the same in every run.
Bytes payload_of(int chunk, std::uint64_t round) {
  Random random(kSeed + round * 1'000'003 + static_cast<std::uint64_t>(chunk));
  ByteWriter out;
  while (out.size() < kChunkSize) out.u64_le(random.next());
  return out.take();
}

Result<Bytes> compressed(const Bytes& payload) {
  ByteWriter out;
  VARVE_TRY(compression(CompressionId::lz4).compress(payload, out));
  return out.take();
}

// The chunks a round changes: the same five everywhere, wherever they lie.
int dirty_chunk(int index, int chunk_count) { return (index * 7 + 3) % chunk_count; }

class Arm {
 public:
  virtual ~Arm() = default;
  virtual Status fill() = 0;
  virtual Status save(std::uint64_t round) = 0;
  // That it holds what was saved last.
  virtual Status check(std::uint64_t round) = 0;
};

class RawArm final : public Arm {
 public:
  explicit RawArm(std::string path) : path_(std::move(path)) {}
  Status fill() override {
    VARVE_ASSIGN(file_, posix_vfs().open(path_, OpenMode::create_new));
    return {};
  }
  Status save(std::uint64_t round) override {
    ByteWriter all;
    for (int i = 0; i < kDirtyCount; ++i) {
      VARVE_ASSIGN(const Bytes contents, compressed(payload_of(dirty_chunk(i, 100), round)));
      all.bytes(contents);
    }
    VARVE_TRY(file_->append(all.view()));
    return file_->sync_data();
  }
  Status check(std::uint64_t) override { return file_->close(); }

 private:
  std::string path_;
  std::unique_ptr<File> file_;
};

class NebulaArm final : public Arm {
 public:
  NebulaArm(std::string path, int chunk_count, std::uint32_t backup_count)
      : path_(std::move(path)), chunk_count_(chunk_count), backup_count_(backup_count) {}

  Status fill() override {
    VARVE_ASSIGN(const Format* format, find_format("nebula"));
    VARVE_ASSIGN(store_, format->create(path_));
    Progress progress;
    Commit commit{.tick = 1};
    for (int i = 0; i < chunk_count_; ++i) {
      commit.chunks.push_back({pos_of(i), payload_of(i, 0)});
      if (commit.chunks.size() < 500 && i + 1 < chunk_count_) continue;
      VARVE_TRY(store_->commit(commit, progress));
      commit.chunks.clear();
    }
    return {};
  }
  Status save(std::uint64_t round) override {
    Commit commit{.tick = 1 + round, .backup_count = backup_count_};
    for (int i = 0; i < kDirtyCount; ++i) {
      const int chunk = dirty_chunk(i, chunk_count_);
      commit.chunks.push_back({pos_of(chunk), payload_of(chunk, round)});
    }
    Progress progress;
    VARVE_TRY(store_->commit(commit, progress));
    return {};
  }
  Status check(std::uint64_t round) override {
    for (int i = 0; i < kDirtyCount; ++i) {
      const int chunk = dirty_chunk(i, chunk_count_);
      VARVE_ASSIGN(const auto payload, store_->read_chunk(pos_of(chunk)));
      if (payload != payload_of(chunk, round)) return corruption("it holds something else");
    }
    Progress progress;
    VARVE_ASSIGN(const VerifyReport report, store_->verify(progress));
    if (!report.clean()) return report.problems[0].error;
    return store_->close();
  }

 private:
  std::string path_;
  int chunk_count_;
  std::uint32_t backup_count_;
  std::unique_ptr<Store> store_;
};

// The document's way, with the one backup it keeps.
class CopyArm final : public Arm {
 public:
  CopyArm(std::string path, int chunk_count, bool synced)
      : path_(std::move(path)), chunk_count_(chunk_count), synced_(synced) {}

  Status fill() override {
    VARVE_TRY(vfs_.create_dir(path_));
    VARVE_TRY(vfs_.create_dir(path_join(path_, "chunks")));
    const bool synced = std::exchange(synced_, false);
    for (int i = 0; i < chunk_count_; ++i) VARVE_TRY(write_chunk(path_, i, 0));
    synced_ = synced;
    return {};
  }
  Status save(std::uint64_t round) override {
    const std::string next = path_ + ".saving_tmp";
    VARVE_TRY(vfs_.create_dir(next));
    VARVE_TRY(vfs_.create_dir(path_join(next, "chunks")));
    VARVE_TRY(write(path_join(next, "world.ron"), as_byte_view("(save_version: 1)")));
    VARVE_TRY(write(path_join(next, "entities.bin"), as_byte_view("NSCD")));
    std::vector<std::string> dirty;
    for (int i = 0; i < kDirtyCount; ++i) {
      const int chunk = dirty_chunk(i, chunk_count_);
      VARVE_TRY(write_chunk(next, chunk, round));
      dirty.push_back(file_of(chunk));
    }
    VARVE_TRY(copy_others(next, dirty));
    if (synced_) {
      VARVE_TRY(vfs_.sync_dir(path_join(next, "chunks")));
      VARVE_TRY(vfs_.sync_dir(next));
    }
    const std::string backup = path_ + ".backup";
    VARVE_TRY(remove(backup));
    VARVE_TRY(vfs_.rename(path_, backup));
    VARVE_TRY(vfs_.rename(next, path_));
    return synced_ ? vfs_.sync_dir(path_parent(path_)) : Status();
  }
  Status check(std::uint64_t round) override {
    for (int i = 0; i < kDirtyCount; ++i) {
      const int chunk = dirty_chunk(i, chunk_count_);
      VARVE_ASSIGN(const auto file,
                   vfs_.open(path_join(path_, "chunks/" + file_of(chunk)), OpenMode::read));
      VARVE_ASSIGN(const Bytes found, file->read_all(1 << 20));
      VARVE_ASSIGN(const Bytes wanted, compressed(payload_of(chunk, round)));
      if (found != wanted) return corruption("it holds something else");
    }
    return {};
  }

 private:
  Status write(const std::string& path, ByteView contents) {
    VARVE_ASSIGN(const auto file, vfs_.open(path, OpenMode::create_new));
    VARVE_TRY(file->write_at(0, contents));
    if (synced_) VARVE_TRY(file->sync_data());
    return file->close();
  }
  Status write_chunk(const std::string& save, int chunk, std::uint64_t round) {
    VARVE_ASSIGN(const Bytes contents, compressed(payload_of(chunk, round)));
    return write(path_join(save, "chunks/" + file_of(chunk)), contents);
  }
  // In groups that are synced together, which is kinder than one after the other.
  Status copy_others(const std::string& next, const std::vector<std::string>& dirty) {
    constexpr std::size_t kGroupCount = 64;
    VARVE_ASSIGN(const auto entries, vfs_.list(path_join(path_, "chunks")));
    std::vector<std::unique_ptr<File>> group;
    const auto finish = [&]() -> Status {
      std::vector<File*> files;
      for (const auto& file : group) files.push_back(file.get());
      if (synced_) VARVE_TRY(vfs_.sync_data(files));
      for (const auto& file : group) VARVE_TRY(file->close());
      group.clear();
      return {};
    };
    for (const DirEntry& entry : entries) {
      if (std::find(dirty.begin(), dirty.end(), entry.name) != dirty.end()) continue;
      const std::string name = path_join("chunks", entry.name);
      VARVE_ASSIGN(const auto from, vfs_.open(path_join(path_, name), OpenMode::read));
      VARVE_ASSIGN(const Bytes contents, from->read_all(1 << 20));
      VARVE_ASSIGN(auto to, vfs_.open(path_join(next, name), OpenMode::create_new));
      VARVE_TRY(to->write_at(0, contents));
      group.push_back(std::move(to));
      if (group.size() == kGroupCount) VARVE_TRY(finish());
    }
    return finish();
  }
  Status remove(const std::string& folder) {
    const auto entries = vfs_.list(folder);
    if (!entries) return {};
    for (const DirEntry& entry : *entries) {
      const std::string path = path_join(folder, entry.name);
      VARVE_TRY(entry.kind == FileKind::directory ? remove(path) : vfs_.remove(path));
    }
    return vfs_.remove_dir(folder);
  }

  Vfs& vfs_ = posix_vfs();
  std::string path_;
  int chunk_count_;
  bool synced_;
};

struct Contestant {
  std::string name;
  std::unique_ptr<Arm> arm;
  // Copying 10,000 files and syncing each takes most of a minute, so it is done less often.
  bool is_slow = false;
  std::uint64_t saved_round = 0;
};

std::vector<Contestant> contestants(const std::string& dir, int few, int many) {
  std::vector<Contestant> all;
  const auto add = [&]<class Made>(std::string name, bool is_slow, auto... arguments) {
    const std::string path = path_join(dir, fmt::format("save {}", all.size()));
    all.push_back({std::move(name), std::make_unique<Made>(path, arguments...), is_slow});
  };
  add.template operator()<RawArm>(kRawArm, false);
  for (const std::uint32_t backup_count : {0u, 1u}) {
    for (const int count : {few, many}) {
      add.template operator()<NebulaArm>(
          fmt::format("5 of {}{}", count, backup_count > 0 ? ", backup" : ""), false, count,
          backup_count);
    }
  }
  for (const bool synced : {false, true}) {
    for (const int count : {few, many}) {
      add.template operator()<CopyArm>(
          fmt::format("copied{}, {}", synced ? " and synced" : "", count), count == many, count,
          synced);
    }
  }
  return all;
}

Result<std::vector<Measurement>> run_nebula_save(const Context& context) {
  const int few = context.quick ? 20 : 100;
  const int many = context.quick ? 60 : 10'000;
  const Rounds rounds = context.rounds(40);
  constexpr std::size_t kRoundsPerSlowOne = 8;
  VARVE_ASSIGN(DeviceSettler settler, DeviceSettler::create(context.dir));
  std::vector<Contestant> all = contestants(context.dir, few, many);
  std::vector<Series> series;
  const auto save = [&](Contestant& each, std::uint64_t round) {
    each.saved_round = round;
    return each.arm->save(round);
  };
  for (Contestant& each : all) {
    Status filled = each.arm->fill();
    // The first backup is made whole; it is not what is measured.
    if (filled) filled = save(each, 1);
    series.push_back({.arm = each.name, .samples = {}, .error = {}});
    if (!filled) series.back().error = filled.error().message();
  }
  for (std::size_t round = 0; round < rounds.warm_up_count + rounds.count; ++round) {
    const bool kept = round >= rounds.warm_up_count;
    for (const std::size_t index : turns_of_round(all.size(), round)) {
      Contestant& each = all[index];
      const bool is_its_turn =
          !each.is_slow || (kept && (round - rounds.warm_up_count) % kRoundsPerSlowOne == 0);
      if (series[index].failed() || !is_its_turn) continue;
      VARVE_TRY(settler.settle(2ms, 1'000'000));
      const Stopwatch watch;
      const Status saved = save(each, 2 + round);
      const double milliseconds = watch.milliseconds();
      if (!saved) series[index].error = saved.error().message();
      if (kept) series[index].samples.push_back(milliseconds);
    }
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (series[i].failed()) continue;
    const Status good = all[i].arm->check(all[i].saved_round);
    if (!good) series[i].error = good.error().message();
  }
  return std::vector<Measurement>{
      {.title = fmt::format("nebula: save of 5 chunks of 8 KiB (goals: 5 of {} as 5 of {}; at most "
                            "1/20 of copied). \"copied\" alone is not durable",
                            many, few),
       .unit = "ms",
       .series = std::move(series)}};
}

}  // namespace

void add_nebula_save_workloads(Workloads& workloads) {
  workloads.push_back({.name = "nebula_save",
                       .summary = "save of 5 of 100 and of 10,000 chunks in the nebula format",
                       .run = run_nebula_save});
}

}  // namespace varve::bench
