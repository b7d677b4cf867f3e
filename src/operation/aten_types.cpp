#include "operation/aten_text.hpp"

namespace jitterscope {
namespace {

constexpr std::string_view kHost = "@cpu";

struct ElementType {
  std::string_view name;
  Bytes size;
};
constexpr ElementType kElementTypes[] = {
    {"f64", Bytes(8)}, {"f32", Bytes(4)},  {"f16", Bytes(2)}, {"bf16", Bytes(2)},
    {"i64", Bytes(8)}, {"i32", Bytes(4)},  {"i16", Bytes(2)}, {"i8", Bytes(1)},
    {"u8", Bytes(1)},  {"bool", Bytes(1)}, {"c64", Bytes(8)}, {"c128", Bytes(16)},
};

}  // namespace

bool is_aten_host_type(std::string_view type) { return type.ends_with(kHost); }

Bytes aten_element_size(std::string_view type) {
  if (is_aten_host_type(type)) type.remove_suffix(kHost.size());
  for (const ElementType& known : kElementTypes) {
    if (known.name == type) return known.size;
  }
  return Bytes(0);
}

std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size());
  // Unsigned: a shape that is impossible is refused elsewhere, and must not overflow here.
  std::uint64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = static_cast<std::int64_t>(stride);
    if (shape[i] > 1) stride *= static_cast<std::uint64_t>(shape[i]);
  }
  return strides;
}

}  // namespace jitterscope
