// Saves of the varve format on a disk: a folder with a mark, and a folder for the backend in it.
#pragma once

#include <memory>
#include <string>

#include "io/vfs.h"
#include "varve/format.h"
#include "varve/varve_store.h"

namespace varve {

enum class SaveBackend : std::uint8_t { file, lmdb };

// A format under this name. New saves are made on `backend`; saves on any are opened.
std::unique_ptr<const Format> make_varve_format(Vfs& vfs, std::string name, SaveBackend backend,
                                                VarveOptions options);

}  // namespace varve
