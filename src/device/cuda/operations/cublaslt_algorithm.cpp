#include <fmt/format.h>

#include "device/cuda/operations/cublaslt.hpp"

namespace jitterscope::cuda {
namespace {

// The names that GEMMs on current GPUs use; the enumerations have hundreds more, shown by number.
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

std::string tile_name(std::uint32_t id) {
  switch (id) {
#define JITTERSCOPE_CASE(shape) \
  case CUBLASLT_MATMUL_TILE_##shape: return #shape;
    JITTERSCOPE_TILES(JITTERSCOPE_CASE)
#undef JITTERSCOPE_CASE
    default: return fmt::format("id{}", id);
  }
}

std::string stages_name(std::uint32_t id) {
  switch (id) {
#define JITTERSCOPE_CASE(shape) \
  case CUBLASLT_MATMUL_STAGES_##shape: return #shape;
    JITTERSCOPE_STAGES(JITTERSCOPE_CASE)
#undef JITTERSCOPE_CASE
    default: return fmt::format("id{}", id);
  }
}

std::string cluster_name(std::uint16_t id) {
  switch (id) {
    case CUBLASLT_CLUSTER_SHAPE_AUTO: return "auto";
#define JITTERSCOPE_CASE(shape) \
  case CUBLASLT_CLUSTER_SHAPE_##shape: return #shape;
      JITTERSCOPE_CLUSTERS(JITTERSCOPE_CASE)
#undef JITTERSCOPE_CASE
    default: return fmt::format("id{}", id);
  }
}

// An attribute that an algorithm does not have reads as zero.
template <class Value>
Value attribute(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t name) {
  Value value{};
  std::size_t written = 0;
  cublaslt().cublasLtMatmulAlgoConfigGetAttribute(&algorithm, name, &value, sizeof(value), &written);
  return value;
}

}  // namespace

std::string describe_algorithm(const cublasLtMatmulAlgo_t& algorithm) {
  return fmt::format(
      "algo{} tile={} stages={} splitk={} cluster={}",
      attribute<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_ID),
      tile_name(attribute<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID)),
      stages_name(attribute<std::uint32_t>(algorithm, CUBLASLT_ALGO_CONFIG_STAGES_ID)),
      attribute<std::int32_t>(algorithm, CUBLASLT_ALGO_CONFIG_SPLITK_NUM),
      cluster_name(attribute<std::uint16_t>(algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID)));
}

}  // namespace jitterscope::cuda
