#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "device/cpu/operations/onednn_primitives.hpp"
#include "device/cpu/operations/prepare.hpp"
#include "device/cpu/operations/shapes.hpp"
#include "jitterscope/error.hpp"
#include "operation/traffic.hpp"

namespace jitterscope::cpu {
namespace {

using dnnl::memory;

/// A primitive, and how the operands lie in memory. Where the primitive wants an operand otherwise, it is
/// reordered within each launch, as PyTorch does for the plain tensors of a training run.
struct Plan {
  Primitive primitive;
  std::vector<memory::desc> operands;

  bool reorders(std::size_t index) const { return primitive.arguments[index].desc != operands[index]; }
  bool reorders_any() const {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (reorders(i)) return true;
    }
    return false;
  }
  Bytes workspace() const {
    std::size_t size = primitive.scratchpad.get_size();
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (reorders(i)) size += primitive.arguments[i].desc.get_size();
    }
    return Bytes(static_cast<std::int64_t>(size));
  }
};

class OnednnOperation final : public CpuOperation {
 public:
  OnednnOperation(const Operation& operation, const InputTable& inputs, const dnnl::engine& engine,
                  const Plan& plan)
      : CpuOperation(operation, inputs), stream_(engine), workspace_(plan.workspace()) {
    algorithm_ = plan.primitive.implementation + (plan.reorders_any() ? " + reorders" : "");
    std::vector<Step> after;
    Step main{plan.primitive.primitive, {}};
    for (std::size_t i = 0; i < plan.operands.size(); ++i) {
      const Primitive::Argument& argument = plan.primitive.arguments[i];
      const dnnl::memory own(plan.operands[i], engine, data(i));
      if (!plan.reorders(i)) {
        main.arguments.emplace(argument.id, own);
        continue;
      }
      const dnnl::memory inner = allocate(argument.desc, engine);
      main.arguments.emplace(argument.id, inner);
      const bool output = i + 1 == plan.operands.size();
      output ? after.push_back(reorder(inner, own)) : steps_.push_back(reorder(own, inner));
    }
    if (plan.primitive.scratchpad.get_size() > 0) {
      main.arguments.emplace(DNNL_ARG_SCRATCHPAD, allocate(plan.primitive.scratchpad, engine));
    }
    steps_.push_back(std::move(main));
    steps_.insert(steps_.end(), after.begin(), after.end());
  }

  std::string provider() const override { return "onednn"; }
  bool runs_reference_loops() const override { return false; }
  std::string algorithm() const override { return algorithm_; }
  Bytes workspace() const override { return workspace_; }

  void run(NativeQueue) override {
    for (const Step& step : steps_) step.primitive.execute(stream_, step.arguments);
    stream_.wait();
  }

  std::vector<MemoryRegion> memory() const override {
    std::vector<MemoryRegion> regions = CpuOperation::memory();
    for (const AlignedMemory& inner : inner_) regions.push_back({inner.data(), inner.size()});
    return regions;
  }

 private:
  struct Step {
    dnnl::primitive primitive;
    std::unordered_map<int, dnnl::memory> arguments;
  };

  static Step reorder(const dnnl::memory& from, const dnnl::memory& to) {
    return {dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}};
  }

  dnnl::memory allocate(const dnnl::memory::desc& desc, const dnnl::engine& engine) {
    const AlignedMemory& inner = inner_.emplace_back(Bytes(static_cast<std::int64_t>(desc.get_size())));
    return {desc, engine, inner.data()};
  }

  dnnl::stream stream_;
  Bytes workspace_;
  std::string algorithm_;
  std::vector<Step> steps_;
  std::vector<AlignedMemory> inner_;
};

memory::desc four_dimensional(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w,
                              const Conv2d& conv) {
  const Strides steps = strides(c, h, w, conv.layout);
  return {{n, c, h, w}, storage_type(conv.dtype), memory::dims{steps.n, steps.c, steps.h, steps.w}};
}

// oneDNN takes the groups of a weight as a dimension of its own.
memory::desc weight(const Conv2d& conv) {
  const std::int64_t c = conv.c / conv.groups, k = conv.k / conv.groups;
  if (conv.groups == 1) return four_dimensional(k, c, conv.r, conv.s, conv);
  const Strides steps = strides(c, conv.r, conv.s, conv.layout);
  return {{conv.groups, k, c, conv.r, conv.s},
          storage_type(conv.dtype),
          memory::dims{k * steps.n, steps.n, steps.c, steps.h, steps.w}};
}

Plan plan_convolution(const Conv2d& conv, const dnnl::engine& engine) {
  const memory::desc x = four_dimensional(conv.n, conv.c, conv.h, conv.w, conv);
  const memory::desc w = weight(conv);
  const memory::desc y = four_dimensional(conv.n, conv.k, conv.out_h(), conv.out_w(), conv);
  // As PyTorch: channels last is kept, and the rest is oneDNN's choice. On plain nchw tensors oneDNN falls
  // back to matrix products over unfolded images: with reorders counted, 3.5 times as slow for a 3x3 layer
  // with 64 channels on 56x56, and 13 times for a depthwise one (oneDNN 2.6, one AVX-512 core).
  const bool channels_last = conv.layout == Layout::nhwc;
  const ConvolutionShape shape{.x = channels_last ? x : any_layout(x),
                               .w = any_layout(w),
                               .y = channels_last ? y : any_layout(y),
                               .stride = {conv.stride_h, conv.stride_w},
                               .dilation = {conv.dilation_h - 1, conv.dilation_w - 1},
                               .padding = {conv.pad_h, conv.pad_w}};
  Plan plan{convolution_primitive(engine, conv.direction, shape), {}};
  switch (conv.direction) {
    case Direction::fprop: plan.operands = {x, w, y}; break;
    case Direction::dgrad: plan.operands = {y, w, x}; break;
    case Direction::wgrad: plan.operands = {x, y, w}; break;
  }
  return plan;
}

Plan plan_matmul(const Matmul& m, const dnnl::engine& engine) {
  const auto type = storage_type(m.dtype);
  const auto matrix = [&](std::int64_t rows, std::int64_t columns, bool transposed) {
    const std::int64_t row_step = transposed ? 1 : columns, column_step = transposed ? rows : 1;
    if (m.batch == 1) return memory::desc({rows, columns}, type, memory::dims{row_step, column_step});
    return memory::desc({m.batch, rows, columns}, type, memory::dims{rows * columns, row_step, column_step});
  };
  MatmulShape shape{
      matrix(m.m, m.k, m.transpose_a), matrix(m.k, m.n, m.transpose_b), matrix(m.m, m.n, false), {}};
  if (m.bias) {
    shape.bias = m.batch == 1 ? memory::desc({1, m.n}, type, memory::dims{m.n, 1})
                              : memory::desc({1, 1, m.n}, type, memory::dims{m.n, m.n, 1});
  }
  Plan plan{matmul_primitive(engine, shape), {}};
  for (const Primitive::Argument& argument : plan.primitive.arguments) plan.operands.push_back(argument.desc);
  return plan;
}

Plan plan_of(const Operation& operation, const dnnl::engine& engine) {
  if (const auto* conv = std::get_if<Conv2d>(&operation.parameters())) return plan_convolution(*conv, engine);
  return plan_matmul(as_matmul(operation), engine);
}

}  // namespace

std::unique_ptr<PreparedOperation> prepare_onednn(const Operation& operation, const InputTable& inputs) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  try {
    const Plan plan = plan_of(operation, engine);
    require_memory(operand_memory(operation) + plan.workspace(), operation.text());
    return std::make_unique<OnednnOperation>(operation, inputs, engine, plan);
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented) {
      throw UsageError(
          fmt::format("oneDNN has no kernel on this cpu for {}: try {}", operation.text(),
                      operation.dtype() == DataType::f32 ? "dtype=f64, which needs none" : "dtype=f32"));
    }
    throw FailedError(fmt::format("oneDNN failed to prepare {}: {}", operation.text(), error.what()));
  }
}

}  // namespace jitterscope::cpu
