#include "device/cuda/operations/cublaslt_algorithm.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <span>

#include "device/cuda/operations/cublaslt.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

// The names that GEMMs on current GPUs use; the enumerations have hundreds more, written by number (id123).
// clang-format off
#define JITTERSCOPE_TILES(X)                                                                               \
  X(8x8)                                                                                                   \
  X(8x16) X(16x8) X(8x32) X(16x16) X(32x8) X(8x64) X(16x32) X(32x16) X(64x8) X(32x32) X(32x64) X(64x32)    \
      X(32x128) X(64x64) X(128x32) X(64x128) X(128x64) X(64x256) X(128x128) X(256x64) X(64x512) X(128x256) \
          X(256x128) X(512x64) X(64x96) X(96x64) X(96x128) X(128x160) X(160x128) X(192x128) X(128x192)     \
              X(128x96) X(32x256) X(256x32) X(8x128) X(16x64) X(16x128) X(16x256) X(24x64) X(24x128)       \
                  X(32x192) X(64x192) X(64x320) X(64x384) X(96x192) X(96x256) X(128x320) X(128x384)        \
                      X(160x64) X(192x64) X(192x192) X(192x256) X(256x192) X(384x64) X(384x128)
// clang-format on
// clang-format off
#define JITTERSCOPE_STAGES(X)                                                                               \
  X(16x1)                                                                                                   \
  X(16x2) X(16x3) X(16x4) X(16x5) X(16x6) X(32x1) X(32x2) X(32x3) X(32x4) X(32x5) X(32x6) X(64x1) X(64x2)   \
      X(64x3) X(64x4) X(64x5) X(64x6) X(128x1) X(128x2) X(128x3) X(128x4) X(128x5) X(128x6) X(32x10) X(8x4) \
          X(16x10) X(8x5) X(8x3) X(8xAUTO) X(16xAUTO) X(32xAUTO) X(64xAUTO) X(128xAUTO)
// clang-format on
// clang-format off
#define JITTERSCOPE_CLUSTERS(X)                                                                      \
  X(1x1x1)                                                                                           \
  X(2x1x1) X(4x1x1) X(1x2x1) X(2x2x1) X(4x2x1) X(1x4x1) X(2x4x1) X(4x4x1) X(8x1x1) X(1x8x1) X(8x2x1) \
      X(2x8x1) X(16x1x1) X(1x16x1)
// clang-format on

struct NamedValue {
  std::string_view name;
  std::uint32_t value;
};

#define JITTERSCOPE_NAMED(shape) {#shape, CUBLASLT_MATMUL_TILE_##shape},
constexpr NamedValue kTiles[] = {JITTERSCOPE_TILES(JITTERSCOPE_NAMED)};
#undef JITTERSCOPE_NAMED
#define JITTERSCOPE_NAMED(shape) {#shape, CUBLASLT_MATMUL_STAGES_##shape},
constexpr NamedValue kStages[] = {JITTERSCOPE_STAGES(JITTERSCOPE_NAMED)};
#undef JITTERSCOPE_NAMED
#define JITTERSCOPE_NAMED(shape) {#shape, CUBLASLT_CLUSTER_SHAPE_##shape},
constexpr NamedValue kClusters[] = {JITTERSCOPE_CLUSTERS(JITTERSCOPE_NAMED)};
#undef JITTERSCOPE_NAMED

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
    {"inner", CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 2, {}},
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
  return part.names.empty() ? std::to_string(value) : fmt::format("id{}", value);
}

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
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

cublasLtMatmulAlgo_t algorithm_of_tag(cublasLtHandle_t handle, const ProductTypes& types,
                                      std::string_view tag) {
  std::string_view rest = tag;
  const std::string_view first = rest.substr(0, rest.find('_'));
  const auto id = first.starts_with("algo") ? number(first.substr(4)) : std::nullopt;
  if (!id) fail(tag, first);
  cublasLtMatmulAlgo_t algorithm{};
  check_cublaslt(
      cublaslt().cublasLtMatmulAlgoInit(handle, types.compute, types.scale, types.matrix, types.matrix,
                                        types.matrix, types.matrix, static_cast<int>(*id), &algorithm),
      std::string(first));
  for (std::size_t underscore = rest.find('_'); underscore != std::string_view::npos;
       underscore = rest.find('_')) {
    rest.remove_prefix(underscore + 1);
    set_part(algorithm, tag, rest.substr(0, rest.find('_')));
  }
  return algorithm;
}

}  // namespace jitterscope::cuda
