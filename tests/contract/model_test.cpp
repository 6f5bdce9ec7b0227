// Random commits beside a std::map.
//
// Invariants checked: after every commit and every reopening the store holds exactly what
// the model holds, byte for byte; a pin holds what the model held when it was taken; a
// commit that changes nothing makes no generation, any other makes one.
#include <rapidcheck.h>

#include "contract/store_contract.h"

namespace varve::test {
namespace {

using Changes = std::map<std::string, std::optional<Bytes>>;

class Model {
 public:
  Model(StoreSubject& subject, const Capabilities& can) : subject_(subject), can_(can) {}

  Changes any_changes() const {
    Changes changes;
    const int count = *rc::gen::inRange(0, 8);
    for (int i = 0; i < count; ++i) {
      const auto key = any_key();
      changes[to_string(key)] =
          *rc::gen::arbitrary<bool>() ? std::optional(any_value(key)) : std::nullopt;
    }
    return changes;
  }

 private:
  ChunkPos any_pos() const {
    ChunkPos pos;
    pos.coordinate_count = *rc::gen::inRange<std::uint8_t>(
        can_.coordinate_count_min, static_cast<std::uint8_t>(can_.coordinate_count_max + 1));
    for (std::size_t i = 0; i < pos.coordinate_count; ++i) {
      const CoordinateRange& range = can_.coordinate_ranges[i];
      pos.coordinates[i] = *rc::gen::inRange(std::max(-1, range.min), std::min(2, range.max));
    }
    if (can_.spaces) {
      pos.space = Space::named(*rc::gen::element<std::string>("", "nether", "a/b")).value();
    }
    return pos;
  }
  RecordKey any_key() const {
    std::vector<RecordKind> kinds{RecordKind::chunk};
    // An owner that must be a saved chunk is a matter for the format's own tests.
    if (can_.entities) kinds.push_back(RecordKind::entity);
    if (can_.players) kinds.push_back(RecordKind::player);
    if (can_.globals) kinds.push_back(RecordKind::global);
    RecordKey key;
    key.kind = *rc::gen::elementOf(kinds);
    if (key.kind == RecordKind::chunk) key.pos = any_pos();
    if (key.kind == RecordKind::entity) key.id = *rc::gen::inRange<EntityId>(0, 6);
    if (key.kind == RecordKind::player || key.kind == RecordKind::global) {
      key.name = *rc::gen::element<std::string>("ann", "..", "a/b", "\xc3\xa9");
    }
    return key;
  }
  Bytes any_value(const RecordKey& key) const {
    const Bytes data = subject_.payload(
        key.kind, std::string(*rc::gen::inRange<std::size_t>(0, 40), *rc::gen::inRange('a', 'c')));
    if (key.kind != RecordKind::entity) return data;
    const bool owned = !can_.entities_without_owner || *rc::gen::arbitrary<bool>();
    return crash::entity_record(owned ? std::optional(any_pos()) : std::nullopt, data);
  }

  StoreSubject& subject_;
  const Capabilities& can_;
};

TEST_P(StoreContract, AgreesWithAModel) {
  const Model model(subject(), can());
  const bool held = rc::check("the store agrees with a std::map", [&] {
    const std::string where = subject().fresh_path();
    auto current = format().create(where).value();
    crash::Records expected;
    std::unique_ptr<StoreView> pin;
    crash::Records pinned;
    const int step_count = *rc::gen::inRange(1, 12);
    for (int i = 0; i < step_count; ++i) {
      const Changes changes = model.any_changes();
      const std::uint64_t tick = current->tick() + *rc::gen::inRange<std::uint64_t>(0, 2);
      Commit commit = crash::to_commit(changes, tick).value();
      if (can().backups && *rc::gen::inRange(0, 3) == 0) {
        commit.backup_count = *rc::gen::inRange(0u, 3u);
      }
      const crash::Records next = crash::after(expected, {changes});
      const bool makes_one = next != expected || tick != current->tick();
      const std::uint64_t generation = current->generation();
      Progress progress;
      const auto stats = current->commit(commit, progress);
      RC_ASSERT(stats.ok());
      RC_ASSERT((stats->generation > generation) == makes_one);
      RC_ASSERT(makes_one || stats->written_size == 0u);
      expected = next;
      if (*rc::gen::inRange(0, 4) == 0) {
        pin.reset();
        RC_ASSERT(current->close().ok());
        current.reset();
        current = format().open(where).value();
      } else if (can().pins && *rc::gen::inRange(0, 4) == 0) {
        pin = current->pin().value();
        pinned = expected;
      }
      RC_ASSERT(current->tick() == tick);
      RC_ASSERT(crash::read_records(*current).value() == expected);
      if (pin) RC_ASSERT(crash::read_records(*pin).value() == pinned);
    }
    pin.reset();
    RC_ASSERT(current->close().ok());
    current.reset();
    RC_ASSERT(format().remove(where).ok());
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace varve::test
