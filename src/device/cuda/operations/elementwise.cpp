// fill, add and relu by jitterscope's own kernels.
#include "device/cuda/cuda_operation.hpp"
#include "device/cuda/kernels.hpp"
#include "device/cuda/operations/operations.hpp"

namespace jitterscope::cuda {
namespace {

class ElementwiseOperation : public CudaOperation {
 public:
  ElementwiseOperation(const Context& shared, const Operation& operation, const InputData& data)
      : CudaOperation(shared, operation, data), shape_(std::get<Elementwise>(operation.parameters())) {
    switch (shape_.kind) {
      case ElementwiseKind::fill: addresses_ = {.out = operand(0)}; break;
      case ElementwiseKind::relu: addresses_ = {.out = operand(1), .a = operand(0)}; break;
      case ElementwiseKind::add: addresses_ = {.out = operand(2), .a = operand(0), .b = operand(1)}; break;
      default: break;
    }
  }
  std::string provider() const override { return "builtin"; }
  std::string algorithm() const override { return "16-byte vectors"; }
  void run(NativeQueue queue) override {
    context().kernels().elementwise(static_cast<CUstream>(queue), shape_.kind, shape_.dtype, addresses_,
                                    shape_.count);
  }

 private:
  Elementwise shape_;
  ElementwiseOperands addresses_;
};

}  // namespace

bool has_elementwise(ElementwiseKind kind) {
  return kind == ElementwiseKind::fill || kind == ElementwiseKind::add || kind == ElementwiseKind::relu;
}

std::unique_ptr<PreparedOperation> prepare_elementwise(const Context& context, const Operation& operation,
                                                       const InputData& data) {
  return std::make_unique<ElementwiseOperation>(context, operation, data);
}

}  // namespace jitterscope::cuda
