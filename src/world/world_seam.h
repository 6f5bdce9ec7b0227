// Worlds whose journal is on a disk of the caller's: tests crash it.
#pragma once

#include <memory>

#include "varve/world.h"
#include "world/journal_opening.h"

namespace varve {

struct WorldSeam {
  // As World::on(), with the journal, if there is one, on `seam`'s disk.
  static Result<std::unique_ptr<World>> on(std::unique_ptr<Store> store, WorldOptions options,
                                           const JournalSeam& seam);
};

}  // namespace varve
