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
