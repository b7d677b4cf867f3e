#include "device/virtual/launch_share.hpp"

#include <algorithm>
#include <cmath>

#include "device/virtual/product_tiles.hpp"

namespace jitterscope::virtual_gpu {
namespace {

// Of each GPU since 2017 but some of laptops, which take 1024 to 1536.
constexpr double kThreadsOfProcessor = 2048;
// As our kernels: a thread moves 16 bytes (device/cuda/kernels.cu).
constexpr double kThreadsOfBlock = 256, kBytesOfThread = 16;
class Filler {
 public:
  Filler(const physics::Parameters& parameters, const Operation& operation)
      : parameters_(parameters), operation_(operation) {}

  double operator()(const Conv2d&) { return product(); }
  double operator()(const Matmul&) { return product(); }
  double operator()(const Linear&) { return product(); }
  double operator()(const Attention&) { return product(); }
  double operator()(const Spin& spin) { return static_cast<double>(spin.blocks) / processors(); }
  double operator()(const CudaKernel& kernel) {
    double blocks = 1.0, threads = 1.0;
    for (const std::int64_t count : kernel.grid) blocks *= static_cast<double>(count);
    for (const std::int64_t count : kernel.block) threads *= static_cast<double>(count);
    return filled_by(blocks * threads);
  }
  double operator()(const Chain& chain) {
    double share = 0.0;
    for (const Operation& step : chain.steps) share = std::max(share, share_of_processors(parameters_, step));
    return share;
  }
  template <class Shape>
  double operator()(const Shape&) {
    double bytes = 0.0;
    for (const Operand& operand : operation_.operands()) {
      bytes = std::max(bytes, static_cast<double>(operand.bytes().value()));
    }
    return filled_by(std::ceil(bytes / (kBytesOfThread * kThreadsOfBlock)) * kThreadsOfBlock);
  }

 private:
  double processors() const { return parameters_.identity.processors; }
  double filled_by(double threads) const { return threads / (kThreadsOfProcessor * processors()); }
  double product() const {
    return product_work(parameters_, *product_shape(parameters_, operation_)).processors / processors();
  }

  const physics::Parameters& parameters_;
  const Operation& operation_;
};

}  // namespace

Engine engine_of(const Operation& operation) {
  const auto* copy = std::get_if<Copy>(&operation.parameters());
  if (copy == nullptr || copy->kind == CopyKind::d2d) return Engine::processors;
  return copy->kind == CopyKind::h2d ? Engine::copy_to_device : Engine::copy_to_host;
}

double share_of_processors(const physics::Parameters& parameters, const Operation& operation) {
  const double share = std::visit(Filler(parameters, operation), operation.parameters());
  const double one_block = kThreadsOfBlock / (kThreadsOfProcessor * parameters.identity.processors);
  return std::clamp(share, one_block, 1.0);
}

}  // namespace jitterscope::virtual_gpu
