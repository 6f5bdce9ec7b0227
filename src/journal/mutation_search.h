// What one encoded tick says of one thing, without making the rest of it: columns that are not
// wanted are passed over. For payloads of the log, whose checksums fit. What decode_mutations()
// takes is told as it would tell it; of what it refuses, parts may be told, and nothing is read
// that is not there.
//
// Thread safety: any thread.
#pragma once

#include <optional>
#include <string_view>

#include "varve/bytes.h"
#include "varve/result.h"
#include "varve/tick.h"

namespace varve::journal {

struct SaidOfComponent {
  enum class Kind : std::uint8_t {
    nothing,
    despawned,  // the entity was, and everything of it
    spawned,    // the entity was, without this component
    removed,
    set,
  };
  Kind kind = Kind::nothing;
  Bytes value = {};  // that was set
};
Result<SaidOfComponent> search_component(const Bytes& payload, EntityId entity,
                                         ComponentId component);

// nullopt if nothing is said; else what there was afterwards.
using SaidOfValue = std::optional<std::optional<Bytes>>;
Result<SaidOfValue> search_singleton(const Bytes& payload, ComponentId component);
Result<SaidOfValue> search_player(const Bytes& payload, std::string_view name);
Result<SaidOfValue> search_global(const Bytes& payload, std::string_view name);

}  // namespace varve::journal
