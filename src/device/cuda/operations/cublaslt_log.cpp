#include "device/cuda/operations/cublaslt_log.hpp"

#include <fmt/format.h>

#include <array>

#include "device/cuda/operations/cublaslt.hpp"

namespace jitterscope::cuda {
namespace {

std::string& last_algorithm() {
  static std::string tag;
  return tag;
}

void listen(int /*level*/, const char* /*function*/, const char* message) {
  if (std::string tag = algorithm_tag_of_log(message); !tag.empty()) last_algorithm() = std::move(tag);
}

std::string_view value_after(std::string_view text, std::string_view name) {
  const std::size_t found = text.find(name);
  if (found == std::string_view::npos) return {};
  text.remove_prefix(found + name.size());
  return text.substr(0, text.find_first_of(" ]"));
}

// As the enumeration cublasLtReductionScheme_t counts.
std::string_view reduction_number(std::string_view name) {
  if (name == "REDUCTION_SCHEME_INPLACE") return "1";
  if (name == "REDUCTION_SCHEME_COMPUTE_TYPE") return "2";
  if (name == "REDUCTION_SCHEME_OUTPUT_TYPE") return "4";
  return {};
}

}  // namespace

std::string algorithm_tag_of_log(std::string_view line) {
  const std::size_t start = line.find("algo=[");
  if (start == std::string_view::npos) return {};
  std::string_view fields = line.substr(start + 5);
  fields = fields.substr(0, fields.find(']') + 1);
  const std::string_view id = value_after(fields, "algoId=");
  if (id.empty()) return {};
  std::string tag = fmt::format("algo{}", id);
  const auto add = [&](std::string_view word, std::string_view value) {
    if (!value.empty() && value != "0") tag += fmt::format("_{}={}", word, value);
  };
  add("tile", value_after(fields, "tile=MATMUL_TILE_"));
  add("stages", value_after(fields, "stages=MATMUL_STAGES_"));
  add("splitk", value_after(fields, "numSplitsK="));
  add("reduction", reduction_number(value_after(fields, "reductionScheme=")));
  add("swizzle", value_after(fields, "ctaSwizzling="));
  add("custom", value_after(fields, "customOption="));
  add("inner", value_after(fields, "innerShape=MATMUL_INNER_SHAPE_"));
  add("cluster", value_after(fields, "clusterShape=CLUSTER_SHAPE_"));
  return tag;
}

std::string logged_algorithm(const std::function<void()>& work) {
  constexpr int kTrace = 1 << 1;  // calls that launch kernels, in cuBLASLt's mask
  last_algorithm().clear();
  // Without a file of its own the log goes to stdout as well, between our results.
  static const bool has_file = cublaslt().cublasLtLoggerOpenFile("/dev/null") == CUBLAS_STATUS_SUCCESS;
  if (!has_file) return {};
  cublaslt().cublasLtLoggerSetCallback(listen);
  cublaslt().cublasLtLoggerSetMask(kTrace);
  work();
  cublaslt().cublasLtLoggerSetMask(0);
  cublaslt().cublasLtLoggerSetCallback(nullptr);
  return last_algorithm();
}

}  // namespace jitterscope::cuda
