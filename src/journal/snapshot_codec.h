// Snapshots as bytes: docs/formats/rgb_snapshot_v1.md. Keep the fields, their order and that page
// in step.
#pragma once

#include <functional>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "journal/state_parts.h"
#include "varve/entity_state.h"

namespace varve {

class SnapshotCodec {
 public:
  static constexpr std::string_view kMagic = "RGBSNAP";
  static constexpr std::uint16_t kVersion = 1;
  static constexpr std::size_t kHeaderSize = 33;
  static constexpr std::size_t kChecksumOffset = 29;

  static void write_header(std::uint64_t tick, const EntityState& state, ByteWriter& out);
  // Everything behind the header. Calls on_piece() between two records from time to time, which may
  // take away what was written so far.
  static void write_body(const EntityState& state, ByteWriter& out,
                         const std::function<void()>& on_piece);
  static Result<Snapshot> read(const Bytes& data);

 private:
  explicit SnapshotCodec(const Bytes& data) : data_(data), in_(data) {}

  void read_entities(std::uint64_t count);
  void read_components(EntityId entity);
  void read_singletons(std::uint32_t count);
  void check_chunks();
  void read_used_up();
  void read_names(EntityState::Parts::Names& out);
  Bytes read_value();

  const Bytes& data_;
  ByteReader in_;
  EntityState state_;
  std::vector<Space> spaces_;
};

}  // namespace varve
