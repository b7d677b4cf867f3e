#include "device/fusion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace jitterscope {
namespace {

bool is_matrix_product(const Operation& operation) {
  return std::holds_alternative<Matmul>(operation.parameters()) ||
         std::holds_alternative<Linear>(operation.parameters());
}

bool is_forward_convolution(const Operation& operation) {
  const auto* conv = std::get_if<Conv2d>(&operation.parameters());
  return conv != nullptr && conv->direction == Direction::fprop;
}

bool is_forward_pooling(const Operation& operation) {
  const auto* pool = std::get_if<Pool2d>(&operation.parameters());
  return pool != nullptr && pool->pass == Pass::forward;
}

bool is_average(const Operation& operation) {
  return is_forward_pooling(operation) && std::get<Pool2d>(operation.parameters()).kind == PoolKind::average;
}

/// Images, as a step writes them.
struct Images {
  std::int64_t n, c, h, w;
  Layout layout;

  bool has_channels_last() const { return layout == Layout::nhwc || h * w == 1; }
};

bool lie_alike(const Images& a, const Images& b) {
  const bool same_shape = a.n == b.n && a.c == b.c && a.h == b.h && a.w == b.w;
  return same_shape && (a.layout == b.layout || a.h * a.w == 1 || a.c == 1);
}

std::optional<Images> images_of(const Operation& writer) {
  if (const auto* conv = std::get_if<Conv2d>(&writer.parameters())) {
    return Images{conv->n, conv->k, conv->out_h(), conv->out_w(), conv->layout};
  }
  if (const auto* pool = std::get_if<Pool2d>(&writer.parameters())) {
    return Images{pool->n, pool->c, pool->out_h(), pool->out_w(), pool->layout};
  }
  if (const auto* bias = std::get_if<BiasAdd>(&writer.parameters())) {
    return Images{bias->n, bias->c, bias->h, bias->w, bias->layout};
  }
  return std::nullopt;
}

std::optional<std::int64_t> columns_of(const Operation& writer) {
  if (const auto* linear = std::get_if<Linear>(&writer.parameters())) return linear->out;
  const auto* matmul = std::get_if<Matmul>(&writer.parameters());
  if (matmul == nullptr || matmul->batch > 1) return std::nullopt;
  return matmul->n;
}

bool has_bias(const Operation& product) {
  const auto* linear = std::get_if<Linear>(&product.parameters());
  return linear != nullptr ? linear->bias : std::get<Matmul>(product.parameters()).bias;
}

std::string engine_named_by(const Operation& operation) {
  return std::visit(
      [](const auto& shape) -> std::string {
        if constexpr (requires { shape.engine; }) return shape.engine;
        return {};
      },
      operation.parameters());
}

std::string step_name(const Chain& chain, std::size_t step) {
  return fmt::format("step {} ({})", step + 1, chain.steps[step].text());
}

// All biases have to be of the same channels: those of what the chain begins with, or of the first bias.
std::string reason_of_biases(const Chain& chain) {
  const Operation* owner = &chain.steps.front();
  for (std::size_t step = 1; step < chain.steps.size(); ++step) {
    const auto* bias = std::get_if<BiasAdd>(&chain.steps[step].parameters());
    if (bias == nullptr) continue;
    if (std::holds_alternative<Elementwise>(owner->parameters())) owner = &chain.steps[step];
    if (adds_to_channels_of(*bias, *owner)) continue;
    return fmt::format("{} is not for the channels of {}", step_name(chain, step), owner->text());
  }
  return {};
}

std::string reason_of_rest(const Chain& chain, const char* after) {
  for (std::size_t step = 1; step < chain.steps.size(); ++step) {
    if (is_pointwise(chain.steps[step])) continue;
    return fmt::format(
        "{} is not one of relu, relu6, sigmoid, tanh, silu, gelu, add, mul and bias_add, which may follow {}",
        step_name(chain, step), after);
  }
  return reason_of_biases(chain);
}

std::string reason_of_engine(const Chain& chain) {
  const std::string engine = engine_named_by(chain.steps.front());
  if (engine.empty()) return {};
  return fmt::format("engine={} is a way to run {} alone", engine, chain.steps.front().kind());
}

std::string reason_no_epilogue(const Chain& chain) {
  const Operation& product = chain.steps.front();
  std::size_t step = 1;
  if (const auto* bias = std::get_if<BiasAdd>(&chain.steps[step].parameters())) {
    if (has_bias(product)) return step_name(chain, step) + " is a second bias, and an epilogue adds one";
    if (!adds_to_channels_of(*bias, product)) {
      return step_name(chain, step) + " does not add one number to each column of the product";
    }
    ++step;
  }
  if (step < chain.steps.size()) {
    const auto* last = std::get_if<Elementwise>(&chain.steps[step].parameters());
    const bool is_known =
        last != nullptr && (last->kind == ElementwiseKind::relu || last->kind == ElementwiseKind::gelu);
    if (!is_known || step + 1 < chain.steps.size()) {
      return step_name(chain, is_known ? step + 1 : step) +
             " is more than cuBLASLt's epilogue does: a bias, then relu or gelu";
    }
    const bool is_short = last->dtype == DataType::f16 || last->dtype == DataType::bf16;
    if (last->kind == ElementwiseKind::gelu && !is_short) {
      return step_name(chain, step) +
             " is further from cuBLASLt's gelu, an approximation by tanh, than rounding explains; take dtype=f16 or "
             "bf16";
    }
  }
  if (product.dtype() == DataType::f64)
    return "cuBLASLt has epilogues in f32, tf32, f16 and bf16, not in f64";
  return reason_of_engine(chain);
}

std::string reason_no_convolution_graph(const Chain& chain) {
  if (chain.steps.front().dtype() == DataType::f64) {
    return "cuDNN fuses convolutions of f32, tf32, f16 and bf16, not of f64";
  }
  if (std::string reason = reason_of_rest(chain, "a convolution"); !reason.empty()) return reason;
  return reason_of_engine(chain);
}

// One pooling, before or behind all of the rest.
std::string reason_no_generated_kernel(const Chain& chain) {
  const std::size_t last = chain.steps.size() - 1;
  for (std::size_t step = 0; step <= last; ++step) {
    const Operation& own = chain.steps[step];
    if (is_pointwise(own)) continue;
    if (!is_forward_pooling(own)) {
      return fmt::format(
          "{} is neither pointwise (relu, relu6, sigmoid, tanh, silu, gelu, add, mul, bias_add) nor a pooling; "
          "before pointwise steps there may be a conv2d (fprop), a matmul or a linear as well",
          step_name(chain, step));
    }
    const bool is_at_an_end = step == 0 || step == last;
    if (!is_at_an_end || (step == last && is_forward_pooling(chain.steps.front()))) {
      return step_name(chain, step) + " is not the only pooling, or neither the first nor the last step";
    }
  }
  return {};
}

}  // namespace

bool is_activation(const Operation& operation) {
  using enum ElementwiseKind;
  const auto* elementwise = std::get_if<Elementwise>(&operation.parameters());
  return elementwise != nullptr && elementwise->kind >= relu && elementwise->kind <= gelu;
}

bool is_pointwise(const Operation& operation) {
  if (std::holds_alternative<BiasAdd>(operation.parameters()) || is_activation(operation)) return true;
  const auto* elementwise = std::get_if<Elementwise>(&operation.parameters());
  return elementwise != nullptr &&
         (elementwise->kind == ElementwiseKind::add || elementwise->kind == ElementwiseKind::mul);
}

bool adds_to_channels_of(const BiasAdd& bias, const Operation& writer) {
  const Images own{bias.n, bias.c, bias.h, bias.w, bias.layout};
  if (const auto images = images_of(writer)) return lie_alike(own, *images);
  const auto columns = columns_of(writer);
  return columns && *columns == bias.c && own.has_channels_last();
}

GpuFusion gpu_fusion_of(const Chain& chain) {
  if (is_matrix_product(chain.steps.front())) return GpuFusion::product_epilogue;
  return is_forward_convolution(chain.steps.front()) ? GpuFusion::convolution_graph
                                                     : GpuFusion::generated_kernel;
}

std::string reason_not_fusible_on_gpu(const Chain& chain) {
  switch (gpu_fusion_of(chain)) {
    case GpuFusion::product_epilogue: return reason_no_epilogue(chain);
    case GpuFusion::convolution_graph: return reason_no_convolution_graph(chain);
    case GpuFusion::generated_kernel: break;
  }
  return reason_no_generated_kernel(chain);
}

std::string reason_not_fusible_on_cpu(const Chain& chain) {
  const Operation& first = chain.steps.front();
  const bool is_binary = is_pointwise(first) && !is_activation(first);
  if (!is_binary && !is_matrix_product(first) && !is_forward_convolution(first) && !is_average(first)) {
    return step_name(chain, 0) +
           " is not one of conv2d (fprop), matmul, linear, avg_pool, add, mul and bias_add, which oneDNN has fast "
           "with post-ops";
  }
  for (const Operation& step : chain.steps) {
    if (step.dtype() == DataType::f32 || step.dtype() == DataType::bf16) continue;
    return fmt::format("oneDNN fuses f32 and bf16, not {}", to_string(step.dtype()));
  }
  return reason_of_rest(chain, "it in oneDNN's post-ops");
}

}  // namespace jitterscope
