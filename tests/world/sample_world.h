// What tests of the runtime share: a generator, a typed chunk, gates for threads.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "support/hooked_store.h"
#include "varve/world.h"

namespace varve::test {

// A place where background threads stop until the test lets them go.
class Gate {
 public:
  // For the background: announces itself and waits until open().
  void pass();
  // For the test: waits until `count` threads have come.
  void wait_for_arrivals(int count);
  void open();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_count_ = 0;
  bool open_ = false;
};

// Opens its gate when it goes, so that a failed assertion does not hang the test.
class GateOpener {
 public:
  explicit GateOpener(Gate& gate) : gate_(gate) {}
  ~GateOpener() { gate_.open(); }

 private:
  Gate& gate_;
};

// Holds every commit back until it is told otherwise.
class HeldCommits {
 public:
  explicit HeldCommits(StoreControl& control);
  ~HeldCommits() { release(); }
  HeldCommits(const HeldCommits&) = delete;
  HeldCommits& operator=(const HeldCommits&) = delete;

  void wait_until_one_is_held() { gate_->wait_for_arrivals(1); }
  void release();

 private:
  StoreControl& control_;
  std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();  // also of those who still pass
};

inline constexpr std::size_t kFlatChunkSize = 1024;

// Chunks full of one byte.
class FlatGenerator : public Generator {
 public:
  explicit FlatGenerator(std::uint8_t fill = 7, std::uint32_t version = 1)
      : fill_(fill), version_(version) {}
  GeneratorId id() const override { return {.name = "flat", .version = version_}; }
  Result<Bytes> generate(const ChunkPos& pos) const override;

 private:
  std::uint8_t fill_;
  std::uint32_t version_;
};

// A typed chunk: cells in sections that clones share until one of them is changed. An edit
// is a cell number (u16 LE) and its new value (u8).
class SectionChunk final : public Chunk {
 public:
  static constexpr std::size_t kSectionCount = 16;
  static constexpr std::size_t kSectionSize = 64;
  using Section = std::array<std::uint8_t, kSectionSize>;

  SectionChunk();
  std::uint8_t cell(std::size_t index) const;
  void set_cell(std::size_t index, std::uint8_t value);
  static Bytes edit_of(std::uint16_t index, std::uint8_t value);

  Result<Bytes> encode(BufferPool& pool) const override;
  std::unique_ptr<Chunk> clone() const override;
  Result<bool> apply(ByteView edit) override;
  std::size_t memory_size() const override { return kSectionCount * kSectionSize; }

  static inline std::atomic<std::uint64_t> section_copy_count = 0;

 private:
  std::array<std::shared_ptr<Section>, kSectionCount> sections_;
  // Which sections no other chunk shares. Only the game thread looks at it.
  mutable std::array<bool, kSectionCount> owned_ = {};
};

class SectionType final : public ChunkType {
 public:
  std::string_view name() const override { return "sections"; }
  Result<std::unique_ptr<Chunk>> decode(const ChunkPos& pos, const Bytes& payload) const override;
};

// A name for a save in memory nobody used before.
std::string fresh_memory_path();

// A world of flat raw chunks on a hooked store in memory.
struct FlatWorld {
  explicit FlatWorld(WorldOptions options = {});
  ~FlatWorld();

  // Drops the world without close(), as a crash would, and opens the save anew.
  void crash_and_reopen();
  void reopen_with(WorldOptions options);
  Result<bool> set(const ChunkPos& pos, std::size_t offset, std::uint8_t value);
  // The byte in memory, or what load_now() finds. -1 if neither works.
  int at(const ChunkPos& pos, std::size_t offset);
  // The byte in the store; -1 if the chunk was never saved.
  int stored_at(const ChunkPos& pos, std::size_t offset) const;
  // Calls update() until `done`, which may look at what each call reports.
  template <class Fn>
  void update_until(const Fn& done) {
    for (;;) {
      const UpdateReport& report = world->update(0);
      if constexpr (std::is_invocable_v<Fn, const UpdateReport&>) {
        if (done(report)) return;
      } else {
        if (done()) return;
      }
    }
  }

  std::string path = fresh_memory_path();
  StoreControl control;
  std::unique_ptr<World> world;

 private:
  void open(WorldOptions options);
  WorldOptions options_;
};

}  // namespace varve::test
