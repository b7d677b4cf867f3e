// Kernels that last a known time or a known number of cycles: ground truth.
#include <fmt/format.h>

#include "device/cuda/cuda_operation.hpp"
#include "device/cuda/kernels.hpp"
#include "device/cuda/operations/operations.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

void require_launchable(const Context& context, const Operation& operation, const Spin& spin) {
  const int most_threads = context.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  if (spin.threads > most_threads) {
    throw UsageError(fmt::format("{}: cuda:{} runs at most {} threads per block", operation.text(),
                                 context.ordinal(), most_threads));
  }
  const int most_blocks = context.attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  if (spin.blocks > most_blocks) {
    throw UsageError(
        fmt::format("{}: cuda:{} runs at most {} blocks", operation.text(), context.ordinal(), most_blocks));
  }
}

class SpinOperation : public CudaOperation {
 public:
  SpinOperation(const Context& shared, const Operation& operation, const InputData& data)
      : CudaOperation(shared, operation, data), spin_(std::get<Spin>(operation.parameters())) {
    require_launchable(shared, operation, spin_);
  }
  std::string provider() const override { return "builtin"; }
  std::string algorithm() const override {
    return spin_.unit == Spin::Unit::nanoseconds ? "spins on globaltimer" : "spins on clock64";
  }
  void run(NativeQueue queue) override { context().kernels().spin(static_cast<CUstream>(queue), spin_); }

 private:
  Spin spin_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_spin(const Context& context, const Operation& operation,
                                                const InputData& data) {
  return std::make_unique<SpinOperation>(context, operation, data);
}

}  // namespace jitterscope::cuda
