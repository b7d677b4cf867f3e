#include "device/cuda/driver.hpp"

#include <charconv>
#include <string>

#include <fmt/format.h>

#include "device/cuda/kernels.hpp"
#include "device/cuda/layer_kernels.hpp"
#include "device/cuda/nccl.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

// cuEventElapsedTime_v2 came with CUDA 12.8 and cuDeviceGetUuid_v2 with 11.4. The older functions have the
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

// Returns a hint for errors that a kernel caused; which kernel is not known here.
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

namespace {

// Returns 13 for "libcublas.so.13", 0 if there is no number.
int major_of(const std::string& name) {
  const std::size_t dot = name.rfind('.') + 1;
  int major = 0;
  std::from_chars(name.data() + dot, name.data() + name.size(), major);
  return major;
}

}  // namespace

std::vector<std::string> names_up_to(int major, const std::vector<std::string>& names) {
  std::vector<std::string> fitting;
  for (const std::string& name : names) {
    if (major_of(name) <= major) fitting.push_back(name);
  }
  return fitting.empty() ? names : fitting;
}

std::vector<std::string> names_for_driver(const std::vector<std::string>& names) {
  try {
    return names_up_to(driver().version / 1000, names);
  } catch (const MissingError&) {
    return names;
  }
}

Context::Context(int ordinal) : ordinal_(ordinal) {
  int count = 0;
  check(driver().cuDeviceGetCount(&count), "counting the GPUs");
  if (ordinal < 0 || ordinal >= count) {
    throw MissingError(
        fmt::format("there is no cuda:{}: this process sees {} GPU{} (jitterscope list shows them)", ordinal,
                    count, count == 1 ? "" : "s"));
  }
  check(driver().cuDeviceGet(&device_, ordinal), fmt::format("opening cuda:{}", ordinal));
  check(driver().cuDevicePrimaryCtxRetain(&handle_, device_),
        fmt::format("making a context on cuda:{}", ordinal));
  try {
    make_current();
    check(driver().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "making a stream");
    pages_ = std::make_unique<PhysicalPool>(ordinal_, device_);
    kernels_ = std::make_unique<Kernels>(*this);
    layer_kernels_ = std::make_unique<LayerKernels>(*this);
  } catch (...) {
    if (stream_ != nullptr) driver().cuStreamDestroy(stream_);
    driver().cuDevicePrimaryCtxRelease(device_);
    throw;
  }
}

Context::~Context() {
  driver().cuCtxSetCurrent(handle_);
  communicator_.reset();
  workspaces_.reset();
  pages_.reset();
  layer_kernels_.reset();
  kernels_.reset();
  driver().cuStreamDestroy(stream_);
  driver().cuDevicePrimaryCtxRelease(device_);
}

void Context::make_current() const {
  check(driver().cuCtxSetCurrent(handle_), "making the GPU's context current");
}

void Context::join(std::unique_ptr<Communicator> communicator) { communicator_ = std::move(communicator); }

void Context::require_own(CUstream stream) const {
  make_current();
  CUcontext owner = nullptr;
  check(driver().cuStreamGetCtx(stream, &owner), "asking whose a stream is");
  if (owner == handle_) return;
  throw UsageError(
      fmt::format("this stream is not one of cuda:{0}'s primary context: open the device that the stream was "
                  "made on, or make a stream on cuda:{0}",
                  ordinal_));
}

Workspace::Workspace(const Context& context, Bytes size)
    : block_(size > Bytes(0) ? context.workspaces().take(size, &context.pages()) : nullptr), size_(size) {}

int Context::attribute(CUdevice_attribute attribute) const {
  int value = 0;
  check(driver().cuDeviceGetAttribute(&value, attribute, device_), "reading a GPU attribute");
  return value;
}

Bytes Context::free_memory() const {
  make_current();
  std::size_t free = 0;
  std::size_t total = 0;
  check(driver().cuMemGetInfo(&free, &total), "reading the GPU's free memory");
  return Bytes(static_cast<std::int64_t>(free)) + pages_->free();
}

}  // namespace jitterscope::cuda
