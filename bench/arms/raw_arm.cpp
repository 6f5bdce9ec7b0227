// The physical limit: the values of a batch in one append and one sync, no format
// at all. Where things lie is known to the program alone, so nothing could be read
// back by another; that is what a format has to compete with.
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "base/try.h"
#include "io/path.h"
#include "io/vfs.h"
#include "kv_arm.h"

namespace varve::bench {
namespace {

class RawArm final : public KvArm {
 public:
  Status open(const std::string& dir) override {
    VARVE_ASSIGN(file_, posix_vfs().open(path_join(dir, "raw"), OpenMode::create));
    return {};
  }

  Status put_batch(std::span<const KvPair> pairs) override {
    std::size_t size = 0;
    for (const KvPair& pair : pairs) size += pair.value.size();
    batch_.resize(size);
    std::size_t offset = 0;
    for (const KvPair& pair : pairs) {
      std::memcpy(batch_.data() + offset, pair.value.data(), pair.value.size());
      offset += pair.value.size();
    }
    VARVE_ASSIGN(std::uint64_t at, file_->append(batch_.view()));
    VARVE_TRY(file_->sync_data());
    for (const KvPair& pair : pairs) {
      places_[std::string(as_text(pair.key))] = {at, pair.value.size()};
      at += pair.value.size();
    }
    return {};
  }

  Status get(ByteView key, Consumer& consume) override {
    const auto found = places_.find(as_text(key));
    if (found == places_.end()) return not_found("raw: no such key");
    value_.resize(found->second.size);
    VARVE_TRY(file_->read_exactly(found->second.offset, value_.span()));
    consume(value_.view());
    return {};
  }

  Status close() override {
    VARVE_TRY(file_->close());
    file_.reset();
    return {};
  }

 private:
  struct Place {
    std::uint64_t offset = 0;
    std::size_t size = 0;
  };
  // Looked up by a view, so that a read copies no key.
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return xxh3(as_byte_view(text));
    }
  };

  std::unique_ptr<File> file_;
  // Outlives close(): there is no format it could be read from.
  std::unordered_map<std::string, Place, TextHash, std::equal_to<>> places_;
  Buffer batch_;
  Buffer value_;
};

}  // namespace

KvArmKind raw_arm_kind() {
  return {.name = "raw",
          .version = "",
          .settings = "one append and one fdatasync a batch; pread",
          .make = []() -> std::unique_ptr<KvArm> { return std::make_unique<RawArm>(); }};
}

}  // namespace varve::bench
