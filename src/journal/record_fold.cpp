#include "journal/record_fold.h"

#include <fmt/format.h>

#include "base/guarded.h"
#include "base/try.h"

namespace varve::journal {

Status ChunkMaking::check_type() const {
  if (type != nullptr && type->name() == type_name) return {};
  return unsupported(fmt::format("the journal has edits of chunks, which needs chunk type {}",
                                 type_name.empty() ? "raw" : type_name));
}

Result<std::optional<Bytes>> ChunkMaking::generated(const ChunkPos& pos) const {
  const bool is_right = generator != nullptr && (!generator_id || generator->id() == *generator_id);
  if (!is_right && generator_id) {
    return unsupported(fmt::format("{}: needs generator {} of version {}", to_string(pos),
                                   generator_id->name, generator_id->version));
  }
  if (generator == nullptr) return std::nullopt;
  VARVE_ASSIGN(Bytes made, guarded(
                               ErrorCode::invalid_argument, [&] { return to_string(pos); },
                               [&] { return generator->generate(pos); }));
  return made;
}

Result<bool> RecordFold::make_chunk() {
  if (chunk_ != nullptr) return true;
  VARVE_TRY(making_.check_type());
  std::optional<Bytes> payload;
  if (value_) {
    payload = value_->data;
  } else {
    VARVE_ASSIGN(payload, making_.generated(key_.pos));
  }
  if (!payload) return false;
  VARVE_ASSIGN(chunk_, guarded(
                           ErrorCode::corruption, [&] { return to_string(key_.pos); },
                           [&] { return making_.type->decode(key_.pos, *payload); }));
  return true;
}

Status RecordFold::apply_edit(const Bytes& edit) {
  VARVE_ASSIGN(const bool is_there, make_chunk());
  if (!is_there) {
    return unsupported(
        fmt::format("{}: an edit of a chunk that was never saved needs the generator that made it",
                    to_string(key_.pos)));
  }
  const auto applied = guarded(
      ErrorCode::corruption, [&] { return to_string(key_.pos); },
      [&] { return chunk_->apply(edit); });
  if (!applied) {
    return corruption(fmt::format("{}: an edit of the journal does not fit: {}",
                                  to_string(key_.pos), applied.error().message()));
  }
  is_edited_ = true;
  return {};
}

Status RecordFold::apply(const RecordChange& change) {
  switch (change.kind) {
    case RecordChange::Kind::edit:
      return apply_edit(change.data);
    case RecordChange::Kind::put:
      value_ = change.value;
      chunk_.reset();
      is_edited_ = false;
      return {};
    case RecordChange::Kind::bytes:
    case RecordChange::Kind::owner:
      break;
  }
  if (!value_) {
    return corruption(
        fmt::format("{}: the journal changes it where it is not there", to_string(key_)));
  }
  if (change.kind == RecordChange::Kind::bytes) {
    value_->data = change.data;
  } else {
    value_->owner = change.owner;
  }
  return {};
}

Result<RecordValue> RecordFold::value() {
  if (!is_edited_) return value_;
  BufferPool pool;
  VARVE_ASSIGN(Bytes payload, guarded(
                                  ErrorCode::corruption, [&] { return to_string(key_.pos); },
                                  [&] { return chunk_->encode(pool); }));
  value_ = EntityValue{.owner = {}, .data = std::move(payload)};
  is_edited_ = false;
  return value_;
}

Result<std::optional<Bytes>> RecordFold::cell(ByteView cell) {
  const bool is_gone = chunk_ == nullptr && !value_ && making_.generator == nullptr;
  if (is_gone) return std::nullopt;
  VARVE_ASSIGN(const bool is_there, make_chunk());
  if (!is_there) return std::nullopt;
  auto found = guarded(
      ErrorCode::corruption, [&] { return to_string(key_.pos); },
      [&] { return chunk_->read_cell(cell); });
  if (!found && found.error().code() == ErrorCode::not_found) return std::nullopt;
  if (!found) return std::move(found).error();
  return *std::move(found);
}

}  // namespace varve::journal
