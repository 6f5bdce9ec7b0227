// What the figures of a run depend on, for the head of the report.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace varve::bench {

// Name and value, in the order they are printed.
using Environment = std::vector<std::pair<std::string, std::string>>;

// CPU, cores, memory, kernel, load, compiler, build type, date, and the file
// system that holds `data_dir`, which must exist.
Environment describe_environment(const std::string& data_dir);

// Type and mount options of the file system that holds `path`: "ext4 (rw,relatime)".
std::string describe_file_system(const std::string& path);

// True where a sync costs nothing, so that a benchmark of syncs would lie.
bool is_memory_file_system(const std::string& path);

// Touches memory once and frees it. A virtual machine gets its memory from the
// host at first touch, which would otherwise be billed to whichever arm is first.
void warm_memory(bool quick);

}  // namespace varve::bench
