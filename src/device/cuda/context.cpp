#include "device/cuda/context.hpp"

#include <fmt/format.h>

#include "device/cuda/driver.hpp"
#include "device/cuda/kernels.hpp"
#include "device/cuda/layer_kernels.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {

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
  placement_.reset();
  layer_kernels_.reset();
  kernels_.reset();
  driver().cuStreamDestroy(stream_);
  driver().cuDevicePrimaryCtxRelease(device_);
}

void Context::make_current() const {
  check(driver().cuCtxSetCurrent(handle_), "making the GPU's context current");
}

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
  return Bytes(static_cast<std::int64_t>(free));
}

}  // namespace jitterscope::cuda
