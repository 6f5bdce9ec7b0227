#include "store/memory_store.h"

#include <fmt/format.h>

#include "base/guarded.h"
#include "base/try.h"
#include "store/memory_saves.h"
#include "store/tables_store.h"

namespace varve {
namespace {

constexpr std::string_view kScheme = "memory:";

Capabilities memory_capabilities() {
  Capabilities can;
  can.format = "memory";
  can.durable = false;
  return can;
}

class MemoryStore final : public TablesStore {
 public:
  MemoryStore(std::string_view path, std::shared_ptr<MemorySave> save)
      : TablesStore(std::string(path), memory_capabilities(), save->newest),
        save_(std::move(save)) {}
  ~MemoryStore() override {
    if (save_ != nullptr) save_->release();
  }

 private:
  Result<std::uint64_t> publish(const Publication& p) override {
    save_->publish(p.next, p.commit.backup_count);
    return p.stats.chunks.put_size + p.stats.entities.put_size + p.stats.players.put_size +
           p.stats.globals.put_size;
  }
  Status release() override {
    save_->release();
    save_ = nullptr;
    return {};
  }

  std::shared_ptr<MemorySave> save_;
};

Result<std::string_view> name_in(std::string_view path) {
  if (!path.starts_with(kScheme)) {
    return invalid_argument(
        fmt::format("{} is not in memory: such saves are called memory:NAME", path));
  }
  return path.substr(kScheme.size());
}

class MemoryFormat final : public Format {
 public:
  std::string_view name() const override { return "memory"; }

  Result<bool> detect(std::string_view path) const override {
    return path.starts_with(kScheme) && memory_save_exists(path.substr(kScheme.size()));
  }

  Result<std::unique_ptr<Store>> open(std::string_view path) const override {
    return open_with(path, open_memory_save, [](std::string_view) {});
  }

  Result<std::unique_ptr<Store>> create(std::string_view path) const override {
    // What could not be opened was not created.
    return open_with(path, create_memory_save,
                     [](std::string_view name) { (void)remove_memory_save(name); });
  }

  Status rename(std::string_view from, std::string_view to) const override {
    return or_out_of_memory([&]() -> Status {
      VARVE_ASSIGN(const auto from_name, name_in(from));
      VARVE_ASSIGN(const auto to_name, name_in(to));
      return rename_memory_save(from_name, to_name);
    });
  }

  Status remove(std::string_view path) const override {
    return or_out_of_memory([&]() -> Status {
      VARVE_ASSIGN(const auto name, name_in(path));
      return remove_memory_save(name);
    });
  }

 private:
  template <class Open, class Undo>
  static Result<std::unique_ptr<Store>> open_with(std::string_view path, Open open, Undo undo) {
    return or_out_of_memory([&]() -> Result<std::unique_ptr<Store>> {
      VARVE_ASSIGN(const auto name, name_in(path));
      VARVE_ASSIGN(auto save, open(name));
      try {
        return std::make_unique<MemoryStore>(path, save);
      } catch (const std::bad_alloc&) {
        save->release();
        undo(name);
        throw;
      }
    });
  }
};

}  // namespace

std::unique_ptr<const Format> make_memory_format() { return std::make_unique<MemoryFormat>(); }

}  // namespace varve
