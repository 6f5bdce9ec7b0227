// What a folder costs on the disk, and what this process has sent there.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace varve::bench {

// Bytes of the blocks the files in `dir` occupy, as du counts them: holes are free,
// space reserved ahead is not.
std::uint64_t allocated_size(const std::string& dir);

// Bytes written so far to the device that holds `dir`, by everybody, from the block
// layer's own count. nullopt where the kernel does not tell (no block device).
std::optional<std::uint64_t> device_written_size(const std::string& dir);

// Bytes this process has dirtied, all threads together: write_bytes of
// /proc/self/io. It is free of neighbours but counts whole folios: 4 KiB written
// into a 64 KiB piece of the page cache may count as 64. nullopt where the kernel
// does not tell.
std::optional<std::uint64_t> process_written_size();

// Waits until process_written_size() has stood still for `quiet`, so that what an
// engine's own threads still write is billed to it and not to the next one. Gives
// up after ten seconds.
void wait_for_quiet_process(std::chrono::milliseconds quiet);

}  // namespace varve::bench
