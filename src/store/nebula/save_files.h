// Reading and moving the files of one save directory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/vfs.h"
#include "store/nebula/save_index.h"

namespace varve::nebula {

// The largest payload of a record. A chunk of this format is far smaller.
inline constexpr std::uint64_t kPayloadSizeMax = std::uint64_t{1} << 26;
// All entities together.
inline constexpr std::uint64_t kSceneSizeMax = std::uint64_t{1} << 30;

// A payload as its file holds it: chunks are compressed, the others are as they are.
Result<Bytes> encode_file(RecordKind kind, const Bytes& payload);

// The payload `entry` names, wherever its file is by now: in place, still staged, or held for a
// view. Corruption if it is nowhere or is not what was saved.
Result<Bytes> read_payload(Vfs& vfs, const SaveLayout& layout, const RecordKey& key,
                           const FileEntry& entry);

// The size of the payload, which is looked up in the file where the entry does not know it.
Result<std::uint64_t> payload_size(Vfs& vfs, const SaveLayout& layout, const RecordKey& key,
                                   const FileEntry& entry);

// A second name for a file, or a durable copy where the file system has no links. What
// was at `to` is replaced.
Status share_file(Vfs& vfs, const std::string& from, const std::string& to);

// Whether two files hold the same. False also if that cannot be told.
bool is_same_contents(Vfs& vfs, const std::string& a, const std::string& b);

// The right to write a save; busy if somebody else has it.
Result<std::unique_ptr<WriterLock>> lock_save(Vfs& vfs, const SaveLayout& layout);

// Nothing if there is no such folder.
Result<std::vector<DirEntry>> list_if_there(Vfs& vfs, const std::string& folder);

// Gives staged contents their place, or takes a record's file away. A folder that lies there
// instead is moved to the quarantine.
Status put_in_place(Vfs& vfs, const SaveLayout& layout, const std::string& staged,
                    const RecordKey& key);
Status remove_from_place(Vfs& vfs, const SaveLayout& layout, const RecordKey& key);

// Makes the folders of a save that are not there. A link in the place of one is refused.
Status make_folders(Vfs& vfs, const SaveLayout& layout);
Status make_folders_durably(Vfs& vfs, const SaveLayout& layout);

// Copies a file to the quarantine, durably, unless the newest of its name there is the same.
// Success if there is no file.
Status keep_aside(Vfs& vfs, const SaveLayout& layout, const std::string& file);

// Removes every file of a folder, which stays.
Status clear_folder(Vfs& vfs, const std::string& folder);

// Removes what an interrupted call left of a save it was making or removing. Busy if that
// call still goes on.
Status remove_leftover(Vfs& vfs, const SaveLayout& leftover);

// Removes a save so that a crash leaves all of it or nothing: it loses its name first.
Status remove_whole_save(Vfs& vfs, const SaveLayout& layout);

}  // namespace varve::nebula
