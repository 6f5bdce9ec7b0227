// The components of an entity in postcard, which scenes and entity records share.
#pragma once

#include <vector>

#include "codec/postcard.h"
#include "varve/nebula.h"

namespace varve::nebula {

// Sticky, like every read of the reader: empty after a failure.
std::vector<Component> read_components(PostcardReader& p);
std::optional<std::string> read_name(PostcardReader& p);

// Text that is not UTF-8 fails the writer.
void write_components(PostcardWriter& w, const std::vector<Component>& components);
void write_name(PostcardWriter& w, const std::optional<std::string>& name);

}  // namespace varve::nebula
