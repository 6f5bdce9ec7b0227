// Opening saves, and what opening them found, in the words of the tool.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tool/command.h"
#include "varve/format.h"
#include "varve/key.h"
#include "varve/store.h"

namespace varve::tool {

// Opens a save without changing anything on the disk, whoever writes it meanwhile.
Result<std::unique_ptr<Store>> look_at(std::string_view path);

// Refuses to change a save behind its journal's back: what the journal would tell of it then, and
// what it would bring back after a crash, would not be true.
Status check_no_journal(const Store& store);

// Says what opening found damaged, one sentence each. Returns whether there was anything.
bool say_damage(Streams& streams, std::string_view save, const OpenReport& report);

// Whether `path` names a format other than this one, as "memory:x" does; what is made there
// could not be opened.
bool names_other_format(std::string_view path, std::string_view format);

// One sentence for each thing a crash of the last writer left behind.
std::vector<std::string> crash_notes(const OpenReport& report);

// "nebula, pxsw", for messages and help.
std::string format_names();

// "KEY: what is wrong". Stores name the record in some of their messages; it is not named twice.
std::string problem_line(std::string_view key, const Error& error);

// "1 record", "2 records".
std::string counted(std::uint64_t count, std::string_view one, std::string_view many);

// "chunk:3,-2" or, since it cannot be anything else, "3,-2".
Result<ChunkPos> parse_position(std::string_view text);

// "0,0:15,15": two corners, both included, in this space.
Result<ChunkBox> parse_box(const std::string& text, Space space);
// The same from the words of a command, if there are any: a space without a box is refused.
Status parse_place(const std::optional<std::string>& space, const std::optional<std::string>& box,
                   std::optional<ChunkBox>& place);

}  // namespace varve::tool
