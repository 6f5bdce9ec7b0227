// The lock that admits one writing process to a save, and the slots its readers hold.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "io/vfs.h"

namespace varve {

Result<std::unique_ptr<WriterLock>> lock_posix_writer(std::string_view path);
Result<std::unique_ptr<NoWriterLock>> lock_posix_writers_out(std::string_view path);
Result<std::unique_ptr<SlotLock>> lock_posix_slot(std::string_view path, std::uint32_t index);
Result<bool> is_posix_slot_locked(std::string_view path, std::uint32_t index);

}  // namespace varve
