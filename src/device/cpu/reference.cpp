#include "device/cpu/reference.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/random.hpp"
#include "device/cpu/operations/cpu_operation.hpp"
#include "device/cpu/operations/prepare.hpp"
#include "jitterscope/error.hpp"
#include "operation/chain.hpp"
#include "operation/kinds_elementwise.hpp"
#include "operation/operation.hpp"

#ifdef _OPENMP
#include <omp.h>
#endif

namespace jitterscope {
namespace {

constexpr double kWorthThreads = 1e6;
constexpr double kAffordable = 2e9;  // multiply-adds: seconds, on a few cores

/// Most multiply-adds for one element.
struct Terms {
  double alone = 1;   // if computed by itself
  double in_all = 1;  // its share if all are computed one after another
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
// An element needs a whole row or column of scores, which serves as many as a head has.
Terms terms(const Attention& attention, std::size_t output) {
  const auto dim = static_cast<double>(attention.dim), keys = static_cast<double>(attention.keys),
             queries = static_cast<double>(attention.queries * attention.group());
  if (attention.pass != Pass::backward) return {2 * keys * dim, output == 0 ? 2 * keys : 2 * keys * dim};
  const double others = output == 0 ? keys : queries;
  return {5 * others * dim, 5 * others};
}
// For all other operations, computing everything costs no more than reading the operands.
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

// On a busy machine, threads wait for each other longer than a small operation takes.
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
  // A conversion rounds and the reference does not, so only the order of elements is left. With one channel
  // both orders are the same.
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

// False if all is known, or the element has just been computed by itself.
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

// Returns the extents of an output in the order of memory, as far as a single element is computed alone.
std::vector<std::int64_t> shape_of(const Operation& operation, std::int64_t total) {
  if (const auto* conv = std::get_if<Conv2d>(&operation.parameters())) {
    const auto maps = [&](std::int64_t images, std::int64_t c, std::int64_t h, std::int64_t w) {
      return conv->layout == Layout::nchw ? std::vector{images, c, h, w} : std::vector{images, h, w, c};
    };
    switch (conv->direction) {
      case Direction::fprop: return maps(conv->n, conv->k, conv->out_h(), conv->out_w());
      case Direction::dgrad: return maps(conv->n, conv->c, conv->h, conv->w);
      case Direction::wgrad: return maps(conv->k, conv->c / conv->groups, conv->r, conv->s);
    }
  }
  if (const auto* product = std::get_if<Matmul>(&operation.parameters())) {
    return {product->batch, product->m, product->n};
  }
  if (const auto* linear = std::get_if<Linear>(&operation.parameters())) return {linear->n, linear->out};
  return {total};
}

// Kernels handle borders and what is left behind their tiles apart.
std::vector<std::int64_t> corners_of(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> corners = {0};
  for (const std::int64_t extent : shape) {
    std::vector<std::int64_t> next;
    for (const std::int64_t corner : corners) {
      next.push_back(corner * extent);
      next.push_back(corner * extent + extent - 1);
    }
    corners = std::move(next);
  }
  return corners;
}

std::vector<std::int64_t> in_order(std::vector<std::int64_t> elements) {
  std::ranges::sort(elements);
  elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
  return elements;
}

// `share` is the share of all multiply-adds. With a smaller one the elements are among those of the whole
// sample if that is not all: a simulated GPU has computed no others.
std::vector<std::int64_t> sample_within(const Operation& operation, std::size_t output, std::size_t sharing) {
  constexpr std::int64_t kLeast = 256;
  const std::int64_t total = output_counts(operation).at(output);
  const double cost = cost_of_all(operation, output, total);
  const double share = kMostMultiplyAdds / static_cast<double>(sharing);
  std::vector<std::int64_t> elements;
  if (cost <= share) {
    for (std::int64_t i = 0; i < total; ++i) elements.push_back(i);
    return elements;
  }
  const bool are_all_known = cost <= kMostMultiplyAdds;
  const double alone = std::max(1.0, terms_of(operation, output).alone);
  const auto affordable = static_cast<std::int64_t>((are_all_known ? share : kMostMultiplyAdds) / alone);
  const std::int64_t count = std::min(std::max(affordable, kLeast), total);
  Random random(1);
  // The product of two numbers of elements would not fit into 64 bits.
  const auto begin_of = [&](std::int64_t stretch) {
    return total / count * stretch + total % count * stretch / count;
  };
  for (std::int64_t i = 0; i < count; ++i) {
    const auto length = static_cast<std::uint64_t>(begin_of(i + 1) - begin_of(i));
    elements.push_back(begin_of(i) + static_cast<std::int64_t>(random.below(length)));
  }
  if (!are_all_known && sharing > 1) {
    const std::int64_t step =
        std::max<std::int64_t>(1, std::min(static_cast<std::int64_t>(sharing), count / kLeast));
    for (std::int64_t i = 0; i * step < count; ++i) {
      elements[static_cast<std::size_t>(i)] = elements[static_cast<std::size_t>(i * step)];
    }
    elements.resize(static_cast<std::size_t>((count + step - 1) / step));
  }
  const std::vector<std::int64_t> corners = corners_of(shape_of(operation, total));
  elements.insert(elements.end(), corners.begin(), corners.end());
  return in_order(std::move(elements));
}

}  // namespace

std::vector<std::int64_t> reference_sample(const Operation& operation, std::size_t output) {
  const Chain* chain = std::get_if<Chain>(&operation.parameters());
  if (chain == nullptr) return sample_within(operation, output, 1);
  // All outputs of a chain share the budget of one operation.
  const std::vector<OperandInChain> outputs = outputs_of(*chain);
  const OperandInChain own = computed_by(*chain, outputs.at(output));
  std::vector<std::int64_t> elements = sample_within(chain->steps[own.step], own.number, outputs.size());
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
         !std::holds_alternative<Spin>(parameters) && !std::holds_alternative<Collective>(parameters);
}

namespace {

std::size_t count_of(const Operation& step, OperandRole role) {
  return static_cast<std::size_t>(std::ranges::count(step.operands(), role, &Operand::role));
}

bool is_copy(const Operation& step) { return std::holds_alternative<Copy>(step.parameters()); }
}  // namespace

bool passes_on(const Operation& step) {
  return is_copy(step) || std::holds_alternative<Convert>(step.parameters());
}

std::vector<OperandInChain> outputs_of(const Chain& chain) {
  std::vector<OperandInChain> outputs;
  for (const ChainOperand& place : chain_operands(chain)) {
    const std::size_t inputs = count_of(chain.steps[place.step], OperandRole::input);
    if (place.operand >= inputs) outputs.push_back({place.lane, place.step, place.operand - inputs});
  }
  return outputs;
}

OperandInChain computed_by(const Chain& chain, OperandInChain output) {
  while (passes_on(chain.steps[output.step]) && is_linked(chain, output.step)) {
    output = {output.lane, output.step - 1, 0};
  }
  return output;
}

std::int64_t index_where_computed(const Chain& chain, const OperandInChain& output, std::int64_t index) {
  for (std::size_t step = output.step; step > computed_by(chain, output).step; --step) {
    const auto* convert = std::get_if<Convert>(&chain.steps[step].parameters());
    if (convert != nullptr) index = source_index(*convert, index);
  }
  return index;
}

std::int64_t index_in_output(const Chain& chain, const OperandInChain& output, std::int64_t computed) {
  for (std::size_t step = computed_by(chain, output).step + 1; step <= output.step; ++step) {
    const auto* convert = std::get_if<Convert>(&chain.steps[step].parameters());
    if (convert != nullptr) computed = target_index(*convert, computed);
  }
  return computed;
}

bool is_needed_whole(const Chain& chain, std::size_t step) {
  for (std::size_t next = step + 1; next < chain.steps.size() && is_linked(chain, next); ++next) {
    if (!passes_on(chain.steps[next])) return true;
  }
  return false;
}

ChainReference::ChainReference(const Chain& chain, std::vector<std::vector<double>> inputs)
    : chain_(chain),
      operands_(chain_operands(chain)),
      outputs_(outputs_of(chain)),
      inputs_(std::move(inputs)),
      references_(chain.steps.size()) {}

double ChainReference::element(std::size_t output, std::int64_t index) {
  const OperandInChain place = computed_by(chain_, outputs_.at(output));
  return reference(place.lane, place.step)
      .element(place.number, index_where_computed(chain_, outputs_.at(output), index));
}

// A chain of copies writes millions of elements of one step: the computing step is looked up once.
void ChainReference::for_each(std::size_t output, const std::vector<std::int64_t>& indices,
                              const std::function<void(std::int64_t, double)>& look) {
  const OperandInChain& own = outputs_.at(output);
  const OperandInChain place = computed_by(chain_, own);
  Reference& computed = reference(place.lane, place.step);
  const bool is_passed_on = place.step != own.step;
  for (const std::int64_t index : indices) {
    const std::int64_t source = is_passed_on ? index_where_computed(chain_, own, index) : index;
    look(index, computed.element(place.number, source));
  }
}

// Outputs are asked for lane by lane, so only one lane's values are kept at a time.
Reference& ChainReference::reference(std::size_t lane, std::size_t step) {
  if (lane != lane_) {
    for (std::unique_ptr<Reference>& known : references_) known.reset();
    lane_ = lane;
  }
  if (references_[step]) return *references_[step];
  const Operation& operation = chain_.steps[step];
  std::vector<std::vector<double>> inputs(count_of(operation, OperandRole::input));
  if (is_linked(chain_, step)) {
    std::size_t before = step - 1;
    while (is_copy(chain_.steps[before]) && is_linked(chain_, before)) --before;
    inputs.front() = reference(lane, before).all(0);
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const ChainOperand& place = operands_[i];
    if (place.lane == lane && place.step == step) inputs[place.operand] = inputs_[i];
  }
  references_[step] = std::make_unique<Reference>(operation, std::move(inputs));
  return *references_[step];
}

}  // namespace jitterscope

// conv2d, matmul and linear in double precision, for dtype=f64 and as the reference of every device: plain
// sums in index order, without blocking or a library.

namespace jitterscope::cpu {
namespace {

class DoubleMatmul final : public CpuOperation {
 public:
  DoubleMatmul(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs), matmul_(as_matmul(operation)) {}

  void run(NativeQueue) override {
    const Matmul& m = matmul_;
#pragma omp parallel for collapse(2) schedule(static)
    for (std::int64_t batch = 0; batch < m.batch; ++batch) {
      for (std::int64_t row = 0; row < m.m; ++row) compute(batch, row, 0, m.n);
    }
  }

  bool compute_element(std::size_t, std::int64_t index) override {
    const std::int64_t column = index % matmul_.n, row = index / matmul_.n;
    compute(row / matmul_.m, row % matmul_.m, column, column + 1);
    return true;
  }

 private:
  void compute(std::int64_t batch, std::int64_t row, std::int64_t first, std::int64_t end) const {
    const Matmul& m = matmul_;
    const double* a = data<double>(0) + batch * m.m * m.k + row * (m.transpose_a ? 1 : m.k);
    const double* b = data<double>(1) + batch * m.k * m.n;
    const std::int64_t a_step = m.transpose_a ? m.m : 1;
    const std::int64_t b_inner = m.transpose_b ? 1 : m.n, b_outer = m.transpose_b ? m.k : 1;
    double* c = data<double>(m.bias ? 3 : 2) + (batch * m.m + row) * m.n;
    for (std::int64_t column = first; column < end; ++column) {
      double sum = m.bias ? data<double>(2)[column] : 0.0;
      for (std::int64_t i = 0; i < m.k; ++i) sum += a[i * a_step] * b[i * b_inner + column * b_outer];
      c[column] = sum;
    }
  }

  Matmul matmul_;
};

// Each output element gathers its own sum, so that any number of threads gives the same bits.
class DoubleConvolution final : public CpuOperation {
 public:
  DoubleConvolution(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs),
        conv_(std::get<Conv2d>(operation.parameters())),
        x_(strides(conv_.c, conv_.h, conv_.w, conv_.layout)),
        w_(strides(conv_.c / conv_.groups, conv_.r, conv_.s, conv_.layout)),
        y_(strides(conv_.k, conv_.out_h(), conv_.out_w(), conv_.layout)) {}

  void run(NativeQueue) override {
    const std::int64_t count = output_counts(operation()).front();
#pragma omp parallel for schedule(static)
    for (std::int64_t index = 0; index < count; ++index) compute(index);
  }

  bool compute_element(std::size_t, std::int64_t index) override {
    compute(index);
    return true;
  }

 private:
  void compute(std::int64_t index) const {
    double& element = data<double>(2)[index];
    switch (conv_.direction) {
      case Direction::fprop: {
        const auto [n, k, p, q] = position(index, conv_.k, conv_.out_h(), conv_.out_w(), conv_.layout);
        element = output_sum(n, k, p, q);
        break;
      }
      case Direction::dgrad: {
        const auto [n, c, h, w] = position(index, conv_.c, conv_.h, conv_.w, conv_.layout);
        element = input_sum(n, c, h, w);
        break;
      }
      case Direction::wgrad: {
        const auto [k, c, r, s] = position(index, group_inputs(), conv_.r, conv_.s, conv_.layout);
        element = weight_sum(k, c, r, s);
        break;
      }
    }
  }

  std::int64_t group_inputs() const { return conv_.c / conv_.groups; }
  std::int64_t group_outputs() const { return conv_.k / conv_.groups; }

  double output_sum(std::int64_t n, std::int64_t k, std::int64_t p, std::int64_t q) const {
    const double *x = data<double>(0), *w = data<double>(1);
    const std::int64_t first = k / group_outputs() * group_inputs();
    double sum = 0.0;
    for (std::int64_t c = 0; c < group_inputs(); ++c) {
      for (std::int64_t r = 0; r < conv_.r; ++r) {
        const std::int64_t h = p * conv_.stride_h - conv_.pad_h + r * conv_.dilation_h;
        if (h < 0 || h >= conv_.h) continue;
        for (std::int64_t s = 0; s < conv_.s; ++s) {
          const std::int64_t column = q * conv_.stride_w - conv_.pad_w + s * conv_.dilation_w;
          if (column < 0 || column >= conv_.w) continue;
          sum += x[x_.at(n, first + c, h, column)] * w[w_.at(k, c, r, s)];
        }
      }
    }
    return sum;
  }

  double input_sum(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t column) const {
    const double *dy = data<double>(0), *w = data<double>(1);
    const std::int64_t first = c / group_inputs() * group_outputs();
    double sum = 0.0;
    for (std::int64_t r = 0; r < conv_.r; ++r) {
      const std::int64_t down = h + conv_.pad_h - r * conv_.dilation_h;
      if (down < 0 || down % conv_.stride_h != 0 || down / conv_.stride_h >= conv_.out_h()) continue;
      for (std::int64_t s = 0; s < conv_.s; ++s) {
        const std::int64_t right = column + conv_.pad_w - s * conv_.dilation_w;
        if (right < 0 || right % conv_.stride_w != 0 || right / conv_.stride_w >= conv_.out_w()) continue;
        for (std::int64_t k = first; k < first + group_outputs(); ++k) {
          sum += dy[y_.at(n, k, down / conv_.stride_h, right / conv_.stride_w)] *
                 w[w_.at(k, c % group_inputs(), r, s)];
        }
      }
    }
    return sum;
  }

  double weight_sum(std::int64_t k, std::int64_t c, std::int64_t r, std::int64_t s) const {
    const double *x = data<double>(0), *dy = data<double>(1);
    const std::int64_t channel = k / group_outputs() * group_inputs() + c;
    const std::int64_t rows = conv_.out_h(), columns = conv_.out_w();
    double sum = 0.0;
    for (std::int64_t n = 0; n < conv_.n; ++n) {
      for (std::int64_t p = 0; p < rows; ++p) {
        const std::int64_t h = p * conv_.stride_h - conv_.pad_h + r * conv_.dilation_h;
        if (h < 0 || h >= conv_.h) continue;
        for (std::int64_t q = 0; q < columns; ++q) {
          const std::int64_t column = q * conv_.stride_w - conv_.pad_w + s * conv_.dilation_w;
          if (column < 0 || column >= conv_.w) continue;
          sum += x[x_.at(n, channel, h, column)] * dy[y_.at(n, k, p, q)];
        }
      }
    }
    return sum;
  }

  Conv2d conv_;
  Strides x_, w_, y_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_double(const Operation& operation, const InputTable& inputs) {
  if (operation.kind() == "conv2d") return std::make_unique<DoubleConvolution>(operation, inputs);
  return std::make_unique<DoubleMatmul>(operation, inputs);
}

}  // namespace jitterscope::cpu
