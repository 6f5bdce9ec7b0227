// Paths as text. No disk is asked.
#pragma once

#include <string>
#include <string_view>

namespace varve {

// "a" and "b" as "a/b"; a trailing '/' of `dir` is not doubled.
std::string path_join(std::string_view dir, std::string_view name);

// The directory that holds `path`: "a/b" is in "a", "b" in ".", "/b" in "/".
std::string_view path_parent(std::string_view path);

// The last component: "a/b" and "a/b/" are "b".
std::string_view path_name(std::string_view path);

}  // namespace varve
