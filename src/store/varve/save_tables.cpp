#include "store/varve/save_tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/try.h"
#include "store/varve/payload.h"

namespace varve {
namespace {

constexpr std::uint32_t kSpaceCountMax = 65'535;

// Calls `use(key, payload)` for each record with this tag; what cannot be read is a problem.
template <class Use>
Status for_each_plain(const ReadView& view, KeyTag tag, std::string_view what,
                      std::vector<RecordProblem>& problems, Use use) {
  RangeQuery query{.prefix = SaveKey(tag).copy()};
  for (std::optional<Bytes> from = Bytes(); from;) {
    query.from = *from;
    VARVE_ASSIGN(RangePage page, view.range(query));
    for (const RangeEntry& entry : page.entries) {
      Status used = [&]() -> Status {
        if (!entry.value) return entry.value.error();
        VARVE_ASSIGN(const Bytes payload, read_plain_frame(entry.key, *entry.value));
        return use(entry.key, payload);
      }();
      if (!used && used.error().code() == ErrorCode::unsupported) return used;
      if (!used) problems.push_back({std::string(what), used.error()});
    }
    from = std::move(page.next);
  }
  return {};
}

}  // namespace

Bytes plain_frame(ByteView key, ByteView payload) {
  static const PayloadEncoder encoder = PayloadEncoder::make({.speed = SpeedClass::raw}).value();
  ByteWriter out;
  // It is small, and there is room.
  (void)encoder.encode(key, payload, nullptr, out);
  return out.take();
}

Result<Bytes> read_plain_frame(ByteView key, const Bytes& frame) {
  return decode_payload(key, frame, {});
}

Bytes encode_generator(const GeneratorId& id) {
  ByteWriter w;
  w.u32_le(id.version);
  w.text(id.name);
  return w.take();
}

Result<GeneratorId> decode_generator(ByteView in) {
  ByteReader r(in);
  GeneratorId id;
  id.version = r.u32_le();
  VARVE_TRY(r.status("generator of a save"));
  id.name = std::string(as_text(r.rest()));
  return id;
}

Result<SaveTables> SaveTables::load(const ReadView& view, std::vector<RecordProblem>& problems) {
  SaveTables tables;
  VARVE_TRY(for_each_plain(view, KeyTag::space, "table of spaces", problems,
                           [&](ByteView key, const Bytes& payload) -> Status {
                             VARVE_ASSIGN(const std::uint32_t number, decode_number_key(key, 2));
                             // Whatever becomes of the name, the number is taken.
                             tables.next_space_ = std::max(tables.next_space_, number + 1);
                             VARVE_ASSIGN(const Space space, Space::named(payload.text()));
                             if (space == Space() || tables.numbers_.contains(space.id())) {
                               return corruption(
                                   fmt::format("space {} is called like another", number));
                             }
                             tables.spaces_.emplace(static_cast<SpaceNumber>(number), space);
                             tables.numbers_.emplace(space.id(), static_cast<SpaceNumber>(number));
                             return {};
                           }));
  VARVE_TRY(for_each_plain(view, KeyTag::generator, "table of generators", problems,
                           [&](ByteView key, const Bytes& payload) -> Status {
                             VARVE_ASSIGN(const std::uint32_t number, decode_number_key(key, 4));
                             tables.next_generator_ = std::max(tables.next_generator_, number + 1);
                             VARVE_ASSIGN(GeneratorId id, decode_generator(payload));
                             return tables.generators_.add(number, std::move(id));
                           }));
  VARVE_TRY(
      for_each_plain(view, KeyTag::dictionary, "dictionaries", problems,
                     [&](ByteView key, const Bytes& payload) -> Status {
                       VARVE_ASSIGN(const std::uint32_t number, decode_number_key(key, 4));
                       tables.next_dictionary_ = std::max(tables.next_dictionary_, number + 1);
                       VARVE_ASSIGN(auto dictionary, PayloadDictionary::make(number, payload));
                       return tables.dictionaries_.add(std::move(dictionary));
                     }));
  return tables;
}

std::optional<SpaceNumber> SaveTables::number_of(Space space) const {
  if (space == Space()) return SpaceNumber{0};
  const auto found = numbers_.find(space.id());
  return found != numbers_.end() ? std::optional(found->second) : std::nullopt;
}

Result<Space> SaveTables::space(SpaceNumber number) const {
  if (number == 0) return Space();
  const auto found = spaces_.find(number);
  if (found != spaces_.end()) return found->second;
  return corruption(fmt::format("the save has no space of number {}", number));
}

std::vector<std::pair<Space, SpaceNumber>> SaveTables::spaces_by_name() const {
  std::vector<std::pair<Space, SpaceNumber>> all{{Space(), SpaceNumber{0}}};
  for (const auto& [number, space] : spaces_) all.emplace_back(space, number);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return all;
}

Result<SpaceNumber> SaveTables::add_space(Space space) {
  if (next_space_ > kSpaceCountMax) {
    return unsupported(fmt::format("a varve save has at most {} spaces", kSpaceCountMax));
  }
  const auto number = static_cast<SpaceNumber>(next_space_);
  spaces_.emplace(number, space);
  numbers_.emplace(space.id(), number);
  ++next_space_;
  return number;
}

std::uint32_t SaveTables::add_generator(const GeneratorId& id) {
  const std::uint32_t number = next_generator_++;
  (void)generators_.add(number, id);  // It is not there, and the number is new.
  return number;
}

Status SaveTables::add_dictionary(std::shared_ptr<const PayloadDictionary> dictionary) {
  const std::uint32_t number = dictionary->number();
  VARVE_TRY(dictionaries_.add(std::move(dictionary)));
  next_dictionary_ = std::max(next_dictionary_, number + 1);
  return {};
}

std::uint32_t SaveTables::next_dictionary_number() const { return next_dictionary_; }

void SaveTables::use_generator(std::shared_ptr<const Generator> generator) {
  current_ = generator;
  if (generator == nullptr) return;
  std::erase_if(known_, [&](const auto& known) { return known->id() == generator->id(); });
  known_.push_back(std::move(generator));
}

std::shared_ptr<const Generator> SaveTables::find_generator(const GeneratorId& id) const {
  const auto found = std::find_if(known_.begin(), known_.end(),
                                  [&](const auto& known) { return known->id() == id; });
  return found != known_.end() ? *found : nullptr;
}

}  // namespace varve
