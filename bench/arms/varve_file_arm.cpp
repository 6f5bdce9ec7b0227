// The file backend with its default options: every batch is synced before write()
// returns, and values that were read once are shown from the map.
#include <utility>

#include "base/try.h"
#include "kv_arm.h"
#include "varve/backend.h"

namespace varve::bench {
namespace {

class VarveFileArm final : public KvArm {
 public:
  Status open(const std::string& dir) override {
    VARVE_ASSIGN(backend_, open_file_backend(dir));
    return {};
  }

  Status put_batch(std::span<const KvPair> pairs) override {
    // A batch is made anew each time, as a game would. Its bytes are borrowed: the world
    // outlives the call, and every other arm borrows them too.
    WriteBatch batch;
    for (const KvPair& pair : pairs) {
      batch.add({Bytes::of_static(pair.key), Bytes::of_static(pair.value)});
    }
    WriteResult written = backend_->write(batch);
    if (!written) return std::move(written).error();
    return {};
  }

  Status get(ByteView key, Consumer& consume) override {
    VARVE_ASSIGN(const std::optional<Bytes> value, backend_->get(key));
    if (!value) return not_found("varve: no such key");
    consume(*value);
    return {};
  }

  Status close() override {
    VARVE_TRY(backend_->close());
    backend_.reset();
    return {};
  }

 private:
  std::unique_ptr<Backend> backend_;
};

}  // namespace

KvArmKind varve_file_arm_kind() {
  return {.name = "varve",
          .version = "",
          .settings = "file backend, default options: a sync each commit, reads from the map",
          .make = []() -> std::unique_ptr<KvArm> { return std::make_unique<VarveFileArm>(); }};
}

}  // namespace varve::bench
