#include "device/cpu/chain_reference.hpp"

#include <algorithm>

#include "operation/convert.hpp"

namespace jitterscope {
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

// What a chain of copies of one step writes is millions of elements: who computes them is looked up once.
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

// Outputs are asked for lane by lane, so that one lane's values are kept at a time.
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
