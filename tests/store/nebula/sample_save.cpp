#include "store/nebula/sample_save.h"

#include <algorithm>

#include "io/path.h"
#include "support/bytes_text.h"
#include "support/counting_vfs.h"
#include "varve/nebula.h"

namespace varve::nebula::test {

using varve::test::CountingVfs;

Bytes entity_payload(std::string_view text) {
  EntityRecord record;
  record.components.push_back({"text", Bytes::copy_of(text)});
  return encode_entity(record).value();
}

CommitStats must_commit(Store& store, Commit commit) {
  commit.tick = std::max(commit.tick, store.tick());
  Progress progress;
  const auto stats = store.commit(commit, progress);
  EXPECT_TRUE(stats) << stats.error().message();
  return stats ? *stats : CommitStats();
}

std::unique_ptr<Store> must_open(Vfs& vfs, std::string_view path) {
  auto store = NebulaStore::open(vfs, path);
  EXPECT_TRUE(store) << store.error().message();
  return store ? *std::move(store) : nullptr;
}

std::unique_ptr<Store> must_open_to_read(Vfs& vfs, std::string_view path) {
  auto store = NebulaStore::open_to_read(vfs, path);
  EXPECT_TRUE(store) << store.error().message();
  return store ? *std::move(store) : nullptr;
}

VerifyReport verify(const Store& store) {
  Progress progress;
  auto report = store.verify(progress);
  EXPECT_TRUE(report) << report.error().message();
  return report ? *std::move(report) : VerifyReport();
}

SampleSave::SampleSave() {
  sim::SimDisk disk;
  disk.set_recording(false);
  {
    const auto store = NebulaStore::create(disk, kSavePath).value();
    const auto global = [](std::string_view name, std::string_view text) {
      return NamedChange{std::string(name), Bytes::copy_of(text)};
    };
    must_commit(*store,
                {.tick = 10,
                 .chunks = {{{0, 0, 0, 0}, varve::test::hex("4e56434b 02 00 0100 0000 00")},
                            {{1, -1, 2, 0}, Bytes::copy_of(std::string(40, 'a') + "bcd")},
                            {{2, 5, 5, 1}, Bytes::copy_of("to be erased")},
                            {{3, 7, -7, 255}, Bytes()}},
                 .entities = {{5, EntityValue{ChunkPos(0, 0, 0, 0), entity_payload("cow")}},
                              {6, EntityValue{std::nullopt, entity_payload("sun")}}},
                 .players = {global("ann", "at home"), global("Bob/..", "away")},
                 .globals = {global(kMetaGlobal, *encode_meta({.seed = 7, .display_name = "w"})),
                             global("sky", "blue"), global("file:notes.txt", "beside it")},
                 .generator = GeneratorId{"flat", 2}});
    must_commit(*store, {.tick = 20,
                         .chunks = {{{1, -1, 2, 0}, Bytes::copy_of("shorter")}, {{2, 5, 5, 1}, {}}},
                         .players = {global("ann", "at sea")}});
    tick = store->tick();
    generation = store->generation();
    records = crash::read_records(*store).value();
    EXPECT_TRUE(store->close());
  }
  image = disk.image();
}

const SampleSave& sample_save() {
  static const SampleSave save;
  return save;
}

Bytes read_file(Vfs& vfs, const std::string& path) {
  return vfs.open(path, OpenMode::read).value()->read_all(1 << 30).value();
}

void write_file(Vfs& vfs, const std::string& path, ByteView contents) {
  const auto file = vfs.open(path, OpenMode::replace).value();
  ASSERT_TRUE(file->write_at(0, contents));
  ASSERT_TRUE(file->close());
}

std::vector<std::string> files_of(Vfs& vfs, const std::string& folder) {
  std::vector<std::string> files;
  const auto entries = vfs.list(folder);
  for (const DirEntry& entry : *entries) {
    const std::string path = path_join(folder, entry.name);
    if (entry.kind == FileKind::directory) {
      for (std::string& file : files_of(vfs, path)) files.push_back(std::move(file));
    } else if (!path.ends_with("varve/lock")) {
      files.push_back(path);
    }
  }
  return files;
}

namespace {

Result<std::optional<Bytes>> read_record(const StoreView& view, const RecordKey& key) {
  switch (key.kind) {
    case RecordKind::chunk:
      return view.read_chunk(key.pos);
    case RecordKind::player:
      return view.read_player(key.name);
    case RecordKind::global:
      return view.read_global(key.name);
    case RecordKind::entity:
      break;
  }
  const auto entity = view.read_entity(key.id);
  if (!entity) return entity.error();
  if (!*entity) return std::nullopt;
  return crash::entity_record((*entity)->owner, (*entity)->data);
}

// Listings may name what is damaged. They must not name what can be read and never was.
void check_listings(const StoreView& view, const crash::Records& expected) {
  const auto check = [&](const std::string& key) {
    const bool is_known = expected.contains(key) || !read_record(view, *parse_record_key(key));
    EXPECT_TRUE(is_known) << key << " came from nowhere";
    return true;
  };
  EXPECT_TRUE(
      view.list_chunks({}, [&](const ChunkInfo& each) { return check(to_string(each.pos)); }));
  EXPECT_TRUE(
      view.list_players([&](const NamedInfo& each) { return check(player_key(each.name)); }));
  EXPECT_TRUE(
      view.list_globals([&](const NamedInfo& each) { return check(global_key(each.name)); }));
  const Status listed =
      view.list_entities({}, [&](const EntityInfo& each) { return check(entity_key(each.id)); });
  EXPECT_TRUE(listed || listed.error().code() == ErrorCode::corruption);
}

// Whether verify() said what happened to a record.
bool is_named(const VerifyReport& report, const std::string& key) {
  const RecordKey parsed = parse_record_key(key).value();
  const std::string file = SaveLayout(kSavePath).file(parsed);
  const std::string named = parsed.kind == RecordKind::entity ? "entity:*" : key;
  return std::any_of(report.problems.begin(), report.problems.end(), [&](const auto& problem) {
    return problem.key == named || problem.key == file;
  });
}

DamageCheck check_opened(const Store& store, const crash::Records& expected) {
  const ReadBack found = read_back(store, expected);
  DamageCheck check{.damaged = found.damaged,
                    .unknown = found.unknown,
                    .report = store.open_report(),
                    .verified = verify(store),
                    .tick = store.tick()};
  check_listings(store, expected);
  for (const auto& keys : {check.damaged, check.unknown}) {
    for (const std::string& key : keys) {
      EXPECT_TRUE(is_named(check.verified, key)) << "verify() does not name " << key;
    }
  }
  return check;
}

}  // namespace

ReadBack read_back(const StoreView& view, const crash::Records& expected) {
  ReadBack back;
  for (const auto& [key, contents] : expected) {
    const auto found = read_record(view, parse_record_key(key).value());
    if (!found) {
      EXPECT_EQ(found.error().code(), ErrorCode::corruption) << key << found.error().message();
      back.damaged.insert(key);
    } else if (!*found) {
      back.unknown.insert(key);
    } else {
      EXPECT_TRUE(**found == contents) << key << " reads as something else";
    }
  }
  return back;
}

DamageCheck check_damaged(const sim::DiskImage& image, const crash::Records& expected) {
  sim::SimDisk disk(image);
  disk.set_recording(false);
  CountingVfs counting(disk);
  DamageCheck seen;
  {
    const auto store = must_open_to_read(counting);
    if (store == nullptr) return {};
    seen = check_opened(*store, expected);
    EXPECT_EQ(counting.counts().change_count(), 0u) << "looking changed the disk";
  }
  const auto store = must_open(counting);
  if (store == nullptr) return {};
  DamageCheck opened = check_opened(*store, expected);
  EXPECT_EQ(opened.damaged, seen.damaged);
  EXPECT_EQ(opened.unknown, seen.unknown);
  EXPECT_EQ(opened.tick, seen.tick);
  // It is still a save: it takes a commit, and is the same when it is opened again.
  must_commit(*store, {.tick = 1000});
  EXPECT_TRUE(store->close());
  const auto again = must_open(counting);
  if (again == nullptr) return {};
  EXPECT_EQ(read_back(*again, expected), (ReadBack{opened.damaged, opened.unknown}));
  return opened;
}

sim::DiskImage changed(const sim::DiskImage& image, const std::function<void(Vfs&)>& change) {
  sim::SimDisk disk(image);
  disk.set_recording(false);
  change(disk);
  return disk.image();
}

}  // namespace varve::nebula::test
