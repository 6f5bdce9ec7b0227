#include "world/sample_world.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/endian.h"
#include "varve/format.h"

namespace varve::test {

void Gate::pass() {
  std::unique_lock lock(mutex_);
  ++arrived_count_;
  changed_.notify_all();
  changed_.wait(lock, [this] { return open_; });
}

void Gate::wait_for_arrivals(int count) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return arrived_count_ >= count; });
}

void Gate::open() {
  const std::lock_guard lock(mutex_);
  open_ = true;
  changed_.notify_all();
}

HeldCommits::HeldCommits(StoreControl& control) : control_(control) {
  control_.before_commit([gate = gate_](const Commit&) {
    gate->pass();
    return Status();
  });
}

void HeldCommits::release() {
  control_.before_commit({});
  gate_->open();
}

Result<Bytes> FlatGenerator::generate(const ChunkPos&) const {
  Buffer buffer(kFlatChunkSize);
  std::memset(buffer.data(), fill_, buffer.size());
  return std::move(buffer).freeze();
}

SectionChunk::SectionChunk() {
  const auto empty = std::make_shared<Section>();
  sections_.fill(empty);
}

std::uint8_t SectionChunk::cell(std::size_t index) const {
  return (*sections_[index / kSectionSize])[index % kSectionSize];
}

void SectionChunk::set_cell(std::size_t index, std::uint8_t value) {
  if (cell(index) == value) return;
  std::shared_ptr<Section>& section = sections_[index / kSectionSize];
  if (!owned_[index / kSectionSize]) {
    section = std::make_shared<Section>(*section);
    owned_[index / kSectionSize] = true;
    ++section_copy_count;
  }
  (*section)[index % kSectionSize] = value;
  mark_changed();
}

Bytes SectionChunk::edit_of(std::uint16_t index, std::uint8_t value) {
  Buffer buffer(3);
  store_le<std::uint16_t>(buffer.data(), index);
  buffer.data()[2] = std::byte{value};
  return std::move(buffer).freeze();
}

Result<Bytes> SectionChunk::encode(BufferPool& pool) const {
  Buffer out = pool.take(kSectionCount * kSectionSize);
  for (std::size_t i = 0; i < kSectionCount; ++i)
    std::memcpy(out.data() + i * kSectionSize, sections_[i]->data(), kSectionSize);
  return pool.share(std::move(out));
}

std::unique_ptr<Chunk> SectionChunk::clone() const {
  // From now on both show the same sections, and neither may write into them.
  owned_.fill(false);
  return std::make_unique<SectionChunk>(*this);
}

Result<bool> SectionChunk::apply(ByteView edit) {
  if (edit.size() != 3) return invalid_argument("sections: an edit has 3 bytes");
  const std::size_t index = load_le<std::uint16_t>(edit.data());
  if (index >= kSectionCount * kSectionSize) return invalid_argument("sections: no such cell");
  const auto value = static_cast<std::uint8_t>(edit[2]);
  if (cell(index) == value) return false;
  set_cell(index, value);
  return true;
}

Result<std::unique_ptr<Chunk>> SectionType::decode(const ChunkPos&, const Bytes& payload) const {
  if (payload.size() != SectionChunk::kSectionCount * SectionChunk::kSectionSize)
    return corruption("sections: wrong size");
  auto chunk = std::make_unique<SectionChunk>();
  for (std::size_t i = 0; i < payload.size(); ++i)
    chunk->set_cell(i, static_cast<std::uint8_t>(payload.view()[i]));
  return chunk;
}

std::string fresh_memory_path() {
  static std::atomic<int> count = 0;
  return "memory:test-" + std::to_string(++count);
}

FlatWorld::FlatWorld(WorldOptions options) : options_(std::move(options)) { open(options_); }

FlatWorld::~FlatWorld() { world.reset(); }

void FlatWorld::open(WorldOptions options) {
  if (!options.chunk_type) options.chunk_type = raw_chunks(kFlatChunkSize);
  if (!options.generator) options.generator = std::make_shared<FlatGenerator>();
  const Format* format = *find_format("memory");
  auto store = format->open(path);
  if (!store) store = format->create(path);
  auto opened = World::on(hook(*std::move(store), control), std::move(options));
  if (!opened) std::abort();
  world = *std::move(opened);
}

void FlatWorld::crash_and_reopen() { reopen_with(options_); }

void FlatWorld::reopen_with(WorldOptions options) {
  world.reset();
  open(std::move(options));
}

Result<bool> FlatWorld::set(const ChunkPos& pos, std::size_t offset, std::uint8_t value) {
  const std::byte byte{value};
  return world->edit(pos, RawChunk::edit_of(static_cast<std::uint32_t>(offset), {&byte, 1}));
}

int FlatWorld::at(const ChunkPos& pos, std::size_t offset) {
  const Result<ChunkRef> chunk = world->load_now(pos);
  return chunk ? static_cast<int>(chunk->as<RawChunk>().view()[offset]) : -1;
}

int FlatWorld::stored_at(const ChunkPos& pos, std::size_t offset) const {
  const auto payload = world->store().read_chunk(pos);
  return payload && *payload ? static_cast<int>((**payload).view()[offset]) : -1;
}

}  // namespace varve::test
