#include "device/cuda/driver.hpp"

#include <fmt/format.h>

#include <string>

#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

// cuEventElapsedTime_v2 came with CUDA 12.8 and cuDeviceGetUuid_v2 with 11.4; the older functions have the
// same parameters, so an older driver serves as well.
constexpr std::string_view kVersionSuffix = "_v2";

void* find_in(const SharedLibrary& library, const std::string& name) {
  if (void* address = library.find(name.c_str())) return address;
  const bool same_parameters = name == "cuEventElapsedTime_v2" || name == "cuDeviceGetUuid_v2";
  if (!same_parameters) return nullptr;
  return library.find(name.substr(0, name.size() - kVersionSuffix.size()).c_str());
}

std::string remedy_of(CUresult result) {
  switch (result) {
    case CUDA_ERROR_NO_DEVICE:
      return "check that nvidia-smi lists a GPU and that CUDA_VISIBLE_DEVICES does not hide it";
    case CUDA_ERROR_STUB_LIBRARY: return "take the CUDA toolkit's stubs folder out of LD_LIBRARY_PATH";
    case CUDA_ERROR_SYSTEM_NOT_READY: return "start nvidia-fabricmanager";
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
      return "reboot, so that the kernel module and libcuda.so.1 are of one version";
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
      return "take the CUDA compat folder out of LD_LIBRARY_PATH, or install a newer driver";
    case CUDA_ERROR_UNKNOWN: return "check that /dev/nvidia-uvm is there (nvidia-modprobe -u makes it)";
    default: return "check the driver with nvidia-smi";
  }
}

// Of what a kernel did: it cannot be known here which one.
std::string_view hint_of(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
      return "; a kernel reads or writes what it must not, and nothing more runs in this process: "
             "compute-sanitizer says where";
    case CUDA_ERROR_ASSERT: return "; an assertion in a kernel does not hold";
    default: return "";
  }
}

void initialize(const Driver& driver) {
  const CUresult result = driver.cuInit(0);
  if (result == CUDA_SUCCESS) return;
  const char* words = nullptr;
  driver.cuGetErrorString(result, &words);
  throw MissingError(fmt::format("no usable NVIDIA GPU: cuInit of {} answers '{}' (error {}): {}",
                                 driver.library.path(), words == nullptr ? "unknown error" : words,
                                 static_cast<int>(result), remedy_of(result)));
}

Driver load() {
  std::string problem;
  auto library = SharedLibrary::open({"libcuda.so.1"}, {}, &problem);
  if (!library) throw MissingError("no NVIDIA driver found (" + problem + "): install it, or use device cpu");
  Driver driver{.library = std::move(*library)};
  std::string missing;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(find_in(driver.library, name));
    const std::string_view text = name;
    const bool may_lack = text == "cuFuncLoad" ||                                // see Kernels
                          text == "cuFuncGetName" || text == "cuKernelGetName";  // see LaunchNames
    if (function == nullptr && !may_lack && missing.empty()) missing = name;
  };
#define JITTERSCOPE_TEXT(name) #name
#define JITTERSCOPE_FIND(name) find(driver.name, JITTERSCOPE_TEXT(name));
  JITTERSCOPE_CUDA_FUNCTIONS(JITTERSCOPE_FIND)
#undef JITTERSCOPE_FIND
#undef JITTERSCOPE_TEXT
  if (!missing.empty()) {
    throw MissingError(
        fmt::format("the NVIDIA driver ({}) is too old: it has no {}; install one for CUDA 11.4 or newer "
                    "(470 or newer)",
                    driver.library.path(), missing));
  }
  initialize(driver);
  driver.cuDriverGetVersion(&driver.version);
  return driver;
}

}  // namespace

const Driver& driver() {
  static const Driver loaded = load();
  return loaded;
}

void check(CUresult result, std::string_view what) {
  if (result == CUDA_SUCCESS) return;
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    throw FailedError(fmt::format("{}: the GPU is out of memory", what));
  const char* name = nullptr;
  const char* words = nullptr;
  driver().cuGetErrorName(result, &name);
  driver().cuGetErrorString(result, &words);
  throw FailedError(fmt::format("{}: {} ({}){}", what, name == nullptr ? "unknown CUDA error" : name,
                                words == nullptr ? "no description" : words, hint_of(result)));
}

}  // namespace jitterscope::cuda
