#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "base/host.hpp"
#include "base/quantity_text.hpp"
#include "device/cuda/cuda_operation.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/kernels.hpp"
#include "device/cuda/memory.hpp"
#include "device/cuda/operations/operations.hpp"
#include "device/operands.hpp"
#include "jitterscope/error.hpp"
#include "jitterscope/operation.hpp"

// The host's side of a copy, in each kind of host memory.

namespace jitterscope::cuda {

/// Page-locked memory from the driver, or memory as malloc gives it, which is page-locked afterwards if it is
/// to be `registered`. Lies on one NUMA node if one is given.
class HostBuffer {
 public:
  HostBuffer(Bytes size, HostMemory memory, std::optional<int> node = {});

  void* pointer() const { return pageable_ ? pageable_.get() : pinned_.pointer(); }
  Bytes size() const { return size_; }
  /// Returns the address for kernels, if the driver allocated the memory; else 0.
  CUdeviceptr device_address() const { return pinned_.device_address(); }

 private:
  struct Free {
    void operator()(void* pointer) const { std::free(pointer); }
  };
  Bytes size_;
  PinnedMemory pinned_;
  std::unique_ptr<void, Free> pageable_;
  std::unique_ptr<Registration> registration_;  // destroyed before the memory
};

// Copies within the GPU's memory and between it and the host's.

namespace {

class DeviceCopy : public CudaOperation {
 public:
  DeviceCopy(const Context& shared, const Operation& operation, const InputData& data)
      // The kernel that fills the operands writes whole elements, although a copy could begin at any byte.
      : CudaOperation(shared, operation, data, Bytes(0), element_size(operation.dtype())) {}
  std::string provider() const override { return "builtin"; }
  std::string algorithm() const override { return "cuMemcpyDtoDAsync"; }
  void run(NativeQueue queue) override {
    const auto bytes = static_cast<std::size_t>(std::get<Copy>(operation().parameters()).bytes);
    check(driver().cuMemcpyDtoDAsync(operand(1), operand(0), bytes, static_cast<CUstream>(queue)), "copying");
  }
};

// Returns MemAvailable of /proc/meminfo; no limit if it cannot be read.
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

/// A copy with one side on the GPU and the other on the host.
class HostCopy : public PreparedOperation, public OperandMemory {
 public:
  HostCopy(const Context& context, const Operation& operation, const InputData& data)
      : context_(context),
        operation_(operation),
        copy_(std::get<Copy>(operation.parameters())),
        operands_(operation.operands()) {
    const Bytes size(copy_.bytes);
    // A copy to the host may take another operation's output as its source.
    const SharedOperand* shared = to_device() ? nullptr : find_shared(data, kSource, size);
    const auto source = shared != nullptr ? owned_memory(*shared) : std::nullopt;
    if (!source) require_device_memory(context_, operation_, size);
    require_host_memory(operation_, size);
    context_.make_current();
    if (source) {
      address_ =
          reinterpret_cast<CUdeviceptr>(source->address) + static_cast<CUdeviceptr>(shared->offset.value());
    } else {
      device_ = DeviceMemory(size);
      address_ = device_.address();
    }
    host_.emplace(size, copy_.memory,
                  copy_.node < 0 ? std::nullopt : std::optional(static_cast<int>(copy_.node)));
    if (!source) fill_operand(context_, address_, operands_[kSource], kSource, data);
    if (to_device()) {
      check(driver().cuMemcpyDtoHAsync(host_->pointer(), address_, bytes(), context_.stream()),
            "filling the host's memory");
    }
    poison_outputs();
  }

  const Operation& operation() const override { return operation_; }
  std::string provider() const override { return "builtin"; }
  /// Names the host memory's NUMA node, which matters on a machine with several.
  std::string algorithm() const override {
    const std::optional<int> node = memory_node_of(host_->pointer());
    return node ? fmt::format("{}, host memory on NUMA node {}", way(), *node) : std::string(way());
  }
  void run(NativeQueue queue) override { copy(static_cast<CUstream>(queue)); }
  bool produce_inputs(NativeQueue queue) override {
    if (to_device()) return false;
    context_.kernels().touch(static_cast<CUstream>(queue), device_side());
    return true;
  }
  /// Returns the GPU's side, which its caches can hold.
  std::vector<MemoryRegion> memory() const override { return {device_side()}; }
  std::vector<MemoryRegion> operand_memory() const override {
    const MemoryRegion host{nullptr, Bytes(copy_.bytes)};
    return to_device() ? std::vector{host, device_side()} : std::vector{device_side(), host};
  }
  std::size_t input_count() const override { return 1; }
  void poison_outputs() override;
  std::vector<double> read_operand(std::size_t index) override;

 protected:
  virtual std::string_view way() const { return to_device() ? "cuMemcpyHtoDAsync" : "cuMemcpyDtoHAsync"; }
  void copy(CUstream stream) {
    check(to_device() ? driver().cuMemcpyHtoDAsync(address_, host_->pointer(), bytes(), stream)
                      : driver().cuMemcpyDtoHAsync(host_->pointer(), address_, bytes(), stream),
          "copying between host and GPU");
  }
  const Context& context() const { return context_; }
  CUdeviceptr address() const { return address_; }  ///< address of the GPU's side
  const HostBuffer& host() const { return *host_; }
  bool to_device() const { return copy_.kind == CopyKind::h2d; }

 private:
  static constexpr std::size_t kSource = 0;

  std::size_t bytes() const { return static_cast<std::size_t>(copy_.bytes); }
  MemoryRegion device_side() const {
    return {reinterpret_cast<void*>(address_), Bytes(copy_.bytes)};  // NOLINT: as the libraries take it
  }

  const Context& context_;
  Operation operation_;
  Copy copy_;
  std::vector<Operand> operands_;
  DeviceMemory device_;  ///< empty if it uses another operation's memory
  CUdeviceptr address_ = 0;
  std::optional<HostBuffer> host_;
};

void HostCopy::poison_outputs() {
  context_.make_current();
  if (to_device()) {
    poison_device_memory(context_, address_, Bytes(copy_.bytes));
  } else {
    std::memset(host_->pointer(), 0xff, bytes());
  }
  check(driver().cuCtxSynchronize(), "preparing the operands of " + operation_.text());
}

std::vector<double> HostCopy::read_operand(std::size_t index) {
  const bool on_host = (index == kSource) == to_device();
  if (!on_host) return read_as_double(context_, address_, operands_.at(index));
  context_.make_current();
  check(driver().cuCtxSynchronize(), "waiting for a copy");
  // The GPU converts every data type, so the host's side is read through it.
  const DeviceMemory upload{Bytes(copy_.bytes)};
  check(driver().cuMemcpyHtoDAsync(upload.address(), host_->pointer(), bytes(), context_.stream()),
        "reading the host's memory");
  return read_as_double(context_, upload.address(), operands_.at(index));
}

/// The driver copies pageable memory through its own buffers and waits for the stream meanwhile.
class PageableCopy : public HostCopy {
 public:
  using HostCopy::HostCopy;
  bool waits_for_queue() const override { return true; }
};

/// Page-locks the memory for one copy and releases it afterwards, as a program does that pins for one copy.
class RegisteringCopy : public HostCopy {
 public:
  using HostCopy::HostCopy;
  bool waits_for_queue() const override { return true; }
  /// While a stream is recorded, it cannot be waited for, and memory cannot be released.
  void prepare_recording(NativeQueue) override {
    throw UsageError(operation().text() + " waits for its copy, and so cannot be recorded");
  }
  void run(NativeQueue queue) override {
    auto* stream = static_cast<CUstream>(queue);
    const Registration registration(host().pointer(), host().size());
    copy(stream);
    check(driver().cuStreamSynchronize(stream), "waiting for a copy");
  }

 protected:
  std::string_view way() const override {
    return to_device() ? "cuMemHostRegister, cuMemcpyHtoDAsync, cuMemHostUnregister"
                       : "cuMemHostRegister, cuMemcpyDtoHAsync, cuMemHostUnregister";
  }
};

/// Copies by a kernel that reads or writes host memory over the bus.
class MappedCopy : public HostCopy {
 public:
  MappedCopy(const Context& context, const Operation& operation, const InputData& data)
      : HostCopy(context, operation, data), mapped_(host().device_address()) {}
  void run(NativeQueue queue) override {
    const CUdeviceptr to = to_device() ? address() : mapped_;
    const CUdeviceptr from = to_device() ? mapped_ : address();
    context().kernels().copy(static_cast<CUstream>(queue), to, from, host().size());
  }

 protected:
  std::string_view way() const override { return "jitterscope_copy"; }

 private:
  CUdeviceptr mapped_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_copy(const Context& context, const Operation& operation,
                                                const InputData& data) {
  const Copy& copy = std::get<Copy>(operation.parameters());
  if (copy.kind == CopyKind::d2d) return std::make_unique<DeviceCopy>(context, operation, data);
  switch (copy.memory) {
    case HostMemory::pinned:
    case HostMemory::registered: return std::make_unique<HostCopy>(context, operation, data);
    case HostMemory::pageable: return std::make_unique<PageableCopy>(context, operation, data);
    case HostMemory::registered_anew: return std::make_unique<RegisteringCopy>(context, operation, data);
    case HostMemory::mapped: return std::make_unique<MappedCopy>(context, operation, data);
  }
  throw std::logic_error("a kind of host memory has no copy");
}

namespace {

// Whole pages of its own, so that page-locking them locks nobody else's memory.
constexpr std::int64_t kPage = 4096;

void* allocate_pages(Bytes size) {
  const std::int64_t whole = (size.value() + kPage - 1) / kPage * kPage;
  void* pages = std::aligned_alloc(kPage, static_cast<std::size_t>(whole));
  if (pages == nullptr) {
    throw FailedError(
        fmt::format("the system refused {} of host memory: free some, or copy less", bytes_text(size)));
  }
  return pages;
}

}  // namespace

HostBuffer::HostBuffer(Bytes size, HostMemory memory, std::optional<int> node) : size_(size) {
  const MemoryFromNode from(node);
  switch (memory) {
    case HostMemory::pinned:
    case HostMemory::mapped: pinned_ = PinnedMemory(size); break;
    case HostMemory::pageable:
    case HostMemory::registered_anew: pageable_.reset(allocate_pages(size)); break;
    case HostMemory::registered:
      pageable_.reset(allocate_pages(size));
      registration_ = std::make_unique<Registration>(pageable_.get(), size);
      break;
  }
  // The system takes a page from a node when the page is first touched.
  if (node && pageable_) std::memset(pageable_.get(), 0, static_cast<std::size_t>(size.value()));
}

}  // namespace jitterscope::cuda
