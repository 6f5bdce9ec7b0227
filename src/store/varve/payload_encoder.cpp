#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "base/endian.h"
#include "base/try.h"
#include "codec/byte_planes.h"
#include "codec/lz4.h"
#include "codec/sparse_delta.h"
#include "codec/zstd.h"
#include "store/varve/payload.h"
#include "store/varve/payload_frame.h"
#include "store/varve/payload_sample.h"
#include "store/varve/payload_workspace.h"
#include "varve/checksum.h"

namespace varve {
namespace {

// Raised whenever other bytes are made of the same payload, so that what older versions stored is
// compared by its contents (holds_payload).
constexpr std::uint32_t kEncoderRevision = 2;

// Up to here everything is tried: it takes microseconds, and a sample would be no smaller.
constexpr std::size_t kTryAllSizeMax = 4 << 10;

constexpr std::size_t kCellSizeMax = std::numeric_limits<std::uint8_t>::max();
constexpr int kZstdLevelBalanced = 1;
constexpr int kZstdLevelSmall = 9;

// What a frame must save to be worth decompressing, as a part of the payload.
std::size_t worthwhile_gain(SpeedClass speed, std::size_t payload_size) {
  switch (speed) {
    case SpeedClass::balanced:
      return payload_size / 16;
    case SpeedClass::small:
      return payload_size / 64;
    default:
      return payload_size / 8;
  }
}

// Makes frames of one payload and keeps the smallest at the end of `out`. The first one is made
// there, so that where it is the only one nothing is copied.
class FrameContest {
 public:
  FrameContest(ByteWriter& out, const PayloadWorkspace& workspace)
      : out_(out), attempt_(workspace.attempt()), start_(out.size()) {}
  // Leaves what was there before, unless a frame was kept.
  ~FrameContest() {
    if (!is_kept_) out_.truncate(start_);
  }
  FrameContest(const FrameContest&) = delete;
  FrameContest& operator=(const FrameContest&) = delete;

  std::size_t best_size() const { return best_size_; }

  // `compress` appends the body, of `size` bytes or what it makes of them.
  template <class Compress>
  Status enter(const PayloadInfo& info, std::size_t size, Compress compress) {
    const bool is_first = best_size_ == kNone;
    ByteWriter& to = is_first ? out_ : attempt_;
    if (!is_first) attempt_.clear();
    // The head and the most a compression may take, at once.
    if (is_first && start_ == 0) out_.reserve(kFrameHeadSizeMax + size + size / 128 + 128);
    const std::size_t from = to.size();
    begin_frame(info, to);
    VARVE_TRY(compress(to));
    const std::size_t frame_size = to.size() - from;
    if (is_first) {
      best_size_ = frame_size;
    } else if (frame_size < best_size_) {
      out_.truncate(start_);
      out_.bytes(attempt_.view());
      best_size_ = frame_size;
    }
    return out_.status("payload");
  }

  // The payload as it is wins if nothing was found that is smaller by `gain`.
  bool is_raw_best(ByteView payload, std::size_t gain) const {
    return best_size_ > raw_size(payload) - gain;
  }

  Status keep_best(ByteView key) {
    seal_frame(key, start_, out_);
    return kept();
  }
  Status keep_raw(ByteView key, const PayloadInfo& info, ByteView payload) {
    out_.truncate(start_);
    // Once, and not for the head first.
    if (start_ == 0) out_.reserve(raw_size(payload));
    begin_frame(info, out_);
    out_.bytes(payload);
    return keep_best(key);
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  static std::size_t raw_size(ByteView payload) { return kFrameStartSize + payload.size(); }
  Status kept() {
    VARVE_TRY(out_.status("payload"));
    is_kept_ = true;
    return {};
  }

  ByteWriter& out_;
  ByteWriter& attempt_;
  std::size_t start_;
  std::size_t best_size_ = kNone;
  bool is_kept_ = false;
};

}  // namespace

// What is tried for one payload, and in which order.
class PayloadEncoder::Choice {
 public:
  Choice(const PayloadEncoder& encoder, ByteView payload, const PayloadBase* base, ByteWriter& out)
      : encoder_(encoder),
        payload_(payload),
        base_(base),
        speed_(encoder.settings_.speed),
        workspace_(payload.size()),
        contest_(out, workspace_),
        plain_{.recipe = encoder.recipe(base), .payload_size = payload.size()} {
    tries_all_ = payload.size() <= kTryAllSizeMax || speed_ == SpeedClass::small;
  }

  // False, with nothing in `out`, if the payload is to be stored as it is and that is left to the
  // caller.
  Result<bool> run(ByteView key, bool copies_raw) {
    if (speed_ != SpeedClass::raw && !payload_.empty()) {
      const bool is_noisy = !tries_all_ && looks_like_noise(payload_);
      if (!tries_all_ && (can_split() || base_ != nullptr || is_noisy)) {
        sample_ = sample_payload(payload_, stride(), workspace_);
      }
      if (base_ != nullptr) VARVE_TRY(try_delta());
      // What is compressed or encrypted already stays as it is.
      const bool is_hopeless = is_noisy && sample_->expected_size >= payload_.size();
      if (!is_hopeless && !is_delta_far_smaller()) VARVE_TRY(try_whole());
    }
    const bool is_raw = contest_.is_raw_best(payload_, worthwhile_gain(speed_, payload_.size()));
    if (is_raw && !copies_raw) return false;
    VARVE_TRY(is_raw ? contest_.keep_raw(key, plain_, payload_) : contest_.keep_best(key));
    return true;
  }

 private:
  std::size_t stride() const { return encoder_.settings_.cell_size; }
  bool can_split() const { return stride() >= 2 && payload_.size() >= 2 * stride(); }

  bool is_delta_far_smaller() const {
    return sample_ && base_ != nullptr && contest_.best_size() < sample_->expected_size / 4;
  }

  Status try_delta() {
    ByteWriter& delta = workspace_.delta();
    delta.clear();
    VARVE_TRY(
        encode_sparse_delta(base_->payload, payload_, std::max<std::size_t>(stride(), 1), delta));
    if (delta.size() >= payload_.size()) return {};  // read_head() refuses it, too.
    PayloadInfo info = plain_;
    info.transform = PayloadTransform::delta;
    info.generator_number = base_->generator_number;
    info.base_hash = xxh3(base_->payload);
    info.delta_size = delta.size();
    if (delta.size() <= kTryAllSizeMax) {
      VARVE_TRY(contest_.enter(info, delta.size(), [&](ByteWriter& out) -> Status {
        out.bytes(delta.view());
        return out.status("payload");
      }));
    }
    return try_compressions(info, delta.view());
  }

  Status try_whole() {
    const bool splits = can_split() && (tries_all_ || sample_->prefers_planes);
    if (!splits || tries_all_) VARVE_TRY(try_compressions(plain_, payload_));
    // What a dictionary knows are payloads, not their planes; so it is tried on both.
    if (uses_dictionary()) VARVE_TRY(try_dictionary(plain_, payload_));
    if (!splits) return {};
    PayloadInfo info = plain_;
    info.transform = PayloadTransform::planes;
    info.stride = static_cast<std::uint8_t>(stride());
    Buffer& planes = workspace_.expanded();
    resize_for_overwrite(planes, payload_.size());
    split_byte_planes(payload_, stride(), planes.span());
    VARVE_TRY(try_compressions(info, planes.view()));
    if (uses_dictionary() && tries_all_) VARVE_TRY(try_dictionary(info, planes.view()));
    return {};
  }

  Status try_compressions(const PayloadInfo& info, ByteView in) {
    if (encoder_.zstd_ == nullptr) return try_lz4(info, in);
    std::size_t body_size = 0;
    PayloadInfo with = info;
    with.compression = PayloadCompression::zstd;
    VARVE_TRY(contest_.enter(with, in.size(), [&](ByteWriter& out) -> Status {
      const std::size_t from = out.size();
      VARVE_TRY(encoder_.zstd_->compress(in, out));
      body_size = out.size() - from;
      return {};
    }));
    // Where there is little left but repeats, LZ4 takes next to no time and may even be smaller.
    if (tries_all_ || body_size < in.size() / 20) return try_lz4(info, in);
    return {};
  }

  Status try_lz4(PayloadInfo info, ByteView in) {
    info.compression = PayloadCompression::lz4;
    return contest_.enter(info, in.size(), [&](ByteWriter& out) {
      return lz4_compress_block(in, kLz4Levels.standard, out);
    });
  }

  bool uses_dictionary() const {
    return encoder_.zstd_dictionary_ != nullptr &&
           (speed_ == SpeedClass::small || payload_.size() <= kDictionaryPayloadSizeMax);
  }

  Status try_dictionary(PayloadInfo info, ByteView in) {
    info.compression = PayloadCompression::zstd_dictionary;
    info.dictionary_number = encoder_.settings_.dictionary->number();
    return contest_.enter(info, in.size(), [&](ByteWriter& out) {
      return encoder_.zstd_dictionary_->compress(in, out);
    });
  }

  const PayloadEncoder& encoder_;
  ByteView payload_;
  const PayloadBase* base_;
  SpeedClass speed_;
  PayloadWorkspace workspace_;
  FrameContest contest_;
  PayloadInfo plain_;
  bool tries_all_ = false;
  std::optional<PayloadSample> sample_;
};

PayloadEncoder::PayloadEncoder(Settings settings) : settings_(std::move(settings)) {}

Result<PayloadEncoder> PayloadEncoder::make(Settings settings) {
  if (settings.cell_size > kCellSizeMax) {
    return invalid_argument(fmt::format("payload: a cell of {} bytes is larger than {}",
                                        settings.cell_size, kCellSizeMax));
  }
  PayloadEncoder made(std::move(settings));
  const SpeedClass speed = made.settings_.speed;
  const auto& dictionary = made.settings_.dictionary;
  if (speed == SpeedClass::balanced || speed == SpeedClass::small) {
    const int level = speed == SpeedClass::small ? kZstdLevelSmall : kZstdLevelBalanced;
    made.zstd_ = make_zstd(level);
    if (dictionary != nullptr) {
      VARVE_ASSIGN(auto zstd, ZstdDictionary::prepare(dictionary->bytes(), level));
      made.zstd_dictionary_ = make_zstd(std::move(zstd));
    }
  }
  ByteWriter recipe;
  recipe.u32_le(kEncoderRevision);
  recipe.u32_le(lz4_library_version());
  recipe.u32_le(zstd_library_version());
  recipe.u8(static_cast<std::uint8_t>(speed));
  recipe.u8(static_cast<std::uint8_t>(made.settings_.cell_size));
  if (made.zstd_dictionary_ != nullptr) {
    recipe.u32_le(dictionary->number());
    recipe.u32_le(dictionary->zstd()->id());
  }
  made.recipe_hash_ = xxh3(recipe.view());
  return made;
}

std::uint16_t PayloadEncoder::recipe(const PayloadBase* base) const noexcept {
  std::uint64_t hash = recipe_hash_;
  if (base != nullptr) {
    std::array<std::byte, 4> number;
    store_le(number.data(), base->generator_number);
    hash = xxh3(number, hash);
  }
  return static_cast<std::uint16_t>(hash);
}

Status PayloadEncoder::check(ByteView payload) {
  if (payload.size() <= kPayloadSizeMax) return {};
  return invalid_argument(
      fmt::format("payload: {} bytes are more than {}", payload.size(), kPayloadSizeMax));
}

Status PayloadEncoder::encode(ByteView key, ByteView payload, const PayloadBase* base,
                              ByteWriter& out) const {
  VARVE_TRY(check(payload));
  VARVE_TRY(Choice(*this, payload, base, out).run(key, true));
  return {};
}

Result<bool> PayloadEncoder::encode_unless_apart(ByteView key, ByteView payload,
                                                 const PayloadBase* base, ByteWriter& out) const {
  VARVE_TRY(check(payload));
  return Choice(*this, payload, base, out).run(key, !may_be_apart(payload.size()));
}

FrameStart PayloadEncoder::raw_start(ByteView key, const HashedBytes& payload,
                                     const PayloadBase* base) const noexcept {
  return raw_frame_start(key, recipe(base), payload);
}

}  // namespace varve
