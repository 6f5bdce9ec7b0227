#include "codec/zstd.h"

#include <fmt/format.h>
#include <zdict.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <limits>
#include <new>
#include <vector>

#include "base/byte_reader.h"
#include "base/try.h"
#include "codec/grow_output.h"

namespace varve {
namespace {

struct Free {
  void operator()(ZSTD_CCtx* p) const { ZSTD_freeCCtx(p); }
  void operator()(ZSTD_DCtx* p) const { ZSTD_freeDCtx(p); }
  void operator()(ZSTD_CDict* p) const { ZSTD_freeCDict(p); }
  void operator()(ZSTD_DDict* p) const { ZSTD_freeDDict(p); }
};

// A context is worth megabytes of set-up; each thread keeps one of each kind.
ZSTD_CCtx* thread_compressor() {
  thread_local const std::unique_ptr<ZSTD_CCtx, Free> mine(ZSTD_createCCtx());
  if (!mine) throw std::bad_alloc();
  return mine.get();
}

ZSTD_DCtx* thread_decompressor() {
  thread_local const std::unique_ptr<ZSTD_DCtx, Free> mine(ZSTD_createDCtx());
  if (!mine) throw std::bad_alloc();
  return mine.get();
}

Error damaged(ByteView in, std::string_view why) {
  return corruption(
      fmt::format("zstd: the frame of {} bytes is damaged or cut short: {}", in.size(), why));
}

// What is in `in` must be one frame from end to end. zstd itself would also take
// several, and skippable ones, which nothing here writes.
Status check_one_frame(ByteView in) {
  if (ByteReader r(in); r.u32_le() != ZSTD_MAGICNUMBER) return damaged(in, "wrong magic");
  const std::size_t frame_size = ZSTD_findFrameCompressedSize(in.data(), in.size());
  if (ZSTD_isError(frame_size) != 0) return damaged(in, ZSTD_getErrorName(frame_size));
  if (frame_size != in.size()) {
    return corruption(fmt::format("zstd: {} unexpected bytes after the end at {}",
                                  in.size() - frame_size, frame_size));
  }
  return {};
}

// Whether it is the bytes that cannot be digested. Digesting fails in the same way
// where memory runs out; using the bytes undigested, on nothing, says why.
bool is_damaged_dictionary(ByteView bytes, int level) {
  std::byte frame[64];
  std::size_t size = ZSTD_compress_usingDict(thread_compressor(), frame, sizeof(frame), nullptr, 0,
                                             bytes.data(), bytes.size(), level);
  if (ZSTD_isError(size) == 0) {
    size = ZSTD_decompress_usingDict(thread_decompressor(), nullptr, 0, frame, size, bytes.data(),
                                     bytes.size());
  }
  return ZSTD_isError(size) != 0 && ZSTD_getErrorCode(size) != ZSTD_error_memory_allocation;
}

}  // namespace

struct ZstdDictionary::Digests {
  std::unique_ptr<ZSTD_CDict, Free> compress;
  std::unique_ptr<ZSTD_DDict, Free> decompress;
};

ZstdDictionary::ZstdDictionary(Bytes bytes, std::uint32_t id,
                               std::unique_ptr<Digests> digests) noexcept
    : bytes_(std::move(bytes)), id_(id), digests_(std::move(digests)) {}

ZstdDictionary::~ZstdDictionary() = default;

Result<Bytes> ZstdDictionary::train(std::span<const ByteView> samples, std::size_t size_max) {
  std::vector<std::size_t> sizes;
  ByteWriter joined;
  for (const ByteView sample : samples) {
    sizes.push_back(sample.size());
    joined.bytes(sample);
  }
  if (sizes.size() > std::numeric_limits<unsigned>::max()) {
    return invalid_argument(fmt::format("zstd: {} samples are too many", sizes.size()));
  }
  Buffer dictionary(size_max);
  const std::size_t size =
      ZDICT_trainFromBuffer(dictionary.data(), dictionary.size(), joined.view().data(),
                            sizes.data(), static_cast<unsigned>(sizes.size()));
  if (ZDICT_isError(size) != 0) {
    return invalid_argument(
        fmt::format("zstd: no dictionary of {} bytes can be trained from {} samples of {} bytes: "
                    "{}",
                    size_max, sizes.size(), joined.size(), ZDICT_getErrorName(size)));
  }
  dictionary.resize(size);
  return freeze_without_slack(std::move(dictionary), ByteWriter::kNoLimit);
}

Result<std::shared_ptr<const ZstdDictionary>> ZstdDictionary::prepare(Bytes bytes, int level) {
  if (level < kZstdLevels.min || level > kZstdLevels.max) {
    return invalid_argument(
        fmt::format("zstd: level {} is outside {} to {}", level, kZstdLevels.min, kZstdLevels.max));
  }
  const auto no_dictionary = [&] {
    return corruption(fmt::format("zstd: {} bytes are not a dictionary", bytes.size()));
  };
  const std::uint32_t id = ZSTD_getDictID_fromDict(bytes.data(), bytes.size());
  if (id == 0) return no_dictionary();
  auto digests = std::make_unique<Digests>();
  digests->compress.reset(ZSTD_createCDict(bytes.data(), bytes.size(), level));
  digests->decompress.reset(ZSTD_createDDict(bytes.data(), bytes.size()));
  if (!digests->compress || !digests->decompress) {
    if (is_damaged_dictionary(bytes, level)) return no_dictionary();
    throw std::bad_alloc();
  }
  return std::shared_ptr<const ZstdDictionary>(
      new ZstdDictionary(std::move(bytes), id, std::move(digests)));
}

class Zstd final : public Compression {
 public:
  Zstd(int level, std::shared_ptr<const ZstdDictionary> dictionary)
      : Compression(CompressionId::zstd, "zstd"),
        level_(level),
        dictionary_(std::move(dictionary)) {}

  Status compress(ByteView in, ByteWriter& out) const override {
    ZSTD_CCtx* const compressor = thread_compressor();
    const std::size_t start = out.size();
    const auto room = out.extend(ZSTD_compressBound(in.size()));
    VARVE_TRY(out.status("zstd"));
    const std::size_t size =
        dictionary_
            ? ZSTD_compress_usingCDict(compressor, room.data(), room.size(), in.data(), in.size(),
                                       dictionary_->digests_->compress.get())
            : ZSTD_compressCCtx(compressor, room.data(), room.size(), in.data(), in.size(), level_);
    if (ZSTD_isError(size) != 0) {
      out.truncate(start);
      // With room for the worst case, only memory can have run out.
      if (ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation) throw std::bad_alloc();
      return invalid_argument(
          fmt::format("zstd: cannot compress {} bytes: {}", in.size(), ZSTD_getErrorName(size)));
    }
    out.truncate(start + size);
    return {};
  }

  Status decompress_into(ByteView in, std::size_t output_size_limit, Buffer& out) const override {
    VARVE_TRY(check_one_frame(in));
    VARVE_TRY(check_dictionary(in));
    const unsigned long long claimed = ZSTD_getFrameContentSize(in.data(), in.size());
    if (claimed == ZSTD_CONTENTSIZE_ERROR) return damaged(in, "bad header");
    if (claimed == ZSTD_CONTENTSIZE_UNKNOWN) {
      return decode_growing(out, in.size() * 8, output_size_limit, "zstd",
                            [&](std::span<std::byte> room) { return decode(in, room); });
    }
    if (claimed > output_size_limit) return over_limit("zstd", output_size_limit);
    replace_size(out, static_cast<std::size_t>(claimed));
    VARVE_ASSIGN(const std::optional<std::size_t> size, decode(in, out.span()));
    if (size != claimed) return damaged(in, "its header claims another size");
    return {};
  }

 private:
  Status check_dictionary(ByteView in) const {
    const std::uint32_t needed = ZSTD_getDictID_fromFrame(in.data(), in.size());
    if (needed == 0) return {};
    if (!dictionary_) {
      return unsupported(fmt::format("zstd: the frame needs dictionary {}, none is given", needed));
    }
    if (needed != dictionary_->id()) {
      return unsupported(fmt::format("zstd: the frame needs dictionary {}, the one given is {}",
                                     needed, dictionary_->id()));
    }
    return {};
  }

  Result<std::optional<std::size_t>> decode(ByteView in, std::span<std::byte> room) const {
    const std::size_t size =
        dictionary_
            ? ZSTD_decompress_usingDDict(thread_decompressor(), room.data(), room.size(), in.data(),
                                         in.size(), dictionary_->digests_->decompress.get())
            : ZSTD_decompressDCtx(thread_decompressor(), room.data(), room.size(), in.data(),
                                  in.size());
    if (ZSTD_isError(size) == 0) return std::optional(size);
    if (ZSTD_getErrorCode(size) == ZSTD_error_dstSize_tooSmall) {
      return std::optional<std::size_t>();
    }
    return damaged(in, ZSTD_getErrorName(size));
  }

  int level_;
  std::shared_ptr<const ZstdDictionary> dictionary_;
};

std::uint32_t zstd_library_version() noexcept {
  return static_cast<std::uint32_t>(ZSTD_versionNumber());
}

std::unique_ptr<const Compression> make_zstd(int level) {
  return std::make_unique<Zstd>(level, nullptr);
}

std::unique_ptr<const Compression> make_zstd(std::shared_ptr<const ZstdDictionary> dictionary) {
  return std::make_unique<Zstd>(kZstdLevels.standard, std::move(dictionary));
}

}  // namespace varve
