// Fused chains of pointwise steps and pooling: a kernel that is generated for the chain and compiled by
// NVRTC.
#include <fmt/format.h>

#include "device/cuda/cuda_operation.hpp"
#include "device/cuda/driver.hpp"
#include "device/cuda/operations/fused_operations.hpp"
#include "device/cuda/operations/fused_source.hpp"
#include "device/cuda/operations/loaded_kernel.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

class FusedKernel : public CudaOperation {
 public:
  FusedKernel(const Context& shared, const Operation& requested, const InputData& data)
      : CudaOperation(shared, requested, data),
        source_(fused_source(std::get<Chain>(operation().parameters()))),
        loaded_(compiled_kernel({.source = source_.text,
                                 .file = "the generated kernel",
                                 .kernel = kFusedKernel,
                                 .architecture = architecture_of(shared)}),
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
  std::vector<void*> pointers_;  // to them
  std::string algorithm_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_fused_kernel(const Context& context, const Operation& operation,
                                                        const InputData& data) {
  return std::make_unique<FusedKernel>(context, operation, data);
}

}  // namespace jitterscope::cuda
