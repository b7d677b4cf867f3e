#include "device/cuda/cupti/cupti.hpp"

#include <fmt/format.h>

#include "base/function_table.hpp"
#include "device/cuda/library_names.hpp"
#include "device/cuda/operations/operations.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

const char* look_up_cupti(Cupti& functions) {
  JITTERSCOPE_CUPTI_FUNCTIONS(JITTERSCOPE_LOOK_UP)
  return nullptr;
}

const FunctionTable<Cupti>& opened_cupti() {
  static const FunctionTable<Cupti> opened =
      open_functions(names_for_driver({"libcupti.so.13", "libcupti.so.12"}), look_up_cupti);
  return opened;
}

}  // namespace

const Cupti& cupti() {
  const auto& opened = opened_cupti();
  if (opened.functions) return *opened.functions;
  throw MissingError(
      "kernel times by CUPTI need its library, and " + opened.problem +
      "; install it (pip install nvidia-cuda-cupti, or nvidia-cuda-cupti-cu12 for CUDA 12) or name its "
      "folder in JITTERSCOPE_LIBRARY_PATH");
}

void check_cupti(CUptiResult result, std::string_view what) {
  if (result == CUPTI_SUCCESS) return;
  const char* text = nullptr;
  cupti().cuptiGetResultString(result, &text);
  const char* advice = result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
                           ? "; another profiler (nsys, ncu, torch.profiler) holds CUPTI: run without it"
                           : "";
  throw FailedError(fmt::format("{}: {} (CUPTI error {}){}", what, text == nullptr ? "unknown error" : text,
                                static_cast<int>(result), advice));
}

LibraryInfo cupti_library() {
  const auto& opened = opened_cupti();
  LibraryInfo info{.name = "cupti", .version = "", .path = opened.path, .problem = opened.problem};
  std::uint32_t version = 0;
  if (opened.functions && opened.functions->cuptiGetVersion(&version) == CUPTI_SUCCESS) {
    info.version = std::to_string(version);
  }
  return info;
}

}  // namespace jitterscope::cuda
