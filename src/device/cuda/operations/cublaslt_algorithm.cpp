#include "device/cuda/operations/cublaslt_algorithm.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <span>

#include "device/cuda/operations/cublaslt.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

struct NamedValue {
  std::string_view name;
  std::uint32_t value;
};
// kTiles, kStages, kInnerShapes and kClusters, of the header's enumerations.
#include "cublaslt_names.inc"

// One part of a tag and the attribute that it stands for. A value of zero, which is cuBLASLt's own choice, is
// left out.
struct Part {
  std::string_view word;
  cublasLtMatmulAlgoConfigAttributes_t attribute;
  std::size_t size;  // of the attribute, in bytes
  std::span<const NamedValue> names;
};
constexpr Part kParts[] = {
    {"tile", CUBLASLT_ALGO_CONFIG_TILE_ID, 4, kTiles},
    {"stages", CUBLASLT_ALGO_CONFIG_STAGES_ID, 4, kStages},
    {"splitk", CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4, {}},
    {"reduction", CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 4, {}},
    {"swizzle", CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4, {}},
    {"custom", CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 4, {}},
    {"inner", CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 2, kInnerShapes},
    {"cluster", CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2, kClusters},
};

// An attribute that an algorithm does not have reads as zero. Little-endian, so that 2 bytes read as 4.
std::uint32_t read_attribute(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t name,
                             std::size_t size) {
  std::uint32_t value = 0;
  std::size_t written = 0;
  cublaslt().cublasLtMatmulAlgoConfigGetAttribute(&algorithm, name, &value, size, &written);
  return value;
}

std::string value_text(const Part& part, std::uint32_t value) {
  for (const NamedValue& known : part.names) {
    if (known.value == value) return std::string(known.name);
  }
  if (!part.names.empty()) return fmt::format("id{}", value);
  return std::to_string(static_cast<std::int32_t>(value));  // -1 splits: as many as cuBLASLt sees fit
}

std::optional<std::uint32_t> number(std::string_view text) {
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return static_cast<std::uint32_t>(value);
}

std::optional<std::uint32_t> value_of(const Part& part, std::string_view text) {
  for (const NamedValue& known : part.names) {
    if (known.name == text) return known.value;
  }
  return number(text.starts_with("id") ? text.substr(2) : text);
}

[[noreturn]] void fail(std::string_view tag, std::string_view piece) {
  throw UsageError(fmt::format(
      "engine={}: '{}' is no part of an algorithm such as algo21_tile=128x128_stages=16x4_splitk=2", tag,
      piece));
}

void set_part(cublasLtMatmulAlgo_t& algorithm, std::string_view tag, std::string_view piece) {
  const std::size_t equals = piece.find('=');
  for (const Part& part : kParts) {
    if (part.word != piece.substr(0, equals)) continue;
    const auto value =
        equals == std::string_view::npos ? std::nullopt : value_of(part, piece.substr(equals + 1));
    if (!value) break;
    check_cublaslt(
        cublaslt().cublasLtMatmulAlgoConfigSetAttribute(&algorithm, part.attribute, &*value, part.size),
        std::string(piece));
    return;
  }
  fail(tag, piece);
}

}  // namespace

std::string algorithm_tag(const cublasLtMatmulAlgo_t& algorithm) {
  std::string tag = fmt::format("algo{}", read_attribute(algorithm, CUBLASLT_ALGO_CONFIG_ID, 4));
  for (const Part& part : kParts) {
    const std::uint32_t value = read_attribute(algorithm, part.attribute, part.size);
    const bool usual = value == 0 || (part.attribute == CUBLASLT_ALGO_CONFIG_SPLITK_NUM && value == 1);
    if (!usual) tag += fmt::format("_{}={}", part.word, value_text(part, value));
  }
  return tag;
}

void configure(cublasLtMatmulAlgo_t& algorithm, std::string_view tag) {
  for (std::size_t underscore = tag.find('_'); underscore != std::string_view::npos;) {
    const std::size_t next = tag.find('_', underscore + 1);
    set_part(algorithm, tag, tag.substr(underscore + 1, next - underscore - 1));
    underscore = next;
  }
}

cublasLtMatmulAlgo_t algorithm_of_tag(cublasLtHandle_t handle, const ProductTypes& types,
                                      std::string_view tag) {
  const std::string_view first = tag.substr(0, tag.find('_'));
  const auto id = first.starts_with("algo") ? number(first.substr(4)) : std::nullopt;
  if (!id) fail(tag, first);
  cublasLtMatmulAlgo_t algorithm{};
  check_cublaslt(
      cublaslt().cublasLtMatmulAlgoInit(handle, types.compute, types.scale, types.matrix, types.matrix,
                                        types.matrix, types.matrix, static_cast<int>(*id), &algorithm),
      std::string(first));
  configure(algorithm, tag);
  return algorithm;
}

}  // namespace jitterscope::cuda
