#include "store/nebula/component_codec.h"

namespace varve::nebula {
namespace {

enum DataVariant : std::uint32_t { kRon, kBinary, kVariantCount };

constexpr std::size_t kComponentSizeMin = 3;  // an empty name, the variant, empty data

}  // namespace

std::vector<Component> read_components(PostcardReader& p) {
  std::vector<Component> out(p.sequence(kComponentSizeMin));
  for (Component& component : out) {
    component.type_name = p.text();
    if (p.variant(kVariantCount) == kRon) {
      component.data = std::string(p.text());
    } else {
      component.data = Bytes::copy_of(p.bytes());
    }
    if (!p.ok()) return {};
  }
  return out;
}

std::optional<std::string> read_name(PostcardReader& p) {
  if (!p.option()) return std::nullopt;
  return std::string(p.text());
}

void write_components(PostcardWriter& w, const std::vector<Component>& components) {
  w.sequence(components.size());
  for (const Component& component : components) {
    w.text(component.type_name);
    if (const auto* text = std::get_if<std::string>(&component.data)) {
      w.variant(kRon);
      w.text(*text);
    } else {
      w.variant(kBinary);
      w.bytes(std::get<Bytes>(component.data));
    }
  }
}

void write_name(PostcardWriter& w, const std::optional<std::string>& name) {
  w.option(name.has_value());
  if (name) w.text(*name);
}

}  // namespace varve::nebula
