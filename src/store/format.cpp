#include "varve/format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>

#include "base/guarded.h"
#include "base/try.h"
#include "io/vfs.h"
#include "store/format_registry.h"
#include "store/memory_store.h"
#include "store/nebula/nebula_store.h"
#include "store/varve/varve_format.h"

namespace varve {
namespace {

struct Registry {
  std::shared_mutex mutex;
  std::map<std::string, std::unique_ptr<const Format>, std::less<>> formats;

  // Those that ship with Varve.
  Registry() {
    add(make_memory_format());
    add(nebula::make_nebula_format(posix_vfs()));
    add(make_varve_format("varve", {}));
    if (has_lmdb_backend()) {
      add(make_varve_format(posix_vfs(), "varve-lmdb", SaveBackend::lmdb, {}));
    }
  }

  void add(std::unique_ptr<const Format> format) {
    std::string name(format->name());
    formats.emplace(std::move(name), std::move(format));
  }
};

Registry& registry() {
  // Never destroyed: formats are handed out for good.
  static Registry& known = *new Registry;
  return known;
}

const Format* find_or_null(std::string_view name) {
  Registry& known = registry();
  const std::shared_lock lock(known.mutex);
  const auto it = known.formats.find(name);
  return it != known.formats.end() ? it->second.get() : nullptr;
}

std::vector<std::string_view> format_names() {
  std::vector<std::string_view> names;
  for (const Format* format : formats()) names.push_back(format->name());
  return names;
}

Error nothing_at(std::string_view path) {
  return not_found(fmt::format("there is no save at {}", path));
}

Result<const Format*> detect(std::string_view path) {
  if (const Format* named = format_named_by(path)) {
    VARVE_ASSIGN(const bool is_there, named->detect(path));
    if (!is_there) return nothing_at(path);
    return named;
  }
  // One format that cannot tell must not hide another that can.
  std::optional<Error> failure;
  for (const Format* format : formats()) {
    const Result<bool> is_its = format->detect(path);
    if (is_its && *is_its) return format;
    if (!is_its && !failure) failure = is_its.error();
  }
  if (failure) return *failure;
  VARVE_ASSIGN(const bool exists, posix_vfs().exists(path));
  if (!exists) return nothing_at(path);
  return unsupported(fmt::format("{} is no save of a format this program knows ({})", path,
                                 fmt::join(format_names(), ", ")));
}

}  // namespace

const Format* format_named_by(std::string_view path) {
  const std::size_t colon = path.find(':');
  return colon != std::string_view::npos ? find_or_null(path.substr(0, colon)) : nullptr;
}

Status register_format(std::unique_ptr<const Format> format) {
  return or_out_of_memory([&]() -> Status {
    if (format == nullptr) return invalid_argument("there is no format to register");
    const std::string_view name = format->name();
    if (Status good = check_name(name); !good) return good.error().with_context("format");
    if (name.find_first_of(":/") != std::string_view::npos) {
      return invalid_argument(
          fmt::format("a format cannot be called {}: its name stands before a colon in paths, "
                      "so it has no colon and no slash in it",
                      name));
    }
    Registry& known = registry();
    const std::unique_lock lock(known.mutex);
    if (known.formats.contains(name)) {
      return invalid_argument(fmt::format("there is a format called {} already", name));
    }
    known.add(std::move(format));
    return {};
  });
}

std::vector<const Format*> formats() {
  Registry& known = registry();
  const std::shared_lock lock(known.mutex);
  std::vector<const Format*> all;
  all.reserve(known.formats.size());
  for (const auto& [name, format] : known.formats) all.push_back(format.get());
  return all;
}

Result<const Format*> find_format(std::string_view name) {
  return or_out_of_memory([&]() -> Result<const Format*> {
    if (const Format* format = find_or_null(name)) return format;
    return not_found(
        fmt::format("there is no format {}; there are {}", name, fmt::join(format_names(), ", ")));
  });
}

Result<const Format*> detect_format(std::string_view path) {
  return or_out_of_memory([&] { return detect(path); });
}

Result<std::unique_ptr<Store>> open_store(std::string_view path) {
  return or_out_of_memory([&]() -> Result<std::unique_ptr<Store>> {
    VARVE_ASSIGN(const Format* const format, detect_format(path));
    return format->open(path);
  });
}

Result<std::unique_ptr<Store>> open_store_to_read(std::string_view path) {
  return or_out_of_memory([&]() -> Result<std::unique_ptr<Store>> {
    VARVE_ASSIGN(const Format* const format, detect_format(path));
    return format->open_to_read(path);
  });
}

}  // namespace varve
