// docs/formats/history_index_v1.md. Keep it and that page in step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace varve::journal {

inline constexpr std::string_view kHistoryMagic = "VHIX";
inline constexpr std::uint32_t kHistoryVersion = 1;
inline constexpr std::size_t kHistoryHeadSize = 56;
// Spaces, chunks, entities, players, globals, singletons: in the order in which they lie there.
inline constexpr std::array<std::size_t, 6> kHistoryRowSizes = {4, 28, 12, 8, 8, 8};

}  // namespace varve::journal
