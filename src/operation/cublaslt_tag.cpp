#include "operation/cublaslt_tag.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace jitterscope {
namespace {

std::string_view value_of(std::string_view fields, std::string_view name) {
  while (!fields.empty()) {
    const std::string_view field = fields.substr(0, fields.find(' '));
    if (field.starts_with(name) && field.substr(name.size()).starts_with('=')) {
      return field.substr(name.size() + 1);
    }
    fields.remove_prefix(std::min(field.size() + 1, fields.size()));
  }
  return {};
}

// The name of a value without the prefix of its enumeration; empty where it says nothing.
std::string_view chosen(std::string_view value, std::string_view prefix) {
  if (value.starts_with(prefix)) value.remove_prefix(prefix.size());
  for (const std::string_view nothing : {"UNDEFINED", "AUTO", "NONE", "0"}) {
    if (value == nothing) return {};
  }
  return value;
}

// As cublasLtReductionScheme_t counts.
std::string_view scheme_number(std::string_view name) {
  if (name == "INPLACE") return "1";
  if (name == "COMPUTE_TYPE") return "2";
  if (name == "OUTPUT_TYPE") return "4";
  return name;
}

}  // namespace

std::string cublaslt_tag(std::string_view algorithm) {
  const std::string_view id = value_of(algorithm, "algoId");
  if (id.empty()) return {};
  std::string tag = fmt::format("algo{}", id);
  const auto chosen_of = [&](std::string_view name, std::string_view prefix = {}) {
    return chosen(value_of(algorithm, name), prefix);
  };
  const auto append = [&](std::string_view word, std::string_view value) {
    if (!value.empty()) tag += fmt::format("_{}={}", word, value);
  };
  const std::string_view splits = chosen_of("numSplitsK");
  append("tile", chosen_of("tile", "MATMUL_TILE_"));
  append("stages", chosen_of("stages", "MATMUL_STAGES_"));
  append("splitk", splits == "1" ? "" : splits);
  append("reduction", scheme_number(chosen_of("reductionScheme", "REDUCTION_SCHEME_")));
  append("swizzle", chosen_of("ctaSwizzling"));
  append("custom", chosen_of("customOption"));
  append("inner", chosen_of("innerShape", "MATMUL_INNER_SHAPE_"));
  append("cluster", chosen_of("clusterShape", "CLUSTER_SHAPE_"));
  return tag;
}

}  // namespace jitterscope
