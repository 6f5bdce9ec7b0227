// Shared payloads, references and counts that are damaged, missing or forged: what is read, what
// verify() says, and how they become right again.
#include <gtest/gtest.h>

#include "crash/store_subject.h"
#include "sharing_sample.h"

namespace varve {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// Chunks 0, 1 and 2 share one payload, 3 and 4 another; 5 is alone.
std::shared_ptr<SampleDisk> sample() {
  const auto disk = new_disk();
  const auto store = open_sample(disk, kSharing);
  commit(*store, same_chunks(0, 3, noise_of(1)));
  commit(*store, same_chunks(3, 5, noise_of(2)));
  commit(*store, same_chunks(5, 6, noise_of(3)));
  return disk;
}

struct Keys {
  explicit Keys(const SampleDisk& disk) : hash(reference_at(disk, 0).hash) {}
  Hash128 hash;
  SaveKey first = chunk_key(0, at(0));
  SaveKey payload = shared_payload_key(hash);
  SaveKey count = shared_count_key(hash);
};

void put_count(SampleDisk& disk, const SaveKey& key, std::uint64_t count) {
  disk.put_framed(key, encode_shared_count(count).text());
}

using Harm = std::function<void(SampleDisk&, const Keys&)>;

// What verify() finds after `harm`, and nothing once the save was compacted, if that can help.
void expect_found(const char* what, const Harm& harm, std::string_view key,
                  std::string_view message, bool is_mended = true) {
  SCOPED_TRACE(what);
  const auto disk = sample();
  const Keys keys(*disk);
  harm(*disk, keys);
  const auto store = open_sample(disk);
  ASSERT_NE(store, nullptr);
  const VerifyReport report = verify(*store);
  bool is_found = false;
  for (const RecordProblem& problem : report.problems) {
    is_found = is_found || (problem.key.find(key) != std::string::npos &&
                            problem.error.message().find(message) != std::string::npos);
  }
  EXPECT_TRUE(is_found) << problems_of(report);
  Progress progress;
  ASSERT_TRUE(store->compact(progress));
  EXPECT_EQ(verify(*store).clean(), is_mended) << problems_of(verify(*store));
  EXPECT_EQ(store->read_chunk(at(4)).value(), noise_of(2)) << "which has nothing to do with it";
}

TEST(SharingDamage, VerifyFindsItAndCompactingMendsWhatCanBe) {
  expect_found(
      "a payload that is gone", [](SampleDisk& d, const Keys& k) { d.erase(k.payload); },
      "chunk:0,0", "which is not there", false);
  expect_found(
      "which is still counted", [](SampleDisk& d, const Keys& k) { d.erase(k.payload); },
      "shared payload", "it is counted", false);
  expect_found(
      "a damaged payload", [](SampleDisk& d, const Keys& k) { d.flip(k.payload); }, "chunk:2,0",
      "checksum", false);
  expect_found(
      "another payload under its key",
      [](SampleDisk& d, const Keys& k) {
        d.put(k.payload, sealed_for(k.payload, d.get(chunk_key(0, at(5)))));
      },
      "shared payload", "another hash", false);
  expect_found(
      "a payload that refers to another one",
      [](SampleDisk& d, const Keys& k) {
        d.put(k.payload, sealed_for(k.payload, d.get(chunk_key(0, at(3)))));
      },
      "chunk:0,0", "only names a payload", false);
  expect_found(
      "a count that is too high", [](SampleDisk& d, const Keys& k) { put_count(d, k.count, 9); },
      "shared payload", "its count is 9, and 3 chunks refer to it");
  expect_found(
      "one that is too low", [](SampleDisk& d, const Keys& k) { put_count(d, k.count, 2); },
      "shared payload", "its count is 2, and 3 chunks refer to it");
  expect_found(
      "a count of nothing", [](SampleDisk& d, const Keys& k) { put_count(d, k.count, 0); },
      "shared payload", "nothing is counted");
  expect_found(
      "a count beyond all",
      [](SampleDisk& d, const Keys& k) { put_count(d, k.count, ~std::uint64_t{0}); },
      "shared payload", "its count");
  expect_found(
      "a damaged count", [](SampleDisk& d, const Keys& k) { d.flip(k.count); }, "shared payload",
      "its count");
  expect_found(
      "no count", [](SampleDisk& d, const Keys& k) { d.erase(k.count); }, "shared payload",
      "it has no count");
  expect_found(
      "a payload nobody wants",
      [](SampleDisk& d, const Keys&) {
        const SaveKey key = shared_payload_key({.high = 1, .low = 2});
        d.put_framed(key, noise_of(9).text());
        put_count(d, shared_count_key({.high = 1, .low = 2}), 1);
      },
      "shared payload 00000000000000010000000000000002", "no chunk refers to it");
  expect_found(
      "a count of what never was",
      [](SampleDisk& d, const Keys&) { put_count(d, shared_count_key({.high = 1, .low = 2}), 1); },
      "shared payload", "it is counted, and it is not there");
  expect_found(
      "a damaged reference", [](SampleDisk& d, const Keys& k) { d.flip(k.first); }, "chunk:0,0",
      "checksum", false);
  expect_found(
      "a reference with something behind it",
      [](SampleDisk& d, const Keys& k) {
        const std::string longer = std::string(d.get(k.first).text()) + "x";
        d.put(k.first, sealed_for(k.first, as_byte_view(longer)));
      },
      "chunk:0,0", "1 more behind it", false);
  expect_found(
      "a reference that claims another size",
      [](SampleDisk& d, const Keys& k) {
        const Bytes other = plain_frame(k.first, noise_of(1, 999));
        d.put(k.first, encode_reference(k.first, other, k.hash).value());
      },
      "chunk:0,0", "wants 999", false);
  expect_found(
      "a reference that is no chunk",
      [](SampleDisk& d, const Keys& k) {
        const SaveKey key = named_key(RecordKind::player, "ann");
        d.put(key, sealed_for(key, d.get(k.first)));
      },
      "player:ann", "only names a payload", false);
  expect_found(
      "keys that are none",
      [](SampleDisk& d, const Keys&) { d.put_framed(SaveKey(KeyTag::shared_payload).u8(1), "x"); },
      "a shared payload", "no hash", false);
  expect_found(
      "a header that says nothing of it",
      [](SampleDisk& d, const Keys&) {
        SaveHeader header = header_of(d);
        header.features = 0;
        d.put_framed(header_key(), encode_save_header(header).text());
      },
      "the save", "does not say so", false);
}

// The chunk is replaced; behind it the counts are right, whatever the damage was.
TEST(SharingDamage, ADamagedReferenceThatIsReplacedOrErasedLeavesRightCounts) {
  const Bytes whole = sample()->get(chunk_key(0, at(0)));
  for (std::size_t index = 0; index < whole.size(); ++index) {
    for (const bool is_erased : {false, true}) {
      const auto disk = sample();
      const Keys keys(*disk);
      Buffer changed = whole.clone();
      changed.data()[index] ^= std::byte{0x10};
      disk->put(keys.first, std::move(changed).freeze());
      const auto store = open_sample(disk);
      EXPECT_EQ(store->read_chunk(at(0)).error().code() == ErrorCode::corruption ||
                    store->read_chunk(at(0)).error().code() == ErrorCode::unsupported,
                true);
      ASSERT_TRUE(store->quarantine(at(0)));
      const std::optional<Bytes> payload =
          is_erased ? std::nullopt : std::optional(noise_of(index % 2 == 0 ? 1 : 8));
      commit(*store, {.chunks = {{at(0), payload}}});
      EXPECT_EQ(count_at(*disk, keys.hash), 2u);
      EXPECT_EQ(store->read_chunk(at(0)).value(), payload);
      expect_clean(*store);
    }
  }
}

TEST(SharingDamage, ADamagedPayloadIsKeptAsideAndGoesWithTheLastChunkThatHasIt) {
  const auto disk = sample();
  const Keys keys(*disk);
  disk->flip(keys.payload);
  const Bytes damaged = disk->get(keys.payload);
  const auto store = open_sample(disk, kSharing);
  for (int x = 0; x < 3; ++x) {
    EXPECT_EQ(store->read_chunk(at(x)).error().code(), ErrorCode::corruption);
    ASSERT_TRUE(store->quarantine(at(x)));
    ASSERT_TRUE(store->quarantine(at(x)));
  }
  // Three references and, once, what they refer to.
  const auto kept =
      disk->kept->range({.prefix = SaveKey(KeyTag::quarantine).copy()}).value().entries;
  ASSERT_EQ(kept.size(), 4u);
  bool is_kept = false;
  for (const RangeEntry& entry : kept) {
    const Bytes record = read_plain_frame(entry.key, *entry.value).value();
    ByteReader in(record);
    const std::string_view key = as_text(in.bytes(in.u8()));
    is_kept = is_kept || (key == as_text(keys.payload) && as_text(in.rest()) == damaged.text());
  }
  EXPECT_TRUE(is_kept);
  // The same payload again, which cannot be compared with what is damaged: nobody joins it.
  commit(*store, same_chunks(0, 2, noise_of(1)));
  EXPECT_FALSE(is_shared(*disk, 0));
  EXPECT_EQ(store->read_chunk(at(1)).value(), noise_of(1));
  EXPECT_EQ(store->read_chunk(at(2)).error().code(), ErrorCode::corruption);
  EXPECT_EQ(count_at(*disk, keys.hash), 1u);
  commit(*store, {.chunks = {{at(2), std::nullopt}}});
  EXPECT_FALSE(disk->has(keys.payload));
  expect_clean(*store);
  // Now it is free to be shared anew.
  commit(*store, same_chunks(6, 8, noise_of(1)));
  EXPECT_TRUE(is_shared(*disk, 6));
  expect_clean(*store);
}

TEST(SharingDamage, ACommitDoesNotTrustACount) {
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
    const auto disk = sample();
    const Keys keys(*disk);
    put_count(*disk, keys.count, count);
    const auto store = open_sample(disk, kSharing);
    // Two let go of what was counted once.
    commit(*store, {.chunks = {{at(0), std::nullopt}, {at(1), noise_of(7)}}});
    EXPECT_EQ(count_at(*disk, keys.hash), 1u) << count;
    EXPECT_EQ(store->read_chunk(at(2)).value(), noise_of(1)) << count;
    expect_clean(*store);
  }
  // And where it is missing, somebody who joins has all counted.
  const auto disk = sample();
  const Keys keys(*disk);
  disk->erase(keys.count);
  const auto store = open_sample(disk, kSharing);
  commit(*store, same_chunks(7, 8, noise_of(1)));
  EXPECT_EQ(count_at(*disk, keys.hash), 4u);
  expect_clean(*store);
}

TEST(SharingDamage, DamageToOneRecordCostsTheChunksThatNeedIt) {
  const auto whole = crash::read_records(*open_sample(sample())).value();
  const auto entries = sample()->kept->range({}).value().entries;
  for (const RangeEntry& entry : entries) {
    const auto tag = static_cast<KeyTag>(entry.key.data()[0]);
    const auto disk = sample();
    Buffer changed = entry.value->clone();
    changed.data()[changed.size() / 2] ^= std::byte{0x10};
    disk->put(entry.key, std::move(changed).freeze());
    const auto store = open_sample(disk);
    std::size_t lost_count = 0;
    for (const auto& [text, value] : whole) {
      const auto got = store->read_chunk(parse_record_key(text).value().pos);
      if (got) {
        EXPECT_EQ(**got, value) << text;
      } else {
        ++lost_count;
      }
    }
    const std::size_t most = tag == KeyTag::chunk ? 1 : tag == KeyTag::shared_payload ? 3 : 0;
    EXPECT_LE(lost_count, most);
    EXPECT_EQ(lost_count != 0, most != 0);
    EXPECT_FALSE(verify(*store).clean());
  }
}

}  // namespace
}  // namespace varve
