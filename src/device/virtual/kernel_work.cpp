#include "device/virtual/kernel_work.hpp"

#include <algorithm>
#include <stdexcept>

#include "device/virtual/product_tiles.hpp"
#include "jitterscope/error.hpp"
#include "operation/traffic.hpp"

namespace jitterscope::virtual_gpu {
namespace {

using physics::KernelWork;
using physics::Parameters;

// A block that spins keeps one warp of each processor busy with a clock read: nearly idle.
constexpr double kSpinActivity = 0.05;

double power_of(const physics::DataPower& power, DataKind data) {
  switch (data) {
    case DataKind::normal: return 1.0;
    case DataKind::uniform: return power.uniform;
    case DataKind::zeros: return power.zeros;
    case DataKind::ones: return power.ones;
    case DataKind::sparse: return power.sparse;
  }
  return 1.0;
}

class Shaper {
 public:
  Shaper(const Parameters& parameters, const Operation& operation, KernelWork& work)
      : parameters_(parameters), operation_(operation), work_(work) {}

  void operator()(const Conv2d&) { product(parameters_.compute.conv2d_activity); }
  void operator()(const Matmul&) { product(1.0); }
  void operator()(const Linear&) { product(1.0); }
  void operator()(const Attention&) { product(1.0); }
  // The rest computes less for each byte than memory takes to bring it.
  template <class Shape>
  void operator()(const Shape&) {
    work_.activity = parameters_.compute.memory_activity;
  }
  // A copy engine feeds the bus: the GPU's own memory is some 80 times faster and does not show.
  void operator()(const Copy& copy) {
    if (copy.kind == CopyKind::d2d) {
      work_.activity = parameters_.compute.memory_activity;
      return;
    }
    const double bandwidth = copy.memory == HostMemory::pageable ? parameters_.memory.host_bandwidth_pageable
                                                                 : parameters_.memory.host_bandwidth_pinned;
    work_.fixed += seconds(static_cast<double>(copy.bytes) / bandwidth);
    work_.accesses.clear();
  }
  void operator()(const Spin& spin) {
    const auto more_blocks = static_cast<double>(
        std::max<std::int64_t>(0, spin.blocks - static_cast<std::int64_t>(parameters_.identity.processors)));
    const auto amount = static_cast<double>(spin.amount);
    work_.fixed += parameters_.compute.block_cost * more_blocks;
    if (spin.unit == Spin::Unit::nanoseconds) work_.fixed += Nanoseconds(amount);
    if (spin.unit == Spin::Unit::cycles) work_.compute = Cycles(amount);
    work_.activity = kSpinActivity;
  }
  // One launch that computes what all steps do; the accesses are already those of the whole.
  void operator()(const Chain& chain) {
    if (!chain.fused) throw std::logic_error("a chain's steps are prepared one by one");
    Cycles compute;
    double activity = 0.0;
    for (const Operation& step : chain.steps) {
      work_.compute = Cycles(0);
      std::visit(Shaper(parameters_, step, work_), step.parameters());
      compute += work_.compute;
      activity = std::max(activity, work_.activity);
    }
    work_.compute = compute;
    work_.activity = activity;
  }
  void operator()(const Allocation&) { throw std::logic_error("require_means let an allocation through"); }
  void operator()(const Aten& aten) {
    throw UsageError(aten.name + ": a simulated GPU has no operators of PyTorch; use device cpu or cuda");
  }

 private:
  void product(double activity) {
    const ProductWork own = product_work(parameters_, *product_shape(parameters_, operation_));
    work_.fixed += own.fixed;
    work_.compute = own.cycles;
    work_.stalls += own.stalls;
    work_.overlap = parameters_.compute.product_overlap;
    // Processors that wait for a tile, or have none, draw no power for it.
    work_.activity = activity * product_of(parameters_, operation_.dtype()).activity * own.busy;
  }

  const Parameters& parameters_;
  const Operation& operation_;
  KernelWork& work_;
};

}  // namespace

Cycles tensor_cycles(const Parameters& parameters, const Operation& operation) {
  if (const auto* chain = std::get_if<Chain>(&operation.parameters())) {
    Cycles sum;
    for (const Operation& step : chain->steps) sum += tensor_cycles(parameters, step);
    return sum;
  }
  const DataType dtype = operation.dtype();
  const bool has_units = dtype == DataType::tf32 || dtype == DataType::f16 || dtype == DataType::bf16;
  if (!has_units || !product_shape(parameters, operation)) return Cycles(0);
  return Cycles(operation.flops() / flops_per_cycle(parameters.compute, dtype));
}

KernelWork kernel_work(const Parameters& parameters, const Operation& operation,
                       const std::vector<physics::Buffer>& buffers, DataKind data) {
  KernelWork work;
  work.fixed = parameters.compute.kernel_floor;
  const std::vector<Operand> operands = operation.operands();
  const std::vector<Bytes> traffic = operand_traffic(operation);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    work.accesses.push_back({buffers.at(i), traffic[i], operands[i].role == OperandRole::output});
  }
  std::visit(Shaper(parameters, operation, work), operation.parameters());
  work.activity *= power_of(parameters.data, data);
  return work;
}

}  // namespace jitterscope::virtual_gpu
