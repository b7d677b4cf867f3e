#include "device/cuda/operations/cublaslt_log.hpp"

#include "device/cuda/operations/cublaslt.hpp"
#include "operation/cublaslt_tag.hpp"

namespace jitterscope::cuda {
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
