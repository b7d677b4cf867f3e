#include <bit>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "device/compiler/nvrtc.hpp"
#include "device/compiler/user_kernel.hpp"
#include "device/cpu/number_formats.hpp"
#include "device/cuda/cuda_operation.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/operations/fused_source.hpp"
#include "device/cuda/operations/operations.hpp"
#include "device/judged_chain.hpp"
#include "jitterscope/error.hpp"
#include "operation/cuda_kernel.hpp"

// A kernel that NVRTC compiled, loaded on the GPU.

namespace jitterscope::cuda {

int attribute_of(CUdevice device, CUdevice_attribute which);
/// Returns 90 for compute capability 9.0.
int architecture_of(CUdevice device);

/// Loaded completely: one that loads at its first launch would wait in a held queue. The context must be
/// current at construction and destruction.
class LoadedKernel {
 public:
  /// `name` is for messages; `optimize` applies to PTX, which the driver compiles here.
  LoadedKernel(const CompiledKernel& kernel, const std::string& name,
               std::int64_t optimize = kFullOptimization);
  ~LoadedKernel();
  LoadedKernel(const LoadedKernel&) = delete;
  LoadedKernel& operator=(const LoadedKernel&) = delete;

  CUfunction function() const { return function_; }
  int attribute(CUfunction_attribute which) const;

 private:
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
};

// The user's kernels: compiled by NVRTC and launched as asked for, with memory around each buffer that shows
// whether they write beside it.

namespace {

// A page of 4 KiB on either side keeps buffers aligned for the widest access of a kernel.
constexpr Bytes kGuard(4096);

/// The bytes of a number or an address as a launch takes them.
struct ArgumentBytes {
  alignas(8) std::byte bytes[8] = {};
  std::size_t size = 0;

  template <class Value>
  static ArgumentBytes of(Value value) {
    ArgumentBytes result;
    std::memcpy(result.bytes, &value, sizeof value);
    result.size = sizeof value;
    return result;
  }
};

ArgumentBytes number_bytes(const KernelArgument& argument) {
  using enum KernelArgument::NumberType;
  switch (argument.number_type) {
    case i8: return ArgumentBytes::of(static_cast<std::int8_t>(argument.integer));
    case u8: return ArgumentBytes::of(static_cast<std::uint8_t>(argument.integer));
    case i16: return ArgumentBytes::of(static_cast<std::int16_t>(argument.integer));
    case u16: return ArgumentBytes::of(static_cast<std::uint16_t>(argument.integer));
    case i32: return ArgumentBytes::of(static_cast<std::int32_t>(argument.integer));
    case u32: return ArgumentBytes::of(static_cast<std::uint32_t>(argument.integer));
    case i64: return ArgumentBytes::of(argument.integer);
    case u64: return ArgumentBytes::of(static_cast<std::uint64_t>(argument.integer));
    case f16: return ArgumentBytes::of(cpu::Half::write(static_cast<float>(argument.real)));
    case bf16: return ArgumentBytes::of(cpu::BFloat16::write(static_cast<float>(argument.real)));
    case f32: return ArgumentBytes::of(static_cast<float>(argument.real));
    case f64: return ArgumentBytes::of(argument.real);
  }
  return {};
}

// A kernel of the user's that is ready to be launched in the context that is current.
class KernelLaunch {
 public:
  KernelLaunch(CudaKernel kernel, CUdevice device)
      : kernel_(std::move(kernel)),
        device_(device),
        compiled_(compiled(kernel_, architecture_of(device))),
        loaded_(compiled_, kernel_.kernel, kernel_.optimize) {
    for (const KernelArgument& argument : kernel_.arguments) {
      arguments_.push_back(is_buffer(argument) ? ArgumentBytes::of(CUdeviceptr{0}) : number_bytes(argument));
    }
    for (ArgumentBytes& argument : arguments_) pointers_.push_back(argument.bytes);
    check_launch();
  }
  KernelLaunch(const KernelLaunch&) = delete;
  KernelLaunch& operator=(const KernelLaunch&) = delete;

  const CudaKernel& kernel() const { return kernel_; }
  const std::string& algorithm() const { return algorithm_; }
  void set_buffer(std::size_t argument, CUdeviceptr address) {
    arguments_[argument] = ArgumentBytes::of(address);
  }
  void run(CUstream stream) {
    const auto side = [](const std::array<std::int64_t, 3>& sides, std::size_t i) {
      return static_cast<unsigned>(sides[i]);
    };
    const auto &grid = kernel_.grid, &block = kernel_.block;
    check(driver().cuLaunchKernel(loaded_.function(), side(grid, 0), side(grid, 1), side(grid, 2),
                                  side(block, 0), side(block, 1), side(block, 2),
                                  static_cast<unsigned>(kernel_.shared), stream, pointers_.data(), nullptr),
          "launching " + kernel_.kernel);
  }

 private:
  [[noreturn]] void refuse(const std::string& problem) const {
    throw UsageError(fmt::format("{}: {}", kernel_.kernel, problem));
  }
  // Checks the arguments, since the driver would read beside one that is shorter than its parameter.
  static const CompiledKernel& compiled(const CudaKernel& kernel, int architecture) {
    const CompileRequest request = compile_request(kernel, architecture);
    const CompiledKernel& done = compiled_kernel(request);
    check_arguments(kernel, request, done);
    return done;
  }
  void check_launch();

  CudaKernel kernel_;
  CUdevice device_;
  const CompiledKernel& compiled_;  // lives as long as the process
  LoadedKernel loaded_;
  std::vector<ArgumentBytes> arguments_;
  std::vector<void*> pointers_;  // pointers to arguments_
  std::string algorithm_;
};

class KernelOperation : public CudaOperation {
 public:
  KernelOperation(const Context& shared, const Operation& operation, const InputData& data)
      : CudaOperation(shared, operation, data, kGuard),
        launch_(std::get<CudaKernel>(operation.parameters()), shared.device()) {
    const std::vector<std::size_t> places = operand_places(launch_.kernel());
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i] != kNoOperand) launch_.set_buffer(i, operand(places[i]));
    }
  }
  ~KernelOperation() override { context().make_current(); }
  KernelOperation(const KernelOperation&) = delete;
  KernelOperation& operator=(const KernelOperation&) = delete;

  std::string provider() const override { return "nvrtc"; }
  std::string algorithm() const override { return launch_.algorithm(); }
  void run(NativeQueue queue) override { launch_.run(static_cast<CUstream>(queue)); }
  void check_launches() override { check_guards(launch_.kernel().kernel); }

 private:
  KernelLaunch launch_;
};

class JudgedKernelOnGpu : public JudgedKernel {
 public:
  explicit JudgedKernelOnGpu(const CudaKernel& kernel) : launch_(kernel, current_device()) {
    for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
      if (is_buffer(kernel.arguments[i])) buffers_.push_back(i);
    }
  }
  void launch(void* stream, void* const* buffers) override {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      launch_.set_buffer(buffers_[i], reinterpret_cast<CUdeviceptr>(buffers[i]));
    }
    launch_.run(static_cast<CUstream>(stream));
  }

 private:
  static CUdevice current_device() {
    CUdevice device = 0;
    check(driver().cuCtxGetDevice(&device), "finding the context's GPU");
    return device;
  }
  KernelLaunch launch_;
  std::vector<std::size_t> buffers_;
};

void KernelLaunch::check_launch() {
  const std::int64_t threads = threads_in_block(kernel_);
  const int registers = loaded_.attribute(CU_FUNC_ATTRIBUTE_NUM_REGS);
  const int most_threads = loaded_.attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  if (threads > most_threads) {
    refuse(fmt::format(
        "a block of {} threads cannot be launched: with {} registers for each at most {} can; take "
        "smaller blocks, or registers={}",
        threads, registers, most_threads, 65536 / threads / 8 * 8));
  }
  // A block occupies whole warps: 33 threads take the room of 64.
  const std::int64_t room = (threads + 31) / 32 * 32;
  const int all = attribute_of(device_, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  if (room * kernel_.min_blocks > all) {
    refuse(fmt::format(
        "min_blocks={} of {} threads do not fit: a processor has room for {} threads, and the compiler would "
        "heed nothing; take at most {}",
        kernel_.min_blocks, threads, all, all / room));
  }
  const int fixed = loaded_.attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  const int most_shared = attribute_of(device_, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  if (kernel_.shared + fixed > most_shared) {
    refuse(fmt::format(
        "shared={} is too large: a block has at most {} of shared memory here, of which the kernel "
        "takes {} by itself",
        kernel_.shared, bytes_text(Bytes(most_shared)), bytes_text(Bytes(fixed))));
  }
  const auto shared = static_cast<int>(kernel_.shared);
  check(driver().cuFuncSetAttribute(loaded_.function(), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    shared),
        "asking for shared memory");
  int blocks = 0;
  check(driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &blocks, loaded_.function(), static_cast<int>(threads), static_cast<std::size_t>(shared)),
        "asking how many blocks run at once");
  const double occupancy = static_cast<double>(blocks) * static_cast<double>(room) / all;
  const int local = loaded_.attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  const int source = loaded_.attribute(CU_FUNC_ATTRIBUTE_PTX_VERSION);
  algorithm_ = fmt::format("{} registers, {:.0f} % occupancy", registers, 100.0 * occupancy);
  if (fixed + shared > 0) algorithm_ += fmt::format(", {} shared", bytes_text(Bytes(fixed + shared)));
  if (local > 0) {
    algorithm_ += fmt::format(", {} B local memory a thread", local);
    if (!compiled_.spills.empty()) algorithm_ += fmt::format(" ({})", compiled_.spills);
  }
  if (source != loaded_.attribute(CU_FUNC_ATTRIBUTE_BINARY_VERSION))
    algorithm_ += fmt::format(", code for {}.{}", source / 10, source % 10);
}

}  // namespace

std::unique_ptr<PreparedOperation> prepare_cuda_kernel(const Context& context, const Operation& operation,
                                                       const InputData& data) {
  return std::make_unique<KernelOperation>(context, operation, data);
}

// Fused chains of pointwise steps and pooling: a kernel is generated for the chain and compiled by NVRTC.

namespace {

class FusedKernel : public CudaOperation {
 public:
  FusedKernel(const Context& shared, const Operation& requested, const InputData& data)
      : CudaOperation(shared, requested, data),
        source_(fused_source(std::get<Chain>(operation().parameters()))),
        loaded_(compiled_kernel({.source = source_.text,
                                 .file = "the generated kernel",
                                 .kernel = kFusedKernel,
                                 .architecture = architecture_of(shared.device())}),
                "the generated kernel") {
    const std::int64_t blocks = (source_.threads + kFusedBlock - 1) / kFusedBlock;
    constexpr std::int64_t kMostBlocks = (std::int64_t{1} << 31) - 1;
    if (blocks > kMostBlocks) {
      throw UsageError(fmt::format("{} would need {} blocks, and a GPU launches {} at most; make it smaller",
                                   operation().text(), blocks, kMostBlocks));
    }
    blocks_ = static_cast<unsigned>(blocks);
    const std::size_t operands = operation().operands().size();
    for (std::size_t i = 0; i < operands; ++i) addresses_.push_back(operand(i));
    for (CUdeviceptr& address : addresses_) pointers_.push_back(&address);
    algorithm_ = fmt::format("generated kernel, {} registers", loaded_.attribute(CU_FUNC_ATTRIBUTE_NUM_REGS));
  }
  ~FusedKernel() override { context().make_current(); }
  FusedKernel(const FusedKernel&) = delete;
  FusedKernel& operator=(const FusedKernel&) = delete;

  std::string provider() const override { return "nvrtc"; }
  std::string algorithm() const override { return algorithm_; }
  void run(NativeQueue queue) override {
    check(driver().cuLaunchKernel(loaded_.function(), blocks_, 1, 1, static_cast<unsigned>(kFusedBlock), 1, 1,
                                  0, static_cast<CUstream>(queue), pointers_.data(), nullptr),
          "launching the generated kernel");
  }

 private:
  FusedSource source_;
  LoadedKernel loaded_;
  unsigned blocks_ = 0;
  std::vector<CUdeviceptr> addresses_;
  std::vector<void*> pointers_;  // pointers to addresses_
  std::string algorithm_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_fused_kernel(const Context& context, const Operation& operation,
                                                        const InputData& data) {
  return std::make_unique<FusedKernel>(context, operation, data);
}

int attribute_of(CUdevice device, CUdevice_attribute which) {
  int value = 0;
  check(driver().cuDeviceGetAttribute(&value, which, device), "reading a GPU attribute");
  return value;
}

int architecture_of(CUdevice device) {
  return 10 * attribute_of(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
         attribute_of(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

LoadedKernel::LoadedKernel(const CompiledKernel& kernel, const std::string& name, std::int64_t optimize) {
  // If no level is given, the driver takes its full optimization, level 4.
  CUjit_option option = CU_JIT_OPTIMIZATION_LEVEL;
  void* level = reinterpret_cast<void*>(optimize);
  const unsigned options = optimize == kFullOptimization ? 0 : 1;
  check(driver().cuModuleLoadDataEx(&module_, kernel.image.data(), options, &option, &level),
        "loading " + name);
  try {
    check(driver().cuModuleGetFunction(&function_, module_, kernel.symbol.c_str()), "finding " + name);
    if (driver().cuFuncLoad != nullptr) check(driver().cuFuncLoad(function_), "loading " + name);
  } catch (...) {
    driver().cuModuleUnload(module_);
    throw;
  }
}

LoadedKernel::~LoadedKernel() {
  driver().cuCtxSynchronize();  // launches that still run end first
  driver().cuModuleUnload(module_);
}

int LoadedKernel::attribute(CUfunction_attribute which) const {
  int value = 0;
  check(driver().cuFuncGetAttribute(&value, which, function_), "asking the driver about a kernel");
  return value;
}

}  // namespace jitterscope::cuda

namespace jitterscope {

std::unique_ptr<JudgedKernel> open_judged_kernel(const CudaKernel& kernel) {
  return std::make_unique<cuda::JudgedKernelOnGpu>(kernel);
}

}  // namespace jitterscope
