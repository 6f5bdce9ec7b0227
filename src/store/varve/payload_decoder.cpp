#include <fmt/format.h>

#include "base/try.h"
#include "codec/byte_planes.h"
#include "codec/lz4.h"
#include "codec/sparse_delta.h"
#include "store/varve/payload.h"
#include "store/varve/payload_frame.h"
#include "store/varve/payload_workspace.h"
#include "varve/checksum.h"

namespace varve {
namespace {

// What a body can decompress to at most, so that a few hostile bytes do not become a gigabyte: LZ4
// has a byte for each 255, zstd four for each block of 128 KiB.
std::uint64_t expansion_max(PayloadCompression compression, std::uint64_t body_size) {
  switch (compression) {
    case PayloadCompression::none:
      return body_size;
    case PayloadCompression::lz4:
      return body_size * 255;
    default:
      return body_size / 4 * (std::uint64_t{128} << 10);
  }
}

Error wrong_size(const PayloadInfo& info, ByteView body) {
  return corruption(fmt::format("payload: a body of {} bytes cannot be the {} the head claims",
                                body.size(), info.expanded_size()));
}

Result<std::shared_ptr<const PayloadDictionary>> dictionary_of(const PayloadInfo& info,
                                                               const PayloadSources& sources) {
  auto found = sources.dictionaries == nullptr ? nullptr
                                               : sources.dictionaries->find(info.dictionary_number);
  if (found != nullptr) return found;
  // It is a part of the save, so one that is missing was lost.
  return corruption(fmt::format("payload: needs dictionary {}, which the save does not have",
                                info.dictionary_number));
}

// Decompresses a body that is compressed. `out` then has the size the head says.
Status expand(const PayloadInfo& info, ByteView body, const PayloadSources& sources, Buffer& out) {
  const auto size = static_cast<std::size_t>(info.expanded_size());
  if (info.compression == PayloadCompression::lz4) {
    resize_for_overwrite(out, size);
    return lz4_decompress_block(body, out.span());
  }
  Status done;
  if (info.compression == PayloadCompression::zstd) {
    done = compression(CompressionId::zstd).decompress_into(body, size, out);
  } else {
    VARVE_ASSIGN(const auto dictionary, dictionary_of(info, sources));
    done = dictionary->compression().decompress_into(body, size, out);
    if (!done) {
      return done.error().with_context(
          fmt::format("payload with dictionary {}", info.dictionary_number));
    }
  }
  if (!done) return done.error().with_context("payload");
  if (out.size() != size) return wrong_size(info, body);
  return {};
}

std::string described(const GeneratorId& id) {
  return fmt::format("generator \"{}\" version {}", id.name, id.version);
}

// What the delta was made against, or which generator would be needed for it.
Result<Bytes> base_of(const PayloadInfo& info, const PayloadSources& sources) {
  const GeneratorId* const needed =
      sources.generators == nullptr ? nullptr : sources.generators->find(info.generator_number);
  if (needed == nullptr) {
    // Nobody can say which generator would help.
    return corruption(fmt::format(
        "payload: a delta against generator number {}, which the save's table does not have",
        info.generator_number));
  }
  const auto needs = [&](std::string_view but) {
    return unsupported(
        fmt::format("payload: a delta against {}, {}; open the save with that generator as it was, "
                    "and save with deltas off to need it no longer",
                    described(*needed), but));
  };
  if (sources.generator == nullptr || !sources.generate) return needs("but there is no generator");
  if (*sources.generator != *needed) {
    return needs(fmt::format("but the save is open with {}", described(*sources.generator)));
  }
  VARVE_ASSIGN(Bytes base, sources.generate());
  if (const std::uint64_t hash = xxh3(base); hash != info.base_hash) {
    return needs(fmt::format(
        "which makes other bytes now (hash {:016x}) than when it was saved (hash {:016x})", hash,
        info.base_hash));
  }
  return base;
}

Result<Bytes> decode_planes(const PayloadInfo& info, ByteView body, const PayloadSources& sources) {
  const PayloadWorkspace workspace(info.payload_size);
  VARVE_TRY(expand(info, body, sources, workspace.expanded()));
  Buffer out(info.payload_size);
  join_byte_planes(workspace.expanded().view(), info.stride, out.span());
  return std::move(out).freeze();
}

Result<Bytes> decode_delta(const PayloadInfo& info, ByteView body, const PayloadSources& sources) {
  VARVE_ASSIGN(const Bytes base, base_of(info, sources));
  const PayloadWorkspace workspace(info.payload_size);
  ByteView delta = body;
  if (info.compression != PayloadCompression::none) {
    VARVE_TRY(expand(info, body, sources, workspace.expanded()));
    delta = workspace.expanded().view();
  }
  auto out = apply_sparse_delta(base, delta, info.payload_size);
  if (!out) return out.error().with_context("payload");
  if (out->size() != info.payload_size) {
    return corruption(fmt::format("payload: a delta makes {} bytes where the head claims {}",
                                  out->size(), info.payload_size));
  }
  return out;
}

}  // namespace

Result<Bytes> decode_payload(ByteView key, const Bytes& frame, const PayloadSources& sources) {
  if (!sources.is_verified) VARVE_TRY(check_seal(key, frame));
  VARVE_ASSIGN(const auto head, read_head(frame));
  const auto& [info, head_size] = head;
  if (info.transform == PayloadTransform::shared) {
    return corruption("payload: it only names a payload, where one has to be");
  }
  const ByteView body = frame.view().subspan(head_size);
  if (info.expanded_size() > expansion_max(info.compression, body.size()) ||
      (info.compression == PayloadCompression::none && info.expanded_size() != body.size())) {
    return wrong_size(info, body);
  }
  if (info.transform == PayloadTransform::planes) return decode_planes(info, body, sources);
  if (info.transform == PayloadTransform::delta) return decode_delta(info, body, sources);
  // An empty one has no reason to hold on to what it was read from.
  if (info.payload_size == 0) return Bytes();
  if (info.compression == PayloadCompression::none) return frame.slice(head_size);
  Buffer out;
  VARVE_TRY(expand(info, body, sources, out));
  return std::move(out).freeze();
}

Result<PayloadInfo> inspect_payload(ByteView frame) {
  VARVE_ASSIGN(const auto head, read_head(frame));
  return head.first;
}

bool is_other_payload(ByteView head, ByteView fresh) {
  const auto old_info = inspect_payload(head);
  const auto new_info = inspect_payload(fresh);
  // A damaged head is for whoever reads all of it.
  if (!old_info || !new_info) return false;
  if (old_info->payload_size != new_info->payload_size) return true;
  return old_info->recipe == new_info->recipe &&
         !equal(head.first(kChecksumSize), fresh.first(kChecksumSize));
}

Result<bool> holds_payload(ByteView key, const Bytes& stored, ByteView fresh, ByteView payload,
                           const PayloadSources& sources) {
  if (equal(stored, fresh)) return true;
  VARVE_ASSIGN(const PayloadInfo old_info, inspect_payload(stored));
  VARVE_ASSIGN(const PayloadInfo new_info, inspect_payload(fresh));
  if (old_info.payload_size != payload.size() || old_info.recipe == new_info.recipe) return false;
  VARVE_ASSIGN(const Bytes old_payload, decode_payload(key, stored, sources));
  return equal(old_payload, payload);
}

}  // namespace varve
