// Saves of the varve format on a disk: a folder with a mark, and a folder for the backend in it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backend/log/log_options.h"
#include "io/vfs.h"
#include "varve/format.h"
#include "varve/varve_store.h"

namespace varve {

// What is in it, if its backend is a log.
inline constexpr std::string_view kLogFolder = "log";

enum class SaveBackend : std::uint8_t { file, lmdb };

// A format under this name. New saves are made on `backend`; saves on any are opened. `log` is for
// tests, which want a small log; by default it is what `options` say.
std::unique_ptr<const Format> make_varve_format(Vfs& vfs, std::string name, SaveBackend backend,
                                                VarveOptions options,
                                                std::optional<log::LogOptions> log = {});

// Busy if somebody writes the save in this folder. The lock is let go again, since it lies in what
// is to be moved. One of which the records are lost is nobody's.
Status check_save_closed(Vfs& vfs, const std::string& root);

}  // namespace varve
