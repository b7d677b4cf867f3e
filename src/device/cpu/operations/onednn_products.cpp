#include "device/cpu/operations/onednn_products.hpp"

#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "device/chain.hpp"
#include "device/cpu/operations/cpu_operation.hpp"
#include "device/cpu/operations/onednn_primitives.hpp"
#include "device/cpu/operations/prepare.hpp"
#include "jitterscope/error.hpp"
#include "operation/operation.hpp"

namespace jitterscope::cpu {
namespace {

class OnednnOperation final : public CpuOperation {
 public:
  OnednnOperation(const Operation& operation, const InputTable& inputs, const dnnl::engine& engine,
                  const OnednnPlan& plan)
      : CpuOperation(operation, inputs, RowsApart::as_asked), stream_(engine), workspace_(plan.workspace()) {
    algorithm_ = plan.primitive.implementation;
    if (std::holds_alternative<Chain>(operation.parameters())) algorithm_ += " with post-ops";
    if (plan.reorders_any()) algorithm_ += " + reorders";
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

const char* way_out(const Operation& operation) {
  if (std::holds_alternative<Chain>(operation.parameters())) return "leave out fused=1";
  return operation.dtype() == DataType::f32 ? "try dtype=f64, which needs none" : "try dtype=f32";
}

}  // namespace

std::unique_ptr<PreparedOperation> prepare_planned(
    const Operation& operation, const InputTable& inputs,
    const std::function<OnednnPlan(const dnnl::engine&)>& make_plan) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  try {
    const OnednnPlan plan = make_plan(engine);
    const Bytes between = bytes_between_rows(operation, inputs.data().rows);
    require_memory(operand_memory(operation) + between + plan.workspace(), operation.text());
    return std::make_unique<OnednnOperation>(operation, inputs, engine, plan);
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented) {
      throw UsageError(
          fmt::format("oneDNN has no kernel on this cpu for {}: {}", operation.text(), way_out(operation)));
    }
    throw FailedError(fmt::format("oneDNN failed to prepare {}: {}", operation.text(), error.what()));
  }
}

namespace {

using dnnl::memory;

memory::desc four_dimensional(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w,
                              const Conv2d& conv) {
  return image_tensor(n, c, h, w, conv.dtype, conv.layout);
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

}  // namespace

memory::desc convolution_result(const Conv2d& conv) {
  return four_dimensional(conv.n, conv.k, conv.out_h(), conv.out_w(), conv);
}

OnednnPlan plan_convolution(const Conv2d& conv, const dnnl::engine& engine, const PostOps& post_ops) {
  const memory::desc x = four_dimensional(conv.n, conv.c, conv.h, conv.w, conv);
  const memory::desc w = weight(conv);
  const memory::desc y = convolution_result(conv);
  // Channels last is kept, as in PyTorch; otherwise oneDNN chooses the layout. On plain nchw tensors oneDNN
  // falls back to matrix products over unfolded images: with reorders counted, 3.5 times as slow for a 3x3
  // layer with 64 channels on 56x56, and 13 times for a depthwise one (oneDNN 2.6, one AVX-512 core).
  const bool channels_last = conv.layout == Layout::nhwc;
  const ConvolutionShape shape{.x = channels_last ? x : any_layout(x),
                               .w = any_layout(w),
                               .y = channels_last ? y : any_layout(y),
                               .stride = {conv.stride_h, conv.stride_w},
                               .dilation = {conv.dilation_h - 1, conv.dilation_w - 1},
                               .padding = {conv.pad_h, conv.pad_w}};
  OnednnPlan plan{convolution_primitive(engine, conv.direction, shape, post_ops.list), {}};
  switch (conv.direction) {
    case Direction::fprop:
      plan.operands = {x, w};
      plan.operands.insert(plan.operands.end(), post_ops.operands.begin(), post_ops.operands.end());
      plan.operands.push_back(y);
      break;
    case Direction::dgrad: plan.operands = {y, w, x}; break;
    case Direction::wgrad: plan.operands = {x, y, w}; break;
  }
  return plan;
}

OnednnPlan plan_matmul(const Matmul& m, const dnnl::engine& engine, const PostOps& post_ops,
                       const RowStride& stride) {
  const auto type = storage_type(m.dtype);
  const auto matrix = [&](std::int64_t rows, std::int64_t columns, bool transposed) {
    const std::int64_t step = stride.of(transposed ? rows : columns);  // elements between stored rows
    const std::int64_t row_step = transposed ? 1 : step, column_step = transposed ? step : 1;
    if (m.batch == 1) return memory::desc({rows, columns}, type, memory::dims{row_step, column_step});
    const std::int64_t next_matrix = (transposed ? columns : rows) * step;
    return memory::desc({m.batch, rows, columns}, type, memory::dims{next_matrix, row_step, column_step});
  };
  MatmulShape shape{
      matrix(m.m, m.k, m.transpose_a), matrix(m.k, m.n, m.transpose_b), matrix(m.m, m.n, false), {}};
  if (m.bias) {
    shape.bias = m.batch == 1 ? memory::desc({1, m.n}, type, memory::dims{m.n, 1})
                              : memory::desc({1, 1, m.n}, type, memory::dims{m.n, m.n, 1});
  }
  OnednnPlan plan{matmul_primitive(engine, shape, post_ops.list), {}};
  for (const Primitive::Argument& argument : plan.primitive.arguments) plan.operands.push_back(argument.desc);
  return plan;
}

std::unique_ptr<PreparedOperation> prepare_onednn(const Operation& operation, const InputTable& inputs) {
  return prepare_planned(operation, inputs, [&](const dnnl::engine& engine) {
    const auto* conv = std::get_if<Conv2d>(&operation.parameters());
    if (conv != nullptr) return plan_convolution(*conv, engine);
    return plan_matmul(as_matmul(operation), engine, {}, inputs.data().rows);
  });
}

// Fused chains: a primitive whose post-ops are the later steps. Values between steps stay in registers, in
// f32 whatever the data type.

namespace {

memory::desc vector_tensor(const Elementwise& shape) {
  return {{shape.count}, storage_type(shape.dtype), memory::dims{1}};
}

memory::desc images_of(const BiasAdd& bias) {
  return image_tensor(bias.n, bias.c, bias.h, bias.w, bias.dtype, bias.layout);
}

/// The tensor that all steps pass on.
struct Passing {
  memory::desc plain;  ///< as it lies in memory
  memory::desc inner;  ///< inside the primitive; any layout if oneDNN chooses
};

// Elements without an image shape take that of the first bias in the chain, if any.
Passing passing_of(const Chain& chain) {
  const Operation::Parameters& first = chain.steps.front().parameters();
  if (const auto* conv = std::get_if<Conv2d>(&first)) {
    const memory::desc y = convolution_result(*conv);
    return {y, conv->layout == Layout::nhwc ? y : any_layout(y)};
  }
  if (const auto* pool = std::get_if<Pool2d>(&first)) {
    const memory::desc y = average_shape(*pool).y;
    return {y, y};
  }
  if (std::holds_alternative<Matmul>(first) || std::holds_alternative<Linear>(first)) {
    const Matmul matmul = as_matmul(chain.steps.front());
    const memory::dims rows = {matmul.m, matmul.n}, batch = {matmul.batch, matmul.m, matmul.n};
    const auto type = storage_type(matmul.dtype);
    const memory::desc c = matmul.batch == 1
                               ? memory::desc(rows, type, memory::dims{matmul.n, 1})
                               : memory::desc(batch, type, memory::dims{matmul.m * matmul.n, matmul.n, 1});
    return {c, c};
  }
  for (const Operation& step : chain.steps) {
    const auto* bias = std::get_if<BiasAdd>(&step.parameters());
    if (bias != nullptr) return {images_of(*bias), images_of(*bias)};
  }
  const memory::desc all = vector_tensor(std::get<Elementwise>(first));
  return {all, all};
}

// One number for each channel, or for each column of a product.
memory::desc channels_of(const BiasAdd& bias, const Chain& chain) {
  const Operation::Parameters& first = chain.steps.front().parameters();
  const auto type = storage_type(bias.dtype);
  if (std::holds_alternative<Matmul>(first) || std::holds_alternative<Linear>(first)) {
    return {{1, bias.c}, type, memory::dims{bias.c, 1}};
  }
  return {{1, bias.c, 1, 1}, type, memory::dims{bias.c, 1, 1, 1}};
}

void append_activation(dnnl::post_ops& list, ElementwiseKind kind) {
  const Activation activation = activation_of(kind).value_or(Activation{dnnl::algorithm::eltwise_relu});
#if DNNL_VERSION_MAJOR >= 3
  list.append_eltwise(activation.algorithm, activation.alpha, activation.beta);
#else
  list.append_eltwise(1.0f, activation.algorithm, activation.alpha, activation.beta);
#endif
}

dnnl::algorithm binary_algorithm(const Operation& step) {
  const auto* elementwise = std::get_if<Elementwise>(&step.parameters());
  const bool multiplies = elementwise != nullptr && elementwise->kind == ElementwiseKind::mul;
  return multiplies ? dnnl::algorithm::binary_mul : dnnl::algorithm::binary_add;
}

PostOps post_ops_of(const Chain& chain, const Passing& passing) {
  PostOps post_ops;
  for (std::size_t step = 1; step < chain.steps.size(); ++step) {
    const Operation& own = chain.steps[step];
    if (const auto* bias = std::get_if<BiasAdd>(&own.parameters())) {
      post_ops.operands.push_back(channels_of(*bias, chain));
      post_ops.list.append_binary(dnnl::algorithm::binary_add, post_ops.operands.back());
    } else if (is_activation(own)) {
      append_activation(post_ops.list, std::get<Elementwise>(own.parameters()).kind);
    } else {
      post_ops.operands.push_back(passing.plain);
      post_ops.list.append_binary(binary_algorithm(own), passing.inner);
    }
  }
  return post_ops;
}

// The primitive takes its operands as they lie in memory.
OnednnPlan as_they_lie(Primitive primitive) {
  OnednnPlan plan{std::move(primitive), {}};
  for (const Primitive::Argument& argument : plan.primitive.arguments) plan.operands.push_back(argument.desc);
  return plan;
}

OnednnPlan plan_fused(const Chain& chain, const dnnl::engine& engine) {
  const Operation& first = chain.steps.front();
  const Passing passing = passing_of(chain);
  const PostOps post_ops = post_ops_of(chain, passing);
  if (const auto* conv = std::get_if<Conv2d>(&first.parameters())) {
    return plan_convolution(*conv, engine, post_ops);
  }
  if (const auto* pool = std::get_if<Pool2d>(&first.parameters())) {
    return as_they_lie(average_primitive(engine, average_shape(*pool), Pass::forward, post_ops.list));
  }
  if (const auto* bias = std::get_if<BiasAdd>(&first.parameters())) {
    return as_they_lie(binary_primitive(engine, dnnl::algorithm::binary_add, passing.plain,
                                        channels_of(*bias, chain), post_ops.list));
  }
  if (std::holds_alternative<Elementwise>(first.parameters())) {
    return as_they_lie(
        binary_primitive(engine, binary_algorithm(first), passing.plain, passing.plain, post_ops.list));
  }
  return plan_matmul(as_matmul(first), engine, post_ops);
}

}  // namespace

std::unique_ptr<PreparedOperation> prepare_onednn_fused(const Operation& operation,
                                                        const InputTable& inputs) {
  return prepare_planned(operation, inputs, [&operation](const dnnl::engine& engine) {
    return plan_fused(std::get<Chain>(operation.parameters()), engine);
  });
}

}  // namespace jitterscope::cpu
