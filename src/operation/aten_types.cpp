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

namespace {

void add_sizes(const AtenArgument& argument, std::vector<Bytes>& sizes) {
  for (const AtenArgument& element : argument.elements) add_sizes(element, sizes);
  if (argument.kind != AtenArgument::Kind::tensor) return;
  std::int64_t elements = 1;  // from the first to the last
  const auto strides = argument.strides.empty() ? dense_strides(argument.shape) : argument.strides;
  for (std::size_t i = 0; i < argument.shape.size(); ++i) elements += (argument.shape[i] - 1) * strides[i];
  sizes.push_back(Bytes(elements * aten_element_size(argument.text).value()));
}

}  // namespace

std::vector<Bytes> tensor_sizes(const Aten& aten) {
  std::vector<Bytes> sizes;
  for (const AtenArgument& argument : aten.arguments) add_sizes(argument, sizes);
  return sizes;
}

}  // namespace jitterscope
