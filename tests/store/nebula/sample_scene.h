// Scenes for tests, by hand and at random.
#pragma once

#include <rapidcheck.h>

#include <string>

#include "store/nebula/scene_records.h"
#include "varve/nebula.h"

namespace varve::nebula::test {

// The worked example of docs/formats/nebula_v1.md: a ship, and a pilot with a component of
// bytes who is its child, stands in a chunk and has a parent that is not in the scene.
Scene example_scene();
inline constexpr std::string_view kExampleNscd =
    "4e534344 01 02"
    "01 04 53686970 05 01 08 576f726c64506f73 00 06 28783a203029"
    "00 ac02 03"
    "06 4865616c7468 01 02 50ff"
    "0d 76617276652e706172656e7473 00 03 5b395d"
    "0b 76617276652e6f776e6572 00 1e 28666163653a20302c20783a20332c20793a202d322c206c6f643a203029"
    "01 00 01"
    "01 08 736869702e726f6e 00";

rc::Gen<std::string> any_text();
rc::Gen<std::vector<Component>> any_components();
rc::Gen<EntityRecord> any_record();
// Ids from a small range, so that parents are in the scene as often as not.
rc::Gen<SceneRecords> any_scene_records();

}  // namespace varve::nebula::test
