#include "torch_plugin/input_values.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

namespace jitterscope::torch_plugin {
namespace {

using Kind = AtenArgument::Kind;
using Shape = std::vector<std::int64_t>;

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}
bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::int64_t product(const Shape& sizes, std::size_t from) {
  std::int64_t result = 1;
  for (std::size_t i = from; i < sizes.size(); ++i) result *= sizes[i];
  return result;
}

// The part of an operator's name behind aten::.
std::string_view base_name(const Binding& binding) {
  const std::string_view name = binding.schema().name();
  return name.substr(name.find("::") + 2);
}

const Shape* shape_of(const Binding& binding, std::string_view argument) {
  const AtenArgument* found = binding.find(argument);
  return found != nullptr && found->kind == Kind::tensor ? &found->shape : nullptr;
}
std::optional<std::int64_t> integer_of(const Binding& binding, std::string_view argument) {
  const AtenArgument* found = binding.find(argument);
  if (found == nullptr || found->kind != Kind::integer) return std::nullopt;
  return found->integer;
}
Shape integers_of(const Binding& binding, std::string_view argument) {
  Shape result;
  if (const AtenArgument* found = binding.find(argument)) {
    for (const AtenArgument& element : found->elements) result.push_back(element.integer);
  }
  return result;
}

std::optional<std::int64_t> size_along(const Shape& shape, std::int64_t dimension) {
  const auto count = static_cast<std::int64_t>(shape.size());
  if (dimension < 0) dimension += count;
  if (dimension < 0 || dimension >= count) return std::nullopt;
  return shape[static_cast<std::size_t>(dimension)];
}

// Rows of the table that an embedding looks into.
std::optional<std::int64_t> table_rows(const Binding& binding) {
  if (const auto rows = integer_of(binding, "num_weights")) return rows;
  const Shape* table = shape_of(binding, "weight");
  if (table == nullptr) table = shape_of(binding, "self");
  return table != nullptr ? size_along(*table, 0) : std::nullopt;
}

// Gradients of pooling and unpooling hold places within one image.
std::optional<std::int64_t> plane_size(const Binding& binding) {
  const std::size_t dimensions = contains(base_name(binding), "3d")   ? 3
                                 : contains(base_name(binding), "1d") ? 1
                                                                      : 2;
  if (contains(base_name(binding), "unpool")) return product(integers_of(binding, "output_size"), 0);
  const Shape* image = shape_of(binding, "self");
  if (image == nullptr || image->size() < dimensions) return std::nullopt;
  return product(*image, image->size() - dimensions);
}

// Of `index` in gather, scatter, index_select and their kin.
std::optional<std::int64_t> size_along_dim(const Binding& binding) {
  const auto dimension = integer_of(binding, "dim");
  const Shape* self = shape_of(binding, "self");
  if (self != nullptr) return dimension ? size_along(*self, *dimension) : product(*self, 0);
  for (const char* sizes : {"sizes", "self_sizes", "input_sizes"}) {
    const Shape shape = integers_of(binding, sizes);
    if (!shape.empty() && dimension) return size_along(shape, *dimension);
  }
  return std::nullopt;
}

std::optional<std::int64_t> classes(const Binding& binding) {
  const Shape* self = shape_of(binding, "self");
  return self != nullptr ? size_along(*self, self->size() > 1 ? 1 : 0) : std::nullopt;
}

// How many places there are to point at; nothing where the argument is no index that is known.
std::optional<std::int64_t> index_limit(const Binding& binding, const std::string& argument,
                                        std::size_t position) {
  const std::string_view name = base_name(binding);
  if (argument == "indices" && contains(name, "embedding")) return table_rows(binding);
  if (argument == "indices" && contains(name, "pool")) return plane_size(binding);
  if (argument == "indices" && binding.find("indices")->kind == Kind::list) {
    const Shape* self = shape_of(binding, "self");
    return self != nullptr ? size_along(*self, static_cast<std::int64_t>(position)) : std::nullopt;
  }
  if (argument == "index" || argument == "indices") return size_along_dim(binding);
  const bool is_loss =
      contains(name, "nll_loss") || contains(name, "cross_entropy") || contains(name, "multi_margin");
  if (argument == "target" && is_loss) return classes(binding);
  if (argument == "self" && name == "one_hot") return integer_of(binding, "num_classes");
  return std::nullopt;
}

}  // namespace

RealValues real_values(const Binding& binding, const std::string& argument) {
  const std::string_view name = base_name(binding);
  const bool draws = is_one_of(name, {"multinomial", "bernoulli", "bernoulli_"});
  if (draws && is_one_of(argument, {"self", "p"})) return RealValues::probabilities;
  if (contains(name, "binary_cross_entropy") && !contains(name, "with_logits") &&
      is_one_of(argument, {"self", "target"}))
    return RealValues::probabilities;
  const bool is_variance =
      is_one_of(argument, {"running_var", "var", "save_var", "save_invstd", "invstd", "rstd"});
  if (is_variance || (name == "poisson" && argument == "self")) return RealValues::positive;
  return RealValues::any;
}

IntegerValues integer_values(const Binding& binding, const std::string& argument, std::size_t position) {
  if (const auto limit = index_limit(binding, argument, position))
    return {0, std::max<std::int64_t>(0, *limit - 1)};
  // Numbers to calculate with: from 1, since integers may be divided by them.
  if (is_one_of(argument, {"self", "other", "input", "tensors", "tensor", "src", "source", "value", "values",
                           "exponent", "tensor1", "tensor2", "mat2"}))
    return {1, 8};
  return {};
}

}  // namespace jitterscope::torch_plugin
