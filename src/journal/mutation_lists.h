// What all code that goes over the lists of a tick shares.
#pragma once

#include "varve/result.h"
#include "varve/tick.h"

namespace varve::journal {

// No value, and no tick, is larger: a length of 32 bits is enough for every log.
inline constexpr std::uint64_t kValueSizeMax = std::uint64_t{1} << 30;

// Success if the lists are as TickMutations says they are; else invalid_argument.
Status check_mutations(const TickMutations& mutations);

// Calls visit(author) with the author field of every mutation. `Mutations` is TickMutations, const
// or not.
template <class Mutations, class Visit>
void for_each_author(Mutations& mutations, Visit visit) {
  const auto of_list = [&](auto& list) {
    for (auto& mutation : list) visit(mutation.author);
  };
  of_list(mutations.despawns);
  of_list(mutations.spawns);
  of_list(mutations.removals);
  of_list(mutations.inserts);
  of_list(mutations.moves);
  of_list(mutations.singletons);
  of_list(mutations.puts);
  of_list(mutations.edits);
  of_list(mutations.players);
  of_list(mutations.globals);
}

}  // namespace varve::journal
