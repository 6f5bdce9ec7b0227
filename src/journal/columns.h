// The columns that encoded ticks and snapshots are made of. Each has one spelling for each list of
// values, and reading checks counts against the bytes that are there before anything is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "codec/varint.h"
#include "varve/tick.h"

namespace varve::journal {

// As many numbers as the reader knows there must be: if all are the same, that number plus 1; else
// 0 and each of them.
template <class NumberOf>
void write_numbers(std::size_t count, NumberOf number_of, ByteWriter& out) {
  bool is_uniform = true;
  for (std::size_t i = 1; i < count && is_uniform; ++i) is_uniform = number_of(i) == number_of(0);
  out.varint(is_uniform ? std::uint64_t{number_of(0)} + 1 : 0);
  if (is_uniform) return;
  for (std::size_t i = 0; i < count; ++i) out.varint(number_of(i));
}

class Numbers {
 public:
  // `count` is at least 1 and was checked against what remains; no number is above `max`.
  Numbers(ByteReader& in, std::size_t count, std::uint64_t max);

  std::uint64_t operator[](std::size_t i) const noexcept {
    return each_.empty() ? uniform_ : each_[i];
  }
  bool is_uniform() const noexcept { return each_.empty(); }

 private:
  std::uint64_t uniform_ = 0;
  std::vector<std::uint64_t> each_;
};

// Entities that rise by entity_order(): how much each index is above the one before, then the
// generations.
template <class EntityOf>
void write_generations(std::size_t count, EntityOf entity_of, ByteWriter& out) {
  write_numbers(count, [&](std::size_t i) { return entity_generation(entity_of(i)); }, out);
}
template <class EntityOf>
void write_entities(std::size_t count, EntityOf entity_of, ByteWriter& out) {
  std::uint32_t previous = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t index = entity_index(entity_of(i));
    out.varint(index - previous);
    previous = index;
  }
  write_generations(count, entity_of, out);
}
// Their number in front, which is not 0.
std::size_t read_count(ByteReader& in);
// Appends them to `out`.
void read_entities(ByteReader& in, std::size_t count, std::vector<EntityId>& out);
// Gives the entities from `start` on, which have only their indexes yet, their generations.
void read_generations(ByteReader& in, std::size_t start, std::vector<EntityId>& out);

// The same with the indexes of long lists in bits: journal/entity_gaps.h.
void write_packed_entities(std::span<const EntityId> entities, ByteWriter& out);
// Their number may be a third above the bytes that follow.
std::size_t read_entity_count(ByteReader& in);
void read_packed_entities(ByteReader& in, std::size_t count, std::vector<EntityId>& out);

// Runs of equal authors: how many, and who. There is none of length 0, and neighbours differ.
template <class List>
void write_authors(const List& list, ByteWriter& out) {
  for (std::size_t start = 0; start < list.size();) {
    std::size_t end = start + 1;
    while (end < list.size() && list[end].author == list[start].author) ++end;
    out.varint(end - start);
    out.varint(list[start].author);
    start = end;
  }
}
template <class List>
bool has_authors(const List& list) {
  for (const auto& mutation : list) {
    if (mutation.author != 0) return true;
  }
  return false;
}
// One of the two spellings of nobody is enough: a column without an author is not there.
template <class List>
void read_authors(ByteReader& in, std::size_t author_count, List& list) {
  AuthorIndex previous = 0;
  for (std::size_t start = 0; start < list.size() && in.ok();) {
    const std::uint64_t length = minimal_varint(in, list.size() - start);
    const auto author = static_cast<AuthorIndex>(minimal_varint(in, author_count));
    if (length == 0 || (start != 0 && author == previous)) in.fail("a run that is no run");
    for (std::size_t i = 0; i < length; ++i) list[start + i].author = author;
    start += static_cast<std::size_t>(length);
    previous = author;
  }
  if (in.ok() && !has_authors(list)) in.fail("a column of authors without an author");
}

// A name of 1 to 255 bytes with its size in front. Empty after a failure.
void write_name(std::string_view name, ByteWriter& out);
std::string_view read_name(ByteReader& in);

}  // namespace varve::journal
