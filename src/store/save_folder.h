// Saves that are folders: making, moving and removing them so that a crash leaves all of one or
// nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/vfs.h"

namespace varve {

// Behind the path of a save while it is being made or removed. Nobody gives these by accident.
inline constexpr std::string_view kUnfinishedSuffix = ".unfinished-varve";
inline constexpr std::string_view kRemovingSuffix = ".removing-varve";

// Where the Nth backup of a save is; the newest is the first.
inline constexpr std::uint32_t kBackupCountMax = 100;
std::string backup_path(std::string_view save, std::uint32_t number);
// The numbers of those there are, rising, whatever they are.
Result<std::vector<std::uint32_t>> list_backups(Vfs& vfs, const std::string& save);

// A file, or a link. Success if there is none.
Status remove_if_there(Vfs& vfs, const std::string& path);

// Removes a folder with all that is in it, `depth_max` folders deep. Success if there is
// none. Links are removed, never followed.
Status remove_tree(Vfs& vfs, const std::string& path, int depth_max = 3);

// Gives a save another name, durably. After a failure it has its old one, unless that
// fails too.
Status rename_durably(Vfs& vfs, const std::string& from, const std::string& to);

// Removes what an interrupted call left of a save it was making or removing. Busy if that
// call still goes on and holds `lock_path`, a file in that folder.
Status remove_leftover(Vfs& vfs, const std::string& path, const std::string& lock_path);

// Removes a save so that a crash leaves all of it or nothing: it loses its name first. What an
// earlier call left of it goes too; `lock_path` is where that would be locked.
Status remove_folder_save(Vfs& vfs, const std::string& path, const std::string& lock_path);

}  // namespace varve
