#include "measure/verify.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "device/collective.hpp"
#include "device/cpu/reference.hpp"
#include "jitterscope/error.hpp"
#include "measure/round_timer.hpp"
#include "operation/chain.hpp"
#include "operation/cuda_kernel.hpp"
#include "operation/operation.hpp"
#include "operation/samples.hpp"

namespace jitterscope {

double verification_tolerance(DataType dtype) {
  switch (dtype) {
    case DataType::i32:
    case DataType::i64: return 0.0;
    case DataType::f64: return 1e-12;
    case DataType::f32: return 1e-5;
    case DataType::tf32: return 1e-3;
    case DataType::f16: return 2e-3;
    case DataType::bf16: return 1e-2;
  }
  return 0.0;
}

namespace {

// Returns the error as a share of its limit: at most 1 passes; NaN if something was not written.
double used_up(const Verification& verification) {
  return verification.relative_error == 0.0 ? 0.0 : verification.relative_error / verification.tolerance;
}

bool is_poison(DataType dtype, double value) {
  // All bits set is NaN in every floating point type, and minus one among indices.
  return holds_indices(dtype) ? !(value >= 0.0) : std::isnan(value);
}

// The coarser type counts: statistics are f32 beside f16 tensors, and a logsumexp is f32 beside f64 ones.
// Indices must be exact.
double tolerance_of(const Operation& operation, const Operand& output) {
  if (holds_indices(output.dtype)) return 0.0;
  const double tolerance =
      std::max(verification_tolerance(operation.dtype()), verification_tolerance(output.dtype));
  // Each step of a chain carries on the rounding of the one before.
  const auto* chain = std::get_if<Chain>(&operation.parameters());
  return chain == nullptr ? tolerance : tolerance * static_cast<double>(chain->steps.size());
}

// True for operations that keep every number as it is: copying, clamping, choosing.
bool is_exact(const Operation& operation) {
  const auto* elementwise = std::get_if<Elementwise>(&operation.parameters());
  if (elementwise != nullptr) {
    return elementwise->kind == ElementwiseKind::relu || elementwise->kind == ElementwiseKind::relu6;
  }
  const auto* pool = std::get_if<Pool2d>(&operation.parameters());
  const auto* convert = std::get_if<Convert>(&operation.parameters());
  return std::holds_alternative<Copy>(operation.parameters()) ||
         (convert != nullptr && convert->dtype == convert->to_dtype) ||
         (pool != nullptr && pool->kind == PoolKind::max && pool->pass == Pass::forward);
}

// True if earlier steps of the chain round what this output's step reads.
bool follows_rounding(const Operation& operation, std::size_t output) {
  const auto* chain = std::get_if<Chain>(&operation.parameters());
  if (chain == nullptr) return false;
  for (std::size_t step = outputs_of(*chain).at(output).step; is_linked(*chain, step); --step) {
    if (!is_exact(chain->steps[step - 1])) return true;
  }
  return false;
}

Verification compare(const Operation& operation, std::size_t number, const Operand& operand,
                     const std::vector<double>& output, Reference& reference) {
  Verification result;
  result.tolerance = tolerance_of(operation, operand);
  result.total = std::ssize(output);
  result.unwritten = std::count_if(output.begin(), output.end(),
                                   [&](double value) { return is_poison(operand.dtype, value); });
  // If rounding makes two numbers equal, no index can tell the larger one: only check that it is written.
  if (holds_indices(operand.dtype) && follows_rounding(operation, number)) {
    result.passed = result.unwritten == 0;
    return result;
  }
  double difference = 0.0, norm = 0.0;
  reference.for_each_sampled(number, [&](std::int64_t index, double expected) {
    const double error = output[static_cast<std::size_t>(index)] - expected;
    difference += error * error;
    norm += expected * expected;
    ++result.checked;
  });
  // An expected output of zeros only (relu of zeros) has no relative error: the difference itself counts.
  result.relative_error = std::sqrt(difference / (norm > 0.0 ? norm : 1.0));
  result.passed = result.unwritten == 0 && result.relative_error <= result.tolerance;
  return result;
}

// Widens the tolerance for inputs rounded to another type than the reference's.
void allow_for(DataType inputs, Verification& verification) {
  verification.tolerance = std::max(verification.tolerance, verification_tolerance(inputs));
  verification.passed = verification.unwritten == 0 && verification.relative_error <= verification.tolerance;
}

// Adds up the counts; keeps the error that is nearest to its limit, or furthest past it.
void add_output(Verification& all, const Verification& one) {
  if (!(used_up(one) <= used_up(all)) && !std::isnan(all.relative_error)) {
    all.relative_error = one.relative_error;
    all.tolerance = one.tolerance;
  }
  all.checked += one.checked;
  all.total += one.total;
  all.unwritten += one.unwritten;
  all.passed = all.passed && one.passed;
}

std::vector<std::vector<double>> inputs_of(PreparedOperation& prepared) {
  const std::vector<Operand> operands = prepared.operation().operands();
  std::vector<std::vector<double>> inputs;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].role == OperandRole::input) inputs.push_back(prepared.read_operand(i));
  }
  return inputs;
}

// A host that is slow to launch would hide that a step does not wait for the one before it: in a held queue
// all of a chain is there when its first step starts. Libraries load a kernel at its first launch, which may
// wait for the GPU and so for the release: that launch comes before the queue is held.
void launch_into_poison(Queue& queue, PreparedOperation& prepared) {
  const bool is_chain = std::holds_alternative<Chain>(prepared.operation().parameters());
  QueueHold hold(queue);
  if (is_chain && !prepared.waits_for_queue()) {
    queue.launch(prepared);
    queue.wait();
    prepared.poison_outputs();
    hold.begin();
  } else {
    prepared.poison_outputs();
  }
  queue.launch(prepared);
  hold.release();
  queue.wait();
}

}  // namespace

namespace {

// Each element counts: among a million right ones, the norm of one wrong one is within what rounding does.
Verification verify_collective(Queue& queue, PreparedOperation& prepared) {
  const auto& collective = std::get<Collective>(prepared.operation().parameters());
  const std::optional<RankData> own = prepared.rank_data();
  if (!own) {
    throw UsageError(prepared.operation().text() +
                     ": its input is what another operation wrote, which no rank knows of the others; verify "
                     "it with an input of its own");
  }
  const RankData data = *own;
  launch_into_poison(queue, prepared);
  const std::vector<Operand> operands = prepared.operation().operands();
  const std::vector<double> found = prepared.read_operand(operands.size() - 1);
  Verification result;
  result.tolerance = collective_tolerance(collective);
  result.total = std::ssize(found);
  std::int64_t wrong = 0;
  double difference = 0.0, norm = 0.0;
  for (std::int64_t i = 0; i < result.total; ++i) {
    const std::optional<double> expected = collective_result(collective, data, i);
    if (!expected) continue;
    const double error = found[static_cast<std::size_t>(i)] - *expected;
    ++result.checked;
    result.unwritten += std::isnan(error) ? 1 : 0;
    wrong += std::abs(error) <= result.tolerance * std::abs(*expected) ? 0 : 1;
    difference += std::isnan(error) ? 0.0 : error * error;
    norm += *expected * *expected;
  }
  result.relative_error = std::sqrt(difference / (norm > 0.0 ? norm : 1.0));
  result.wrong = wrong;
  result.passed = wrong == 0;
  result.same_formula = prepared.runs_reference_loops();
  return result;
}

}  // namespace

Verification verify(Queue& queue, PreparedOperation& prepared, PreparedOperation& inputs) {
  const Operation& operation = prepared.operation();
  if (std::holds_alternative<Collective>(operation.parameters())) return verify_collective(queue, prepared);
  const std::vector<Operand> operands = operation.operands();
  if (operands.empty()) throw UsageError(operation.text() + ": there is no output to verify");
  launch_into_poison(queue, prepared);
  const bool are_own = &prepared == &inputs;
  std::vector<std::vector<double>> values = inputs_of(inputs);
  const std::size_t first = values.size();
  Reference reference(operation, std::move(values));
  std::optional<Verification> result;
  for (std::size_t i = first; i < operands.size(); ++i) {
    if (!are_own && holds_indices(operands[i].dtype)) continue;
    Verification one = compare(operation, i - first, operands[i], prepared.read_operand(i), reference);
    if (!are_own) allow_for(inputs.operation().dtype(), one);
    if (result) {
      add_output(*result, one);
    } else {
      result = one;
    }
  }
  result->same_formula = prepared.runs_reference_loops();
  return *result;
}

Verification verify(Queue& queue, PreparedOperation& prepared) { return verify(queue, prepared, prepared); }

Nanoseconds verification_time(const Operation& operation) {
  // On one core of an EPYC, mostly page faults: relu of 49 Mi elements took 1.4 s, a batch norm of as many 2
  // s.
  constexpr Nanoseconds kElement(20.0), kMultiplyAdd(8.0);
  if (!has_reference(operation)) return Nanoseconds(0.0);
  double elements = 0.0, multiply_adds = 0.0;
  std::size_t output = 0;
  for (const Operand& operand : operation.operands()) {
    elements += static_cast<double>(operand.count);
    if (operand.role != OperandRole::output) continue;
    const auto terms = static_cast<double>(terms_per_element(operation, output++));
    if (terms > 1.0) multiply_adds += std::min(kMostMultiplyAdds, terms * static_cast<double>(operand.count));
  }
  return kElement * elements + kMultiplyAdd * multiply_adds;
}

namespace {

// Verified at most so long; a simulated GPU computes everything twice.
constexpr Nanoseconds kShortCheck = milliseconds(2);

// True if each output of the part has enough elements for a norm that chance cannot make small: the sums of a
// batch norm's gradients may be near zero in single channels.
bool has_enough_results(const Operation& part, const Operation& whole) {
  constexpr std::int64_t kEnough = 64;
  const std::vector<Operand> few = part.operands(), all = whole.operands();
  for (std::size_t i = 0; i < few.size(); ++i) {
    if (few[i].role == OperandRole::output && few[i].count < std::min(kEnough, all[i].count)) return false;
  }
  return true;
}

// Halves the largest dimension that can be halved.
std::optional<Operation> halved(const Operation& part, const Operation& whole) {
  Operation::Parameters parameters = part.parameters();
  std::vector<std::int64_t*> dimensions = dimensions_of_results(parameters);
  std::ranges::stable_sort(dimensions, std::greater(), [](const std::int64_t* size) { return *size; });
  for (std::int64_t* size : dimensions) {
    if (*size <= 1) break;
    const std::int64_t before = std::exchange(*size, *size / 2);
    Operation smaller{Operation::Parameters(parameters)};
    if (has_enough_results(smaller, whole)) return smaller;
    *size = before;
  }
  return std::nullopt;
}

// Every rank cuts it alike.
Operation with_few_elements(Collective collective) {
  constexpr std::int64_t kElementsOfRank = 256;
  const std::int64_t few = kElementsOfRank * std::max<std::int64_t>(1, collective.ranks);
  collective.count = std::min(collective.count, few);
  return {collective};
}

Operation with_few_results(const Operation& operation) {
  if (const auto* collective = std::get_if<Collective>(&operation.parameters())) {
    return with_few_elements(*collective);
  }
  Operation part = operation;
  while (verification_time(part) > kShortCheck) {
    std::optional<Operation> smaller = halved(part, operation);
    if (!smaller) break;
    part = *std::move(smaller);
  }
  return part;
}

}  // namespace

VerifiedParts verified_parts(const Operation& own, const Operation& inputs, bool beside_chains) {
  const auto chain_in = [](const Operation& operation) {
    return std::get_if<Chain>(&operation.parameters());
  };
  if (!beside_chains && chain_in(own) == nullptr && chain_in(inputs) == nullptr) {
    return {with_few_results(own), with_few_results(inputs)};
  }
  const auto uses_streams = [&](const Operation& operation) {
    return chain_in(operation) != nullptr && chain_in(operation)->streams > 1;
  };
  VerifiedParts parts{own, inputs};
  if (uses_streams(own) || uses_streams(inputs)) return parts;
  // All that have these inputs are cut alike.
  while (verification_time(parts.inputs) > kShortCheck && parts_evenly(parts.own, 2) &&
         parts_evenly(parts.inputs, 2)) {
    parts = {piece_of(parts.own, 2), piece_of(parts.inputs, 2)};
  }
  return parts;
}

Nanoseconds verification_time(const Operation& operation, const DeviceDescription& device) {
  return verification_time(device.capabilities.is_simulated ? verified_parts(operation, operation).own
                                                            : operation);
}

namespace {

// Returns what a kernel leaves in all buffers that it writes, in the order of its arguments.
std::vector<std::vector<double>> written_by(Device& device, Queue& queue, const CudaKernel& kernel,
                                            const InputData& data) {
  const auto prepared = device.prepare(Operation(kernel), data);
  queue.launch(*prepared);
  queue.wait();
  prepared->check_launches();
  std::vector<std::vector<double>> written;
  const std::vector<std::size_t> places = operand_places(kernel);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (is_written(kernel.arguments[i])) written.push_back(prepared->read_operand(places[i]));
  }
  return written;
}

// A kernel may leave elements unwritten: those that the reference did not write either are right.
Verification compare_written(DataType dtype, const std::vector<double>& written,
                             const std::vector<double>& expected) {
  Verification result;
  result.tolerance = verification_tolerance(dtype);
  result.total = result.checked = std::ssize(written);
  double difference = 0.0, norm = 0.0;
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i] == expected[i] || (std::isnan(written[i]) && std::isnan(expected[i]))) {
      norm += std::isnan(expected[i]) ? 0.0 : expected[i] * expected[i];
      continue;
    }
    result.unwritten += std::isnan(written[i]) ? 1 : 0;
    difference += (written[i] - expected[i]) * (written[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  result.relative_error = std::sqrt(difference / (norm > 0.0 ? norm : 1.0));
  result.passed = result.unwritten == 0 && result.relative_error <= result.tolerance;
  return result;
}

// Runs one after the other, so that memory holds only one kernel's operands at a time.
std::optional<Verification> compare_kernels(Device& device, Queue& queue, const CudaKernel& kernel,
                                            const CudaKernel& reference, const InputData& data) {
  const std::vector<std::vector<double>> written = written_by(device, queue, kernel, data);
  const std::vector<std::vector<double>> expected = written_by(device, queue, reference, data);
  std::optional<Verification> result;
  std::size_t next = 0;
  for (const KernelArgument& argument : kernel.arguments) {
    if (!is_written(argument)) continue;
    const Verification one = compare_written(argument.dtype, written[next], expected[next]);
    ++next;
    if (result) {
      add_output(*result, one);
    } else {
      result = one;
    }
  }
  return result;
}

}  // namespace

std::optional<Verification> verify_by_reference(Device& device, Queue& queue, const Operation& operation,
                                                const InputData& data) {
  const auto& kernel = std::get<CudaKernel>(operation.parameters());
  if (kernel.reference.empty() || device.describe().capabilities.is_simulated) return std::nullopt;
  CudaKernel reference = kernel;
  reference.kernel = std::exchange(reference.reference, {});
  const CudaKernel usual;
  reference.fast_math = usual.fast_math;
  reference.registers = usual.registers;
  reference.optimize = usual.optimize;
  reference.min_blocks = usual.min_blocks;
  reference.architecture = usual.architecture;
  return compare_kernels(device, queue, kernel, reference, data);
}

std::optional<Verification> verify_by_first(Device& device, Queue& queue, const Operation& operation,
                                            const Operation& first, const InputData& data) {
  const auto* kernel = std::get_if<CudaKernel>(&operation.parameters());
  const auto* expected = std::get_if<CudaKernel>(&first.parameters());
  if (kernel == nullptr || expected == nullptr || device.describe().capabilities.is_simulated)
    return std::nullopt;
  const bool is_same_work = kernel->file == expected->file && kernel->arguments == expected->arguments;
  const bool writes = std::ranges::any_of(kernel->arguments, is_written);
  if (!is_same_work || !writes || *kernel == *expected) return std::nullopt;
  return compare_kernels(device, queue, *kernel, *expected, data);
}

namespace {

bool changes_type_alone(const Operation& step) {
  const auto* convert = std::get_if<Convert>(&step.parameters());
  return convert != nullptr && convert->from == convert->to;
}

// Returns the step that a chain of conversions serves, its only other step; else the operation itself.
const Operation& without_conversions(const Operation& operation) {
  const auto* chain = std::get_if<Chain>(&operation.parameters());
  if (chain == nullptr || chain->lanes > 1) return operation;
  const Operation* found = nullptr;
  for (std::size_t step = 0; step < chain->steps.size(); ++step) {
    if (step > 0 && !is_linked(*chain, step)) return operation;
    if (changes_type_alone(chain->steps[step])) continue;
    if (found != nullptr) return operation;
    found = &chain->steps[step];
  }
  return found == nullptr ? operation : *found;
}

}  // namespace

bool is_same_work(const Operation& operation, const Operation& other) {
  const Operation& own = without_conversions(operation);
  return with_engine(own.with_dtype(other.dtype()), engine_of(other)) == other;
}

}  // namespace jitterscope
