// A file open on a simulated disk. Only SimDisk makes these.
#pragma once

#include "io/sim/sim_disk.h"

namespace varve::sim {

class SimFile final : public File {
 public:
  SimFile(SimDisk& disk, std::string_view path, NodeId node, bool writable)
      : File(path), disk_(disk), node_(node), writable_(writable) {}

 private:
  Result<std::size_t> do_read(std::uint64_t offset, std::span<std::byte> out) const override;
  Status do_write(std::uint64_t offset, ByteView data) override;
  Status do_truncate(std::uint64_t size) override;
  Status do_extend_written(std::uint64_t from, std::uint64_t to) override;
  Status do_punch_hole(std::uint64_t offset, std::uint64_t size) override;
  Status do_sync(bool data_only) override;
  Result<std::uint64_t> do_size() const override;
  Result<Bytes> do_map(std::uint64_t offset, std::size_t size) const override;
  Status do_close() override;

  Status check_writable() const;

  SimDisk& disk_;
  NodeId node_;
  bool writable_;
};

}  // namespace varve::sim
