#include "device/chain.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/names.hpp"

namespace jitterscope {
namespace {

std::string each_once(const std::vector<std::unique_ptr<PreparedOperation>>& steps,
                      std::string (PreparedOperation::*text)() const, const char* between) {
  std::vector<std::string> texts;
  for (const auto& step : steps) {
    std::string own = ((*step).*text)();
    if (!own.empty() && std::ranges::find(texts, own) == texts.end()) texts.push_back(std::move(own));
  }
  return joined(texts, between);
}

}  // namespace

PreparedChain::PreparedChain(const Operation& operation, const InputData& data, const PrepareStep& prepare)
    : operation_(operation), operands_(chain_operands(chain())) {
  if (chain().fused) {
    Chain lane = chain();
    lane.lanes = 1;
    lane_operands_ = chain_operands(lane);
    prepare_lanes(Operation(lane), data, prepare);
  } else {
    prepare_steps(data, prepare);
  }
  // Preparing a step also filled inputs that lie in another step's output.
  PreparedChain::poison_outputs();
}

void PreparedChain::prepare_lanes(const Operation& lane, const InputData& data, const PrepareStep& prepare) {
  for (std::size_t number = 0; number < static_cast<std::size_t>(chain().lanes); ++number) {
    InputData own = data;
    own.seed += number;
    own.shared.clear();
    steps_.push_back(prepare(lane, own, number, 0));
  }
}

void PreparedChain::prepare_steps(const InputData& data, const PrepareStep& prepare) {
  const std::size_t count = chain().steps.size();
  std::uint64_t seeds = 0;
  for (std::size_t lane = 0; lane < static_cast<std::size_t>(chain().lanes); ++lane) {
    for (std::size_t number = 0; number < count; ++number) {
      InputData own = data;
      own.seed += seeds;
      // A conversion draws the same data as the step after it would, so that both together can be compared
      // with the step alone.
      const bool is_in_front =
          number + 1 < count && std::holds_alternative<Convert>(chain().steps[number].parameters());
      if (!is_in_front) ++seeds;
      own.shared.clear();
      if (is_of_many_launches(chain())) own.placement.reset();  // each operand would take a page of 2 MiB
      if (is_linked(chain(), number)) {
        own.shared.push_back({0, steps_.back().get(), first_output(chain().steps[number - 1])});
      }
      steps_.push_back(prepare(chain().steps[number], own, lane, number));
    }
  }
}

// Last to first, since a step may lie in the memory of the one before it.
PreparedChain::~PreparedChain() {
  while (!steps_.empty()) steps_.pop_back();
}

std::string PreparedChain::provider() const { return each_once(steps_, &PreparedOperation::provider, "+"); }

std::string PreparedChain::algorithm() const {
  return each_once(steps_, &PreparedOperation::algorithm, "; ");
}

Bytes PreparedChain::workspace() const {
  Bytes sum;
  for (const auto& step : steps_) sum += step->workspace();
  return sum;
}

bool PreparedChain::is_stand_in() const {
  return std::ranges::any_of(steps_, [](const auto& step) { return step->is_stand_in(); });
}

bool PreparedChain::runs_reference_loops() const {
  return std::ranges::any_of(steps_, [](const auto& step) { return step->runs_reference_loops(); });
}

void PreparedChain::check_launches() {
  for (const auto& step : steps_) step->check_launches();
}

void PreparedChain::run(NativeQueue queue) {
  for (const auto& step : steps_) step->run(queue);
}

// If a chain has more launches than a queue holds, later ones wait for the first to end.
bool PreparedChain::waits_for_queue() const {
  return chain().wait != HostWait::none || is_of_many_launches(chain()) ||
         std::ranges::any_of(steps_, [](const auto& step) { return step->waits_for_queue(); });
}

bool PreparedChain::produce_inputs(NativeQueue queue) {
  return std::ranges::all_of(steps_, [queue](const auto& step) { return step->produce_inputs(queue); });
}

std::vector<MemoryRegion> PreparedChain::memory() const {
  std::vector<MemoryRegion> all;
  for (const auto& step : steps_) {
    const std::vector<MemoryRegion> own = step->memory();
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

void PreparedChain::poison_outputs() {
  for (const auto& step : steps_) step->poison_outputs();
}

std::vector<double> PreparedChain::read_operand(std::size_t index) {
  const ChainOperand& place = operands_.at(index);
  if (!chain().fused) return step(place.lane, place.step).read_operand(place.operand);
  const auto own = std::ranges::find_if(lane_operands_, [&place](const ChainOperand& each) {
    return each.step == place.step && each.operand == place.operand;
  });
  return steps_[place.lane]->read_operand(static_cast<std::size_t>(own - lane_operands_.begin()));
}

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

/// Images that a step writes.
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

// All biases must add to the same channels: those of the chain's first step, or of the first bias.
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

// The steps are pointwise, except for one pooling as the first or the last.
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
