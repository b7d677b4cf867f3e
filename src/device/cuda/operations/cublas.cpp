#include "device/cuda/operations/cublas.hpp"

#include <charconv>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "base/shared_library.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/operations/matrix_product.hpp"
#include "device/cuda/operations/operations.hpp"
#include "jitterscope/error.hpp"
#include "operation/operation.hpp"
#include "operation/pytorch.hpp"

namespace jitterscope::cuda {

ProductTypes product_types(DataType dtype) {
  switch (dtype) {
    case DataType::f64: return {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case DataType::tf32: return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
    case DataType::f16: return {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DataType::bf16: return {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    default: return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
  }
}

std::unique_ptr<PreparedOperation> prepare_matmul(const Context& context, const Operation& operation,
                                                  const InputData& data) {
  const Matmul matmul = as_matmul(operation);
  // Checked before the operands are allocated, so that a missing library is reported first.
  cublaslt();
  context.make_current();  // cuBLASLt may be asked before operands exist
  // PyTorch has no operator with a bias for each product of a batch: cuBLASLt's epilogue adds it.
  const bool only_cublaslt = !matmul.engine.empty() || (matmul.bias && matmul.batch > 1);
  if (only_cublaslt || (pytorch_uses_bias_epilogue(matmul) && cublaslt_proposes(matmul)))
    return prepare_cublaslt_matmul(context, operation, data);
  cublas();
  return prepare_cublas_matmul(context, operation, data);
}

namespace {

constexpr std::string_view kCublasPackages = "nvidia-cublas, or nvidia-cublas-cu12 for CUDA 12";

const char* look_up_cublas(Cublas& functions) {
  JITTERSCOPE_CUBLAS_FUNCTIONS(JITTERSCOPE_LOOK_UP)
  functions.cublasGemmEx = functions.library.find_function<GemmEx>("cublasGemmEx");
  functions.cublasGemmStridedBatchedEx =
      functions.library.find_function<GemmStridedBatchedEx>("cublasGemmStridedBatchedEx");
  return functions.cublasGemmEx == nullptr || functions.cublasGemmStridedBatchedEx == nullptr ? "cublasGemmEx"
                                                                                              : nullptr;
}

const FunctionTable<Cublas>& opened_cublas() {
  static const FunctionTable<Cublas> opened =
      open_functions(names_for_driver({"libcublas.so.13", "libcublas.so.12"}), look_up_cublas);
  return opened;
}

}  // namespace

const Cublas& cublas() {
  return opened_cublas().require("matrix products without bias need cuBLAS", kCublasPackages);
}

cublasHandle_t cublas_handle() {
  static HandleCache<cublasHandle_t> handles;
  return handles.get([] {
    cublasHandle_t handle = nullptr;
    check_cublas(cublas().cublasCreate_v2(&handle), "cublasCreate");
    return handle;
  });
}

void check_cublas(cublasStatus_t status, std::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw FailedError(fmt::format("{}: {}", what, cublas().cublasGetStatusString(status)));
}

LibraryInfo cublas_library() {
  const auto& opened = opened_cublas();
  LibraryInfo info{.name = "cublas", .version = "", .path = opened.path, .problem = opened.problem};
  if (!opened.functions) return info;
  int major = 0, minor = 0, patch = 0;
  opened.functions->cublasGetProperty(MAJOR_VERSION, &major);
  opened.functions->cublasGetProperty(MINOR_VERSION, &minor);
  opened.functions->cublasGetProperty(PATCH_LEVEL, &patch);
  info.version = fmt::format("{}.{}.{}", major, minor, patch);
  return info;
}

namespace {

const char* look_up_cublaslt(CublasLt& functions) {
  JITTERSCOPE_CUBLASLT_FUNCTIONS(JITTERSCOPE_LOOK_UP)
  return nullptr;
}

const FunctionTable<CublasLt>& opened_cublaslt() {
  static const FunctionTable<CublasLt> opened =
      open_functions(names_for_driver({"libcublasLt.so.13", "libcublasLt.so.12"}), look_up_cublaslt);
  return opened;
}

}  // namespace

const CublasLt& cublaslt() {
  return opened_cublaslt().require("matrix products need cuBLASLt", kCublasPackages);
}

cublasLtHandle_t cublaslt_handle() {
  static HandleCache<cublasLtHandle_t> handles;
  return handles.get([] {
    cublasLtHandle_t handle = nullptr;
    check_cublaslt(cublaslt().cublasLtCreate(&handle), "cublasLtCreate");
    return handle;
  });
}

void check_cublaslt(cublasStatus_t status, std::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw FailedError(fmt::format("{}: {}", what, cublaslt().cublasLtGetStatusString(status)));
}

LibraryInfo cublaslt_library() {
  const auto& opened = opened_cublaslt();
  LibraryInfo info{.name = "cublaslt", .version = "", .path = opened.path, .problem = opened.problem};
  if (opened.functions) {
    const std::size_t version = opened.functions->cublasLtGetVersion();
    info.version = fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  }
  return info;
}

namespace {

struct NamedValue {
  std::string_view name;
  std::uint32_t value;
};
// kTiles, kStages, kInnerShapes and kClusters, from the header's enumerations.
#include "cublaslt_names.inc"

// A part of a tag and the attribute that it stands for. A value of zero, cuBLASLt's own choice, is left out.
struct Part {
  std::string_view word;
  cublasLtMatmulAlgoConfigAttributes_t attribute;
  std::size_t size;  // size of the attribute in bytes
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

// An attribute that an algorithm lacks reads as zero. Little-endian, so that 2 bytes read as 4.
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
  return std::to_string(static_cast<std::int32_t>(value));  // -1 splits: cuBLASLt chooses the number
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
      "engine={}: '{}' is not part of an algorithm such as algo21_tile=128x128_stages=16x4_splitk=2", tag,
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

namespace {

std::string& last_algorithm() {
  static std::string tag;
  return tag;
}

void listen(int /*level*/, const char* /*function*/, const char* message) {
  if (std::string tag = algorithm_tag_of_log(message); !tag.empty()) last_algorithm() = std::move(tag);
}

}  // namespace

std::string algorithm_tag_of_log(std::string_view line) {
  const std::size_t start = line.find("algo=[");
  if (start == std::string_view::npos) return {};
  const std::string_view algorithm = line.substr(start + 6);
  return cublaslt_tag(algorithm.substr(0, algorithm.find(']')));
}

std::string logged_algorithm(const std::function<void()>& work) {
  constexpr int kTrace = 1 << 1;  // cuBLASLt's mask for calls that launch kernels
  last_algorithm().clear();
  // Without its own file the log also goes to stdout, between our results.
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
