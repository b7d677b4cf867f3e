#include "device/virtual/virtual_operation.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/random.hpp"
#include "device/can_run.hpp"
#include "device/collective.hpp"
#include "device/compiler/nvrtc.hpp"
#include "device/compiler/user_kernel.hpp"
#include "device/cpu/number_formats.hpp"
#include "device/cpu/reference.hpp"
#include "device/operands.hpp"
#include "device/virtual/kernel_work.hpp"
#include "device/virtual/virtual_chain.hpp"
#include "device/virtual/virtual_queue.hpp"
#include "jitterscope/error.hpp"
#include "operation/kinds_collective.hpp"
#include "operation/operation.hpp"

namespace jitterscope::virtual_gpu {
namespace {

bool waits_for_host(const Operation& operation) {
  const Copy* copy = std::get_if<Copy>(&operation.parameters());
  return copy != nullptr && copy->kind != CopyKind::d2d && copy->memory == HostMemory::pageable;
}

std::size_t count_inputs(const std::vector<Operand>& operands) {
  return static_cast<std::size_t>(std::ranges::count(operands, OperandRole::input, &Operand::role));
}

// Checks that the kernel exists and takes these arguments; what it computes is not simulated. The reference
// is only read, since nothing runs it.
std::string looked_at(const CudaKernel& kernel, int architecture) {
  const CompileRequest request = compile_request(kernel, architecture);
  const LibraryInfo compiler = nvrtc_library();
  if (!compiler.problem.empty()) {
    check_source(kernel, request);
    return "its source read and not compiled, as there is no NVRTC";
  }
  check_arguments(kernel, request, compiled_kernel(request));
  if (!kernel.reference.empty()) {
    CudaKernel reference = kernel;
    reference.kernel = std::exchange(reference.reference, {});
    check_source(reference, request);
  }
  return fmt::format("compiled by NVRTC {} for {}.{}, and not run", compiler.version, architecture / 10,
                     architecture % 10);
}

}  // namespace

VirtualOperation::VirtualOperation(Timeline& timeline, const Operation& operation, const InputData& data)
    : timeline_(timeline),
      operation_(operation),
      data_(data),
      operands_(operation.operands()),
      kernel_(std::make_shared<Kernel>()),
      waits_(waits_for_host(operation)) {
  const physics::Identity& identity = timeline_.parameters().identity;
  require_data_type(operation_, identity.name, identity.data_types);
  if (const auto* chain = std::get_if<Chain>(&operation_.parameters())) {
    for (const Operation& step : chain->steps) require_data_type(step, identity.name, identity.data_types);
  }
  if (const auto* kernel = std::get_if<CudaKernel>(&operation_.parameters()))
    algorithm_ = looked_at(*kernel, identity.architecture);
  require_memory(operation_.text(), operand_memory(operation_), timeline_.memory_free(), identity.name);
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    const auto shared = shared_buffer(i, data);
    owns_.push_back(!shared);
    buffers_.push_back(shared ? *shared : timeline_.allocate(operands_[i].bytes()));
  }
  kernel_->work = kernel_work(timeline_.parameters(), operation_, buffers_, data.kind);
  kernel_->tensor = tensor_cycles(timeline_.parameters(), operation_);
  kernel_->processors = share_of_processors(timeline_.parameters(), operation_);
  kernel_->engine = virtual_gpu::engine_of(operation_);
  const auto* spin = std::get_if<Spin>(&operation_.parameters());
  kernel_->is_one_block = spin != nullptr && spin->blocks == 1 && spin->unit == Spin::Unit::nanoseconds;
  if (data.placement) timeline_.machine().choose_placements(*data.placement);
  kernel_->work.placement = timeline_.machine().draw_placement();
  kernel_->name = fmt::format("virtual_{}", operation_.kind());
  if (const auto* collective = std::get_if<Collective>(&operation_.parameters())) {
    const physics::Cluster& cluster = timeline_.link->cluster();
    const auto bytes = static_cast<double>(collective->count * element_size(collective->dtype).value());
    CollectiveWork work{
        .order = collective_order(*collective, *rank_data()), .collective = *collective, .kernel = kernel_};
    if (collective->kind == CollectiveKind::send) {
      work.transfer = physics::transfer_time(cluster, collective->root, collective->to, bytes);
    } else {
      work.transfer =
          physics::transfer_time(cluster, bytes * bus_factor(collective->kind, collective->ranks));
    }
    collective_ = std::make_shared<const CollectiveWork>(std::move(work));
  }
}

// Freeing memory waits for the work that uses it, as on a GPU.
VirtualOperation::~VirtualOperation() {
  timeline_.settle();
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (owns_[i]) timeline_.release(buffers_[i], operands_[i].bytes());
  }
}

// A buffer's cached lines are counted, not named, so the place of a part in it makes no difference.
std::optional<physics::Buffer> VirtualOperation::shared_buffer(std::size_t index,
                                                               const InputData& data) const {
  const SharedOperand* shared = find_shared(data, index, operands_[index].bytes());
  const auto* owner = shared ? dynamic_cast<const VirtualOperation*>(shared->owner) : nullptr;
  if (owner == nullptr) return std::nullopt;
  return owner->buffers_[shared->owner_operand];
}

void VirtualOperation::run(NativeQueue queue) {
  auto* own = static_cast<VirtualQueue*>(queue);
  const std::shared_ptr<Kernel> kernel = begin_launch();
  collective_ ? own->launch_collective(collective_) : own->launch_kernel(kernel, waits_);
}

std::shared_ptr<Kernel> VirtualOperation::begin_launch() {
  whole_.clear();
  const physics::Parameters& parameters = timeline_.parameters();
  if (timeline_.is_first_launch(kernel_->name) && parameters.has(physics::Mechanism::one_time_work))
    timeline_.spend(parameters.one_time.module_load);
  return kernel_;
}

bool VirtualOperation::produce_inputs(NativeQueue queue) {
  std::vector<physics::Access> accesses;
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    if (operands_[i].role == OperandRole::input)
      accesses.push_back({buffers_[i], operands_[i].bytes(), true});
  }
  static_cast<VirtualQueue*>(queue)->write(accesses);
  return true;
}

bool VirtualOperation::place_anew() {
  // Mapping other pages takes this long on an H200.
  constexpr Nanoseconds kCost = milliseconds(1);
  if (!data_.placement || std::ranges::find(owns_, false) != owns_.end()) return false;
  timeline_.synchronize();
  timeline_.spend(kCost);
  kernel_->work.placement = timeline_.machine().draw_placement();
  return true;
}

void VirtualOperation::poison_outputs() {
  timeline_.synchronize();
  kernel_->has_run = false;
  whole_.clear();
}

// Returns the values that another operation wrote, or those drawn. Computing needs the whole input; if that
// takes more than seconds, the chain has no reference to compare with.
std::vector<double> VirtualOperation::values_of_input(std::size_t index, Elements elements) {
  const Operand& operand = operands_[index];
  const SharedOperand* shared = find_shared(data_, index, operand.bytes());
  const bool is_whole = shared != nullptr && !is_filled_by_owner(*shared) &&
                        shared->owner->operation().operands()[shared->owner_operand].count == operand.count;
  if (!is_whole) return input_values(operand, index, data_);
  auto* owner = const_cast<PreparedOperation*>(shared->owner);
  if (!passes_on(operation_)) elements = Elements::all;
  auto* simulated = dynamic_cast<VirtualOperation*>(owner);
  if (simulated == nullptr) return owner->read_operand(shared->owner_operand);
  return simulated->values_of_output(
      shared->owner_operand - count_inputs(simulated->operands_),
      can_be_computed_whole(owner->operation()) ? elements : Elements::looked_at);
}

std::vector<double> VirtualOperation::values_of_output(std::size_t output, Elements elements) {
  const std::size_t inputs = count_inputs(operands_);
  if (!kernel_->has_run || kernel_->read_too_early) {
    return std::vector<double>(static_cast<std::size_t>(operands_.at(inputs + output).count),
                               std::numeric_limits<double>::quiet_NaN());
  }
  if (const auto known = whole_.find(output); known != whole_.end()) return known->second;
  std::vector<std::vector<double>> read;
  for (std::size_t i = 0; i < inputs; ++i) read.push_back(values_of_input(i, elements));
  std::vector<double> values = output_values(operation_, output, std::move(read), elements);
  if (elements == Elements::all && terms_per_element(operation_, output) > 1) whole_[output] = values;
  return values;
}

std::optional<RankData> VirtualOperation::rank_data() const {
  if (!std::holds_alternative<Collective>(operation_.parameters())) return std::nullopt;
  return RankData{timeline_.link->rank(), data_.kind, data_.seed};
}

// The outputs of one launch. A straggler may have the task to get one element wrong.
std::vector<double> VirtualOperation::values_of_collective(const Collective& collective, std::size_t index) {
  const Operand& operand = operands_[index];
  const RankData data = *rank_data();
  const bool is_result = operand.role == OperandRole::output || (collective.in_place && kernel_->has_run);
  std::vector<double> values;
  for (std::int64_t i = 0; i < operand.count; ++i) {
    std::optional<double> value;
    if (is_result && kernel_->has_run) value = collective_result(collective, data, i);
    if (!is_result) value = collective_content(collective, data, i);
    values.push_back(rounded_to(operand.dtype, value.value_or(std::numeric_limits<double>::quiet_NaN())));
  }
  const ClusterLink& link = *timeline_.link;
  const bool lies =
      link.cluster().has(physics::Straggler::Cause::wrong_values, data.rank, timeline_.host_clock());
  if (is_result && lies) values[values.size() / 2] += 1.0;
  return values;
}

std::vector<double> VirtualOperation::read_operand(std::size_t index) {
  timeline_.synchronize();
  if (const auto* collective = std::get_if<Collective>(&operation_.parameters())) {
    return values_of_collective(*collective, index);
  }
  if (operands_.at(index).role == OperandRole::input) return values_of_input(index, Elements::looked_at);
  return values_of_output(index - count_inputs(operands_), Elements::looked_at);
}

namespace {

// Each run of 4 Ki elements starts at a random place in a table of 64 Ki values: drawing 10^8 normal numbers
// anew would take 5 s. Smaller operands are drawn anew: a chain has a thousand of them.
constexpr std::size_t kTableSize = 1 << 16, kRun = 1 << 12;

// An odd factor of 64 random bits keeps (seed, operand) pairs apart.
std::uint64_t operand_seed(const InputData& data, std::size_t index) {
  return data.seed + 0xd1342543de82ef95u * (index + 1);
}

// Rounds as tensor units read an f32: to nearest, with 10 bits of mantissa.
double as_tf32(double value) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return std::bit_cast<float>((bits + 0x1000u) & ~std::uint32_t{0x1fff});
}

// Indices do not depend on the data's kind: the rows that they name are always random.
std::vector<double> index_values(const Operand& operand, std::size_t index, const InputData& data) {
  Random random(operand_seed(data, index));
  std::vector<double> values(static_cast<std::size_t>(operand.count));
  for (double& value : values) {
    value = static_cast<double>(random.below(static_cast<std::uint64_t>(operand.index_limit)));
  }
  return values;
}

}  // namespace

double rounded_to(DataType dtype, double value) {
  const auto single = static_cast<float>(value);
  switch (dtype) {
    case DataType::f64:
    case DataType::i32:
    case DataType::i64: return value;
    case DataType::f32:
    case DataType::tf32: return single;
    case DataType::f16: return cpu::Half::read(cpu::Half::write(single));
    case DataType::bf16: return cpu::BFloat16::read(cpu::BFloat16::write(single));
  }
  return value;
}

std::vector<double> input_values(const Operand& operand, std::size_t index, const InputData& data) {
  if (holds_indices(operand.dtype)) return index_values(operand, index, data);
  const auto count = static_cast<std::size_t>(operand.count);
  const bool is_drawn = count < kTableSize;
  Random random(is_drawn ? operand_seed(data, index) : data.seed);
  const double scale = scale_of(operand, data);
  std::vector<double> table(std::min(count, kTableSize));
  for (double& value : table) {
    value = rounded_to(operand.dtype, scale * draw_value(data.kind, random));
    if (operand.non_negative) value = std::abs(value);
  }
  if (is_drawn) return table;
  Random places(operand_seed(data, index));
  std::vector<double> values(count);
  for (std::size_t first = 0; first < values.size(); first += kRun) {
    const std::size_t length = std::min(kRun, values.size() - first);
    const auto begin = table.begin() + static_cast<std::ptrdiff_t>(places.below(kTableSize - kRun));
    std::copy_n(begin, length, values.begin() + static_cast<std::ptrdiff_t>(first));
  }
  return values;
}

std::vector<double> output_values(const Operation& operation, std::size_t output,
                                  std::vector<std::vector<double>> inputs, Elements elements) {
  std::vector<Operand> outputs;
  for (const Operand& operand : operation.operands()) {
    if (operand.role == OperandRole::output) outputs.push_back(operand);
  }
  if (operation.dtype() == DataType::tf32) {
    for (std::vector<double>& input : inputs) std::ranges::transform(input, input.begin(), as_tf32);
  }
  const DataType dtype = outputs.at(output).dtype;
  Reference reference(operation, std::move(inputs));
  if (elements == Elements::all) {
    std::vector<double> values = reference.all(output);
    for (double& value : values) value = rounded_to(dtype, value);
    return values;
  }
  std::vector<double> values(static_cast<std::size_t>(outputs[output].count));
  reference.for_each_sampled(output, [&](std::int64_t index, double value) {
    values[static_cast<std::size_t>(index)] = rounded_to(dtype, value);
  });
  return values;
}

}  // namespace jitterscope::virtual_gpu
