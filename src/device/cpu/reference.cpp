#include "device/cpu/reference.hpp"

#include <fmt/format.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include <algorithm>
#include <utility>

#include "base/random.hpp"
#include "device/cpu/chain_reference.hpp"
#include "device/cpu/operations/prepare.hpp"
#include "jitterscope/error.hpp"
#include "operation/chain.hpp"

namespace jitterscope {
namespace {

constexpr double kWorthThreads = 1e6;
constexpr double kAffordable = 2e9;  // multiply-adds: seconds, on a few cores

/// Multiply-adds behind an element, at most.
struct Terms {
  double alone = 1;   // computed by itself
  double in_all = 1;  // its share where all are computed one after another
};

Terms alike(std::int64_t count) { return {static_cast<double>(count), static_cast<double>(count)}; }

Terms terms(const Conv2d& conv, std::size_t) {
  switch (conv.direction) {
    case Direction::fprop: return alike(conv.c / conv.groups * conv.r * conv.s);
    case Direction::dgrad: return alike(conv.k / conv.groups * conv.r * conv.s);
    case Direction::wgrad: return alike(conv.n * conv.out_h() * conv.out_w());
  }
  return {};
}
Terms terms(const Matmul& matmul, std::size_t) { return alike(matmul.k); }
Terms terms(const Linear& linear, std::size_t) { return alike(linear.in); }
// A row, or a column, of scores is computed for one element, and serves as many as a head has.
Terms terms(const Attention& attention, std::size_t output) {
  const auto dim = static_cast<double>(attention.dim), keys = static_cast<double>(attention.keys),
             queries = static_cast<double>(attention.queries * attention.group());
  if (attention.pass != Pass::backward) return {2 * keys * dim, output == 0 ? 2 * keys : 2 * keys * dim};
  const double others = output == 0 ? keys : queries;
  return {5 * others * dim, 5 * others};
}
// Of the others the whole costs no more than reading the operands.
template <class Shape>
Terms terms(const Shape&, std::size_t) {
  return {};
}

Terms terms_of(const Operation& operation, std::size_t output) {
  return std::visit([output](const auto& shape) { return terms(shape, output); }, operation.parameters());
}

std::vector<std::int64_t> output_counts(const Operation& operation) {
  std::vector<std::int64_t> counts;
  for (const Operand& operand : operation.operands()) {
    if (operand.role == OperandRole::output) counts.push_back(operand.count);
  }
  return counts;
}

double cost_of_all(const Operation& operation, std::size_t output, std::int64_t count) {
  return static_cast<double>(count) * std::max(1.0, terms_of(operation, output).in_all);
}

// On a busy machine threads wait for each other longer than a small operation takes.
void run_on_threads(PreparedOperation& operation, bool all) {
#ifdef _OPENMP
  const int threads = omp_get_max_threads();
  if (!all) omp_set_num_threads(1);
  operation.run(nullptr);
  omp_set_num_threads(threads);
#else
  (void)all;
  operation.run(nullptr);
#endif
}

Operation in_double(const Operation& operation) {
  if (const Aten* aten = std::get_if<Aten>(&operation.parameters())) {
    throw UsageError(aten->name + " has no reference to verify with; leave out --verify");
  }
  if (std::holds_alternative<CudaKernel>(operation.parameters())) {
    throw UsageError("a kernel has nothing to verify with but the one that it names with reference=");
  }
  if (std::holds_alternative<Spin>(operation.parameters())) {
    throw UsageError("spin has no output to verify; leave out --verify");
  }
  if (const Copy* copy = std::get_if<Copy>(&operation.parameters()))
    return Operation(Copy{.bytes = copy->bytes});
  // A conversion rounds to its type, and the reference rounds nothing: only the order of elements is left. In
  // one channel both orders are the same.
  if (const Convert* convert = std::get_if<Convert>(&operation.parameters())) {
    Convert order = *convert;
    order.dtype = order.to_dtype = DataType::f64;
    if (order.from == order.to) order.to = Layout::nhwc;
    return Operation(order);
  }
  return operation.with_dtype(DataType::f64);
}

}  // namespace

Reference::Reference(const Operation& operation, std::vector<std::vector<double>> inputs)
    : operation_(operation), inputs_(inputs.size()) {
  if (const Chain* chain = std::get_if<Chain>(&operation.parameters())) {
    chain_ = std::make_unique<ChainReference>(*chain, std::move(inputs));
    return;
  }
  static const cpu::InputTable kZeros(InputData{.kind = DataKind::zeros});
  prepared_ = cpu::prepare(in_double(operation), kZeros);
  loops_ = dynamic_cast<cpu::CpuOperation*>(prepared_.get());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    loops_->write_operand(i, std::exchange(inputs[i], {}));
  }
  const std::vector<std::int64_t> counts = output_counts(operation);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    cost_ = std::max(cost_, cost_of_all(operation, i, counts[i]));
  }
}
Reference::~Reference() = default;

double Reference::element(std::size_t output, std::int64_t index) {
  if (chain_) return chain_->element(output, index);
  const std::size_t operand = inputs_ + output;
  if (needs_all(operand, index)) compute_all();
  return loops_->read_element(operand, index);
}

void Reference::for_each_sampled(std::size_t output, const std::function<void(std::int64_t, double)>& look) {
  if (chain_) return chain_->for_each(output, reference_sample(operation_, output), look);
  const std::size_t operand = inputs_ + output;
  if (needs_all(operand, 0)) compute_all();
  if (is_whole_) return loops_->for_each_element(operand, look);
  for (const std::int64_t index : reference_sample(operation_, output)) look(index, element(output, index));
}

// Where that is not so, the element has been computed.
bool Reference::needs_all(std::size_t operand, std::int64_t index) {
  return !is_whole_ && (cost_ <= kMostMultiplyAdds || !loops_->compute_element(operand, index));
}

std::vector<double> Reference::all(std::size_t output) {
  compute_all();
  return loops_->read_operand(inputs_ + output);
}

void Reference::compute_all() {
  if (!is_whole_) run_on_threads(*loops_, cost_ >= kWorthThreads);
  is_whole_ = true;
}

std::int64_t terms_per_element(const Operation& operation, std::size_t output) {
  return static_cast<std::int64_t>(terms_of(operation, output).alone);
}

namespace {

std::vector<std::int64_t> sample_within(const Operation& operation, std::size_t output,
                                        double multiply_adds) {
  const std::int64_t total = output_counts(operation).at(output);
  std::vector<std::int64_t> elements;
  if (cost_of_all(operation, output, total) <= multiply_adds) {
    for (std::int64_t i = 0; i < total; ++i) elements.push_back(i);
    return elements;
  }
  Random random(1);
  const double alone = std::max(1.0, terms_of(operation, output).alone);
  const std::int64_t count = std::max<std::int64_t>(static_cast<std::int64_t>(multiply_adds / alone), 256);
  for (std::int64_t i = 0; i < count; ++i) {
    elements.push_back(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(total))));
  }
  return elements;
}

}  // namespace

std::vector<std::int64_t> reference_sample(const Operation& operation, std::size_t output) {
  const Chain* chain = std::get_if<Chain>(&operation.parameters());
  if (chain == nullptr) return sample_within(operation, output, kMostMultiplyAdds);
  // All outputs of a chain together get what one operation gets.
  const std::vector<OperandInChain> outputs = outputs_of(*chain);
  const OperandInChain own = computed_by(*chain, outputs.at(output));
  std::vector<std::int64_t> elements = sample_within(chain->steps[own.step], own.number,
                                                     kMostMultiplyAdds / static_cast<double>(outputs.size()));
  for (std::int64_t& index : elements) index = index_in_output(*chain, outputs[output], index);
  return elements;
}

bool can_be_computed_whole(const Operation& operation) {
  return cost_of_all(operation, 0, output_counts(operation).front()) <= kAffordable;
}

bool has_reference(const Operation& operation) {
  const Operation::Parameters& parameters = operation.parameters();
  if (const Chain* chain = std::get_if<Chain>(&parameters)) {
    for (std::size_t i = 0; i < chain->steps.size(); ++i) {
      const Operation& step = chain->steps[i];
      if (step.operands().empty()) continue;
      if (!has_reference(step)) return false;
      const double cost =
          is_needed_whole(*chain, i) ? cost_of_all(step, 0, output_counts(step).front()) : 0.0;
      if (cost * static_cast<double>(chain->lanes) > kAffordable) return false;
    }
    return true;
  }
  return !std::holds_alternative<Aten>(parameters) && !std::holds_alternative<CudaKernel>(parameters) &&
         !std::holds_alternative<Spin>(parameters);
}

}  // namespace jitterscope
