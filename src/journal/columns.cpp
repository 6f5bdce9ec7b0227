#include "journal/columns.h"

#include "journal/entity_gaps.h"
#include "journal/mutation_lists.h"

namespace varve::journal {

Numbers::Numbers(ByteReader& in, std::size_t count, std::uint64_t max) {
  const std::uint64_t head = minimal_varint(in, max + 1);
  if (!in.ok()) return;
  if (head != 0) {
    uniform_ = head - 1;
    return;
  }
  each_.resize(in.count(count, 1));
  bool is_uniform = true;
  for (std::uint64_t& number : each_) {
    number = minimal_varint(in, max);
    is_uniform = is_uniform && number == each_[0];
  }
  if (in.ok() && is_uniform) in.fail("equal numbers, one by one");
}

std::size_t read_count(ByteReader& in) {
  const std::size_t count = in.count(minimal_varint(in, kValueSizeMax), 1);
  if (in.ok() && count == 0) in.fail("a list of nothing");
  return count;
}

void read_entities(ByteReader& in, std::size_t count, std::vector<EntityId>& out) {
  const std::size_t start = out.size();
  out.resize(start + in.count(count, 1));
  std::uint64_t index = 0;
  for (std::size_t i = start; i < out.size(); ++i) {
    index += minimal_varint(in, 0xffff'ffff);
    if (index > 0xffff'ffff) in.fail("an index above its limit");
    out[i] = index;
  }
  if (in.ok() && count != 0) read_generations(in, start, out);
}

void read_generations(ByteReader& in, std::size_t start, std::vector<EntityId>& out) {
  const Numbers generations(in, out.size() - start, 0xffff'ffff);
  if (!in.ok()) return;
  for (std::size_t i = start; i < out.size(); ++i) {
    out[i] = make_entity(entity_index(out[i]), static_cast<std::uint32_t>(generations[i - start]));
    if (i > start && entity_order(out[i - 1]) >= entity_order(out[i])) {
      return in.fail("entities that do not rise");
    }
  }
}

std::size_t read_entity_count(ByteReader& in) {
  const std::uint64_t count = minimal_varint(in, kValueSizeMax);
  if (in.ok() && count == 0) in.fail("a list of nothing");
  const auto size_min = gaps_size_min(static_cast<std::size_t>(count));
  return in.count(size_min, 1) == size_min && in.ok() ? static_cast<std::size_t>(count) : 0;
}

void write_packed_entities(std::span<const EntityId> entities, ByteWriter& out) {
  const auto entity_of = [&](std::size_t i) { return entities[i]; };
  if (entities.size() < kGapsCountMin) return write_entities(entities.size(), entity_of, out);
  write_gaps(entities, out);
  write_generations(entities.size(), entity_of, out);
}

void read_packed_entities(ByteReader& in, std::size_t count, std::vector<EntityId>& out) {
  if (count < kGapsCountMin) return read_entities(in, count, out);
  const std::size_t start = out.size();
  read_gaps(in, count, out);
  if (in.ok()) read_generations(in, start, out);
}

void write_name(std::string_view name, ByteWriter& out) {
  out.varint(name.size());
  out.text(name);
}

std::string_view read_name(ByteReader& in) {
  const std::string_view name = as_text(in.bytes(minimal_varint(in, kNameSizeMax)));
  if (in.ok() && !check_name(name)) in.fail("a bad name");
  return in.ok() ? name : std::string_view();
}

}  // namespace varve::journal
