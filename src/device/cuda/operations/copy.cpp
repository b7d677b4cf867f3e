// Copies within the GPU's memory and between it and the host's.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>

#include "device/cuda/cuda_operation.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/kernels.hpp"
#include "device/cuda/operand_data.hpp"
#include "device/cuda/operations/operations.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

class DeviceCopy : public CudaOperation {
 public:
  DeviceCopy(const Context& shared, const Operation& operation, const InputData& data)
      : CudaOperation(shared, operation, data) {}
  std::string provider() const override { return "builtin"; }
  std::string algorithm() const override { return "cuMemcpyDtoDAsync"; }
  void run(NativeQueue queue) override {
    const auto bytes = static_cast<std::size_t>(std::get<Copy>(operation().parameters()).bytes);
    check(driver().cuMemcpyDtoDAsync(operand(1), operand(0), bytes, static_cast<CUstream>(queue)), "copying");
  }
};

/// Host memory, page-locked or as malloc gives it.
class HostBuffer {
 public:
  HostBuffer(Bytes size, HostMemory memory) {
    if (memory == HostMemory::pinned) {
      pinned_ = PinnedMemory(size);
    } else {
      pageable_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(size.value()));
    }
  }
  void* pointer() const { return pageable_ ? pageable_.get() : pinned_.pointer(); }

 private:
  PinnedMemory pinned_;
  std::unique_ptr<std::byte[]> pageable_;
};

// MemAvailable of /proc/meminfo; no limit where it cannot be read.
Bytes available_host_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::int64_t kibibytes = 0;
  for (std::string unit; file >> key >> kibibytes && std::getline(file, unit);) {
    if (key == "MemAvailable:") return Bytes(kibibytes * 1024);
  }
  return Bytes(std::numeric_limits<std::int64_t>::max());
}

void require_host_memory(const Operation& operation, Bytes needed) {
  const Bytes available = available_host_memory();
  if (needed <= available) return;
  throw UsageError(fmt::format("{}: it needs {:.2f} GB of host memory, and {:.2f} GB are free",
                               operation.text(), static_cast<double>(needed.value()) * 1e-9,
                               static_cast<double>(available.value()) * 1e-9));
}

/// One side on the GPU, the other on the host.
class HostCopy : public PreparedOperation {
 public:
  HostCopy(const Context& context, const Operation& operation, const InputData& data)
      : context_(context),
        operation_(operation),
        copy_(std::get<Copy>(operation.parameters())),
        operands_(operation.operands()) {
    const Bytes size(copy_.bytes);
    require_device_memory(context_, operation_, size);
    require_host_memory(operation_, size);
    context_.make_current();
    device_ = DeviceMemory(size);
    host_.emplace(size, copy_.memory);
    fill_operand(context_, device_.address(), operands_[kSource], kSource, data);
    if (to_device()) {
      check(driver().cuMemcpyDtoHAsync(host_->pointer(), device_.address(), bytes(), context_.stream()),
            "filling the host's memory");
    }
    poison_outputs();
  }

  const Operation& operation() const override { return operation_; }
  std::string provider() const override { return "builtin"; }
  std::string algorithm() const override { return to_device() ? "cuMemcpyHtoDAsync" : "cuMemcpyDtoHAsync"; }
  void run(NativeQueue queue) override {
    auto* stream = static_cast<CUstream>(queue);
    check(to_device() ? driver().cuMemcpyHtoDAsync(device_.address(), host_->pointer(), bytes(), stream)
                      : driver().cuMemcpyDtoHAsync(host_->pointer(), device_.address(), bytes(), stream),
          "copying between host and GPU");
  }
  bool produce_inputs(NativeQueue queue) override {
    if (to_device()) return false;
    context_.kernels().touch(static_cast<CUstream>(queue), {device_.pointer(), device_.size()});
    return true;
  }
  /// The GPU's side: what its caches can hold.
  std::vector<MemoryRegion> memory() const override { return {{device_.pointer(), device_.size()}}; }
  void poison_outputs() override;
  std::vector<double> read_operand(std::size_t index) override;

 private:
  static constexpr std::size_t kSource = 0;

  bool to_device() const { return copy_.kind == CopyKind::h2d; }
  std::size_t bytes() const { return static_cast<std::size_t>(copy_.bytes); }

  const Context& context_;
  Operation operation_;
  Copy copy_;
  std::vector<Operand> operands_;
  DeviceMemory device_;
  std::optional<HostBuffer> host_;
};

void HostCopy::poison_outputs() {
  context_.make_current();
  if (to_device()) {
    poison_device_memory(context_, device_.address(), device_.size());
  } else {
    std::memset(host_->pointer(), 0xff, bytes());
  }
  check(driver().cuCtxSynchronize(), "preparing the operands of " + operation_.text());
}

std::vector<double> HostCopy::read_operand(std::size_t index) {
  const bool on_host = (index == kSource) == to_device();
  if (!on_host) return read_as_double(context_, device_.address(), operands_.at(index));
  context_.make_current();
  check(driver().cuCtxSynchronize(), "waiting for a copy");
  // The GPU knows every data type, so the host's side is read through it.
  const DeviceMemory upload{Bytes(copy_.bytes)};
  check(driver().cuMemcpyHtoDAsync(upload.address(), host_->pointer(), bytes(), context_.stream()),
        "reading the host's memory");
  return read_as_double(context_, upload.address(), operands_.at(index));
}

/// The driver copies pageable memory through its own buffers, and waits for the stream meanwhile.
class PageableCopy : public HostCopy {
 public:
  using HostCopy::HostCopy;
  bool waits_for_queue() const override { return true; }
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_copy(const Context& context, const Operation& operation,
                                                const InputData& data) {
  const Copy& copy = std::get<Copy>(operation.parameters());
  if (copy.kind == CopyKind::d2d) return std::make_unique<DeviceCopy>(context, operation, data);
  if (copy.memory == HostMemory::pageable) return std::make_unique<PageableCopy>(context, operation, data);
  return std::make_unique<HostCopy>(context, operation, data);
}

}  // namespace jitterscope::cuda
