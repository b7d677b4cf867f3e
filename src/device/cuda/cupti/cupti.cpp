#include "device/cuda/cupti/cupti.hpp"

#include <fmt/format.h>

#include <optional>

#include "device/cuda/operations/operations.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

struct Opened {
  std::optional<Cupti> functions;
  std::string path, problem;
};

Opened open_cupti() {
  Opened opened;
  std::string answer;
  auto library = SharedLibrary::open({"libcupti.so.13", "libcupti.so.12"}, nvidia_library_folders(), &answer);
  if (!library) {
    opened.problem = "neither libcupti.so.13 nor libcupti.so.12 was found (" + answer + ")";
    return opened;
  }
  opened.path = library->path();
  Cupti functions{.library = *library};
  const char* missing = nullptr;
#define JITTERSCOPE_LOOK_UP(name)                                                           \
  functions.name = library->find_function<std::remove_pointer_t<decltype(&::name)>>(#name); \
  if (functions.name == nullptr) missing = #name;
  JITTERSCOPE_CUPTI_FUNCTIONS(JITTERSCOPE_LOOK_UP)
#undef JITTERSCOPE_LOOK_UP
  if (missing != nullptr) {
    opened.problem = fmt::format("{} lacks {}", opened.path, missing);
  } else {
    opened.functions = std::move(functions);
  }
  return opened;
}

const Opened& opened_cupti() {
  static const Opened opened = open_cupti();
  return opened;
}

}  // namespace

const Cupti& cupti() {
  const Opened& opened = opened_cupti();
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
  const Opened& opened = opened_cupti();
  LibraryInfo info{.name = "cupti", .version = "", .path = opened.path, .problem = opened.problem};
  std::uint32_t version = 0;
  if (opened.functions && opened.functions->cuptiGetVersion(&version) == CUPTI_SUCCESS) {
    info.version = std::to_string(version);
  }
  return info;
}

}  // namespace jitterscope::cuda
