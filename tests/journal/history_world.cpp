#include "journal/history_world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace varve::test {
namespace {

using Kind = RecordChange::Kind;

const std::string kAuthors[] = {"", "ann", "bo"};

std::optional<Bytes> data_of(const RecordValue& value) {
  return value ? std::optional(value->data) : std::nullopt;
}

// What a tick logs of changes, with authors by name until all are known.
class TickMaker {
 public:
  void add(const Op& op, const RecordValue* image) {
    if (image != nullptr) add_image(op.key, *image);
    const RecordChange& c = op.change;
    switch (op.key.kind) {
      case RecordKind::chunk:
        if (c.kind == Kind::put) {
          add_to(m_.puts, {.pos = op.key.pos, .payload = data_of(c.value)}, c);
        } else {
          add_to(m_.edits, {.pos = op.key.pos, .edit = c.data}, c);
        }
        break;
      case RecordKind::entity:
        add_entity(op.key.id, c);
        break;
      case RecordKind::player:
        add_to(m_.players, {.name = op.key.name, .data = data_of(c.value)}, c);
        break;
      case RecordKind::global:
        add_to(m_.globals, {.name = op.key.name, .data = data_of(c.value)}, c);
        break;
    }
  }

  TickMutations take() {
    m_.authors.assign(names_.begin(), names_.end());
    for (const auto& settle : settle_) settle();
    const auto order = [](const auto& about) { return entity_order(about.entity); };
    const auto pos = [](const auto& about) { return about.pos; };
    const auto name = [](const auto& about) { return about.name; };
    std::ranges::sort(m_.despawns, {}, order);
    std::ranges::sort(m_.spawns, {}, order);
    std::ranges::sort(m_.inserts, {}, order);
    std::ranges::sort(m_.moves, {}, order);
    std::ranges::sort(m_.entity_images, {}, order);
    std::ranges::sort(m_.images, {}, pos);
    std::ranges::sort(m_.puts, {}, pos);
    std::ranges::stable_sort(m_.edits, {}, pos);
    std::ranges::sort(m_.players, {}, name);
    std::ranges::sort(m_.globals, {}, name);
    std::ranges::sort(m_.player_images, {}, name);
    std::ranges::sort(m_.global_images, {}, name);
    return std::move(m_);
  }

 private:
  template <class Mutation>
  void add_to(std::vector<Mutation>& list, Mutation mutation, const RecordChange& change) {
    list.push_back(std::move(mutation));
    if (change.author.empty()) return;
    names_.insert(change.author);
    settle_.push_back([this, &list, i = list.size() - 1, name = change.author] {
      list[i].author =
          static_cast<AuthorIndex>(1 + std::distance(names_.begin(), names_.find(name)));
    });
  }
  void add_entity(EntityId id, const RecordChange& c) {
    if (c.kind == Kind::bytes) {
      add_to(m_.inserts, {.entity = id, .component = kWholeEntity, .value = c.data}, c);
    } else if (c.kind == Kind::owner) {
      add_to(m_.moves, {.entity = id, .chunk = c.owner}, c);
    } else if (!c.value) {
      add_to(m_.despawns, {.entity = id}, c);
    } else {
      add_to(m_.spawns,
             {.entity = id,
              .chunk = c.value->owner,
              .components = {{.component = kWholeEntity, .value = c.value->data}}},
             c);
    }
  }
  void add_image(const RecordKey& key, const RecordValue& image) {
    if (key.kind == RecordKind::chunk) {
      m_.images.push_back({.pos = key.pos, .payload = data_of(image)});
    } else if (key.kind == RecordKind::entity) {
      EntityImage made{.entity = key.id, .was_there = image.has_value()};
      if (image) made.chunk = image->owner;
      if (image) made.data = image->data;
      m_.entity_images.push_back(std::move(made));
    } else {
      (key.kind == RecordKind::player ? m_.player_images : m_.global_images)
          .push_back({.name = key.name, .data = data_of(image)});
    }
  }

  TickMutations m_;
  std::set<std::string> names_;
  std::vector<std::function<void()>> settle_;
};

std::uint64_t some_stretch(std::uint64_t seed) { return 1 + seed * 7 % 12; }

}  // namespace

HistoryWorld::HistoryWorld(const ChunkKit& kit, std::uint64_t seed)
    : kit_(kit), random_(seed), stretch_ticks_(some_stretch(seed)), disk_({}, seed) {
  disk_.set_recording(false);
  static int world_count = 0;
  const std::string name = "memory:history " + std::to_string(++world_count);
  store_ = find_format("memory").value()->create(name).value();
  // The world is older than its journal.
  tick_ = below(30);
  for (const Op& op : some_ops()) {
    keys_.emplace(to_string(op.key), op.key);
    if (apply(now_, op)) unsaved_.insert(to_string(op.key));
  }
  save_all();
  past_[tick_] = now_;
  open_journal();
}

HistoryWorld::~HistoryWorld() {
  EXPECT_TRUE(journal_->close());
  EXPECT_TRUE(store_->close());
}

void HistoryWorld::open_journal() {
  journal::JournalFolderOptions options;
  options.log.segment_size = 4096;
  options.log.durability = {.kind = Durability::Kind::every_n, .count = 3};
  options.log.background = false;
  options.fresh = {.id = {1},
                   .stretch_ticks = stretch_ticks_,
                   .base_tick = tick_,
                   .chunk_type = std::string(kit_.type()->name())};
  options.seed = 1;
  auto opened = journal::JournalFolder::open(disk_, "world.journal", options);
  ASSERT_TRUE(opened) << opened.error().message();
  journal_ = *std::move(opened);
  EXPECT_TRUE(journal_->problems().empty());
}

bool HistoryWorld::apply(Records& records, const Op& op) const {
  const std::string key = to_string(op.key);
  const auto found = records.find(key);
  if (op.change.kind == Kind::put) {
    if (op.change.value) {
      records[key] = *op.change.value;
    } else {
      records.erase(key);
    }
    return true;
  }
  if (found == records.end()) return false;
  if (op.change.kind == Kind::bytes) found->second.data = op.change.data;
  if (op.change.kind == Kind::owner) found->second.owner = op.change.owner;
  if (op.change.kind != Kind::edit) return true;
  const auto edited = kit_.edited(found->second.data, op.change.data);
  if (edited) found->second.data = *edited;
  return edited.has_value();
}

void HistoryWorld::log(const std::vector<Op>& ops) {
  // Ticks that change nothing are left out.
  tick_ += below(5) == 0 ? 1 + below(2 * stretch_ticks_) : 1;
  for (auto before = past_.rbegin()->first + 1; before < tick_; ++before) past_[before] = now_;
  const Records before = now_;
  TickMaker maker;
  std::set<std::string> seen;
  for (const Op& op : ops) {
    const std::string key = to_string(op.key);
    keys_.emplace(key, op.key);
    const std::uint64_t stretch = tick_ / stretch_ticks_ + 1;
    const bool needs_image = seen.insert(key).second && (imaged_[key] != stretch || below(9) == 0);
    const auto found = before.find(key);
    const RecordValue image = found == before.end() ? RecordValue() : RecordValue(found->second);
    if (needs_image) imaged_[key] = stretch;
    maker.add(op, needs_image ? &image : nullptr);
    ASSERT_TRUE(apply(now_, op)) << key;
    unsaved_.insert(key);
    ops_.push_back({tick_, op});
  }
  past_[tick_] = now_;
  const TickMutations tick = maker.take();
  const auto bytes = encode_mutations(tick);
  ASSERT_TRUE(bytes) << bytes.error().message();
  ASSERT_TRUE(journal_->log().append(tick_, *bytes));
  ASSERT_TRUE(stretch_ticks_ % 3 != 0 ? journal_->index().note(tick_, tick)
                                      : journal_->index().catch_up());
}

void HistoryWorld::play(int tick_count) {
  for (; tick_count > 0; --tick_count) {
    log(some_ops());
    if (testing::Test::HasFatalFailure()) return;
    if (below(3) == 0) {
      EXPECT_TRUE(journal_->index().write_finished());
    }
    if (below(6) == 0) save_part();
    if (below(12) == 0) save_all();
    if (below(15) == 0) cut();
    if (below(25) == 0) {
      EXPECT_TRUE(journal_->close());
      journal_.reset();
      open_journal();
    }
  }
}

void HistoryWorld::save_all() {
  std::vector<std::string> keys;
  keys.assign(unsaved_.begin(), unsaved_.end());
  if (journal_ != nullptr) {
    EXPECT_TRUE(journal_->log().sync());
  }
  commit(tick_, keys);
}

void HistoryWorld::save_part() {
  std::vector<std::string> keys;
  for (const std::string& key : unsaved_) {
    if (below(2) == 0) keys.push_back(key);
  }
  EXPECT_TRUE(journal_->log().sync());
  commit(store_->tick(), keys);
}

void HistoryWorld::commit(std::uint64_t tick, const std::vector<std::string>& keys) {
  Commit commit{.tick = tick};
  for (const std::string& text : keys) {
    const RecordKey& key = keys_.at(text);
    const auto found = now_.find(text);
    const RecordValue value = found == now_.end() ? RecordValue() : RecordValue(found->second);
    if (key.kind == RecordKind::chunk) commit.chunks.push_back({key.pos, data_of(value)});
    if (key.kind == RecordKind::entity) commit.entities.push_back({key.id, value});
    if (key.kind == RecordKind::player) commit.players.push_back({key.name, data_of(value)});
    if (key.kind == RecordKind::global) commit.globals.push_back({key.name, data_of(value)});
    unsaved_.erase(text);
  }
  Progress progress;
  const auto done = store_->commit(commit, progress);
  ASSERT_TRUE(done) << done.error().message();
}

void HistoryWorld::cut() {
  const std::uint64_t kept = below(60);
  const std::uint64_t tick = std::min(store_->tick() + 1, tick_ > kept ? tick_ - kept : 0);
  EXPECT_TRUE(journal_->log().truncate_before(tick / stretch_ticks_ * stretch_ticks_));
  if (const auto first = journal_->log().first_tick()) {
    EXPECT_TRUE(journal_->index().forget_before(*first));
  }
}

std::unique_ptr<WorldHistory> HistoryWorld::history() const {
  return journal::make_world_history(
      {.journal = *journal_, .store = *store_, .chunk_type = kit_.type(), .generator = {}});
}

std::string HistoryWorld::some_author() { return kAuthors[below(3)]; }
Bytes HistoryWorld::some_bytes() {
  return Bytes::copy_of(std::string(below(6), static_cast<char>('a' + below(26))));
}
std::optional<ChunkPos> HistoryWorld::some_place() {
  if (below(4) == 0) return std::nullopt;
  return ChunkPos(static_cast<std::int32_t>(below(4)), static_cast<std::int32_t>(below(2)));
}

std::vector<Op> HistoryWorld::some_ops() {
  std::vector<Op> ops;
  std::set<std::string> seen;
  for (std::size_t n = 1 + below(6); n > 0; --n) {
    RecordKey key;
    const std::size_t what = below(10);
    key.kind = what < 4   ? RecordKind::chunk
               : what < 8 ? RecordKind::entity
               : what < 9 ? RecordKind::player
                          : RecordKind::global;
    key.pos = ChunkPos();
    if (key.kind == RecordKind::chunk) {
      key.pos = ChunkPos(static_cast<std::int32_t>(below(4)), static_cast<std::int32_t>(below(2)));
    }
    if (key.kind == RecordKind::entity) key.id = make_entity(1 + below(6), below(2));
    if (what >= 8) key.name = "name " + std::to_string(below(3));
    if (!seen.insert(to_string(key)).second) continue;
    if (key.kind == RecordKind::chunk) {
      add_chunk_ops(ops, key.pos);
    } else if (key.kind == RecordKind::entity) {
      add_entity_ops(ops, key.id);
    } else {
      RecordChange change{.kind = Kind::put, .author = some_author()};
      if (below(3) != 0) change.value = EntityValue{.owner = {}, .data = some_bytes()};
      ops.push_back({key, std::move(change)});
    }
  }
  return ops;
}

void HistoryWorld::add_chunk_ops(std::vector<Op>& ops, const ChunkPos& pos) {
  const RecordKey key{.kind = RecordKind::chunk, .pos = pos};
  const auto found = now_.find(to_string(key));
  std::optional<Bytes> chunk;
  if (found != now_.end()) chunk = found->second.data;
  if (!chunk || below(6) == 0) {
    RecordChange put{.kind = Kind::put, .author = some_author()};
    if (below(4) != 0) {
      put.value = EntityValue{.owner = {}, .data = kit_.some_chunk(random_)};
      chunk = put.value->data;
    } else {
      chunk.reset();
    }
    ops.push_back({key, std::move(put)});
  }
  for (std::size_t n = chunk ? below(4) : 0; n > 0; --n) {
    ops.push_back(
        {key,
         {.kind = Kind::edit, .author = some_author(), .data = kit_.some_edit(random_, *chunk)}});
  }
}

void HistoryWorld::add_entity_ops(std::vector<Op>& ops, EntityId id) {
  const RecordKey key{.kind = RecordKind::entity, .id = id};
  const std::size_t what = now_.contains(to_string(key)) ? below(6) : 0;
  if (what == 0) {
    ops.push_back({key,
                   {.kind = Kind::put,
                    .author = some_author(),
                    .value = EntityValue{.owner = some_place(), .data = some_bytes()}}});
  } else if (what == 1) {
    ops.push_back({key, {.kind = Kind::put, .author = some_author()}});
  }
  if (what == 2 || what == 3) {
    ops.push_back({key, {.kind = Kind::bytes, .author = some_author(), .data = some_bytes()}});
  }
  if (what >= 3) {
    ops.push_back({key, {.kind = Kind::owner, .author = some_author(), .owner = some_place()}});
  }
}

std::vector<Op> ops_of(const RollbackPlan& plan) {
  std::vector<Op> ops;
  const auto value_of = [](const std::optional<Bytes>& data) {
    return data ? RecordValue(EntityValue{.owner = {}, .data = *data}) : RecordValue();
  };
  for (const ChunkChange& c : plan.chunks) {
    ops.push_back({{.kind = RecordKind::chunk, .pos = c.pos},
                   {.kind = Kind::put, .value = value_of(c.payload)}});
  }
  for (const ChunkEdit& e : plan.edits) {
    ops.push_back(
        {{.kind = RecordKind::chunk, .pos = e.pos}, {.kind = Kind::edit, .data = e.edit}});
  }
  for (const EntityChange& c : plan.entities) {
    ops.push_back(
        {{.kind = RecordKind::entity, .id = c.id}, {.kind = Kind::put, .value = c.value}});
  }
  for (const NamedChange& c : plan.players) {
    ops.push_back({{.kind = RecordKind::player, .name = c.name},
                   {.kind = Kind::put, .value = value_of(c.data)}});
  }
  for (const NamedChange& c : plan.globals) {
    ops.push_back({{.kind = RecordKind::global, .name = c.name},
                   {.kind = Kind::put, .value = value_of(c.data)}});
  }
  return ops;
}

}  // namespace varve::test
