#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/guarded.h"
#include "base/try.h"
#include "store/nebula/ron_fields.h"
#include "varve/nebula.h"

namespace varve::nebula {
namespace {

constexpr std::string_view kWhat = "world.ron";
constexpr std::array<std::string_view, 7> kFields = {"save_version", "seed",       "world_time",
                                                     "display_name", "created_at", "last_saved_at",
                                                     "play_time"};

bool is_ours(std::string_view name) {
  return std::find(kFields.begin(), kFields.end(), name) != kFields.end();
}

// Puts what `read` makes of a field into `to`, which keeps its default without one.
template <class T, class Read>
Status take_field(const ron::Record& record, std::string_view name, T& to, const Read& read) {
  const bool is_there = std::any_of(record.fields.begin(), record.fields.end(),
                                    [&](const ron::Field& field) { return field.name == name; });
  if (!is_there) return {};
  VARVE_ASSIGN(to, field_of(record, name, read));
  return {};
}

Result<std::uint32_t> read_version(const ron::Record& record) {
  const auto u32 = [](const ron::Value& value) { return u64_of(value, 0xffff'ffff); };
  VARVE_ASSIGN(const std::uint64_t version, field_of(record, "save_version", u32));
  // Where a version 2 comes, it is made of a version 1 here, before anything is refused.
  if (version == 0 || version > kSaveVersion) {
    return unsupported(
        fmt::format("save_version {}, this build reads 1 to {}", version, kSaveVersion));
  }
  return kSaveVersion;
}

Result<WorldMeta> read_meta(std::string_view text) {
  VARVE_ASSIGN(const ron::Value value, parse_ron(text));
  VARVE_ASSIGN(const ron::Record* record, struct_of(value, "WorldMeta"));
  WorldMeta meta;
  VARVE_ASSIGN(meta.save_version, read_version(*record));
  const auto u64 = [](const ron::Value& v) { return u64_of(v); };
  VARVE_TRY(take_field(*record, "seed", meta.seed, u64));
  VARVE_TRY(take_field(*record, "world_time", meta.world_time, number_of));
  VARVE_TRY(take_field(*record, "display_name", meta.display_name, text_of));
  VARVE_TRY(take_field(*record, "created_at", meta.created_at, text_of));
  VARVE_TRY(take_field(*record, "last_saved_at", meta.last_saved_at, text_of));
  VARVE_TRY(take_field(*record, "play_time", meta.play_time, number_of));
  for (const ron::Field& field : record->fields) {
    if (is_ours(field.name)) continue;
    VARVE_ASSIGN(std::string data, ron::write_compact(field.value));
    meta.other_fields.emplace_back(field.name, std::move(data));
  }
  return meta;
}

Result<ron::Record> record_of(const WorldMeta& meta) {
  if (meta.save_version != kSaveVersion) {
    return invalid_argument(
        fmt::format("save_version {} cannot be written, only {}", meta.save_version, kSaveVersion));
  }
  ron::Record record;
  record.fields = {{"save_version", {ron::Integer::of(meta.save_version)}},
                   {"seed", {ron::Integer::of(meta.seed)}},
                   {"world_time", {ron::Float{meta.world_time}}},
                   {"display_name", {meta.display_name}},
                   {"created_at", {meta.created_at}},
                   {"last_saved_at", {meta.last_saved_at}},
                   {"play_time", {ron::Float{meta.play_time}}}};
  for (const auto& [name, data] : meta.other_fields) {
    if (is_ours(name)) {
      return invalid_argument(fmt::format("field {} stands among the other fields", name));
    }
    auto value = parse_ron(data);
    if (!value) {
      return invalid_argument(fmt::format("field {}: {}", name, value.error().message()));
    }
    record.fields.push_back({name, *std::move(value)});
  }
  return record;
}

}  // namespace

Result<WorldMeta> decode_meta(std::string_view text) {
  return or_out_of_memory([&]() -> Result<WorldMeta> {
    auto meta = read_meta(text);
    if (!meta) return meta.error().with_context(kWhat);
    return meta;
  });
}

Result<std::string> encode_meta(const WorldMeta& meta) {
  return or_out_of_memory([&]() -> Result<std::string> {
    auto record = record_of(meta);
    if (!record) return record.error().with_context(kWhat);
    auto text = ron::write_pretty(ron::Value{*std::move(record)});
    if (!text) return text.error().with_context(kWhat);
    return text;
  });
}

}  // namespace varve::nebula
