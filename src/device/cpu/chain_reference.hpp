// What a chain must give: the references of its steps, each with what the one before it gives.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "device/cpu/reference.hpp"
#include "operation/chain.hpp"

namespace jitterscope {

/// An output of a chain, as the step counts its own from 0.
struct OperandInChain {
  std::size_t lane = 0, step = 0, number = 0;
};
/// In the order of the chain's operands.
std::vector<OperandInChain> outputs_of(const Chain& chain);

/// Copies and conversions pass on what a step has computed.
bool passes_on(const Operation& step);
/// The step that has computed an output, or the first of those that pass on.
OperandInChain computed_by(const Chain& chain, OperandInChain output);
/// Where an element of the output lies in what that step writes, since conversions between layouts move it;
/// and the same back.
std::int64_t index_where_computed(const Chain& chain, const OperandInChain& output, std::int64_t index);
std::int64_t index_in_output(const Chain& chain, const OperandInChain& output, std::int64_t computed);
/// Whether a step that computes something reads what the step writes first.
bool is_needed_whole(const Chain& chain, std::size_t step);

class ChainReference {
 public:
  /// `inputs` follow the chain's operands.
  ChainReference(const Chain& chain, std::vector<std::vector<double>> inputs);
  double element(std::size_t output, std::int64_t index);
  /// The same of many elements of one output.
  void for_each(std::size_t output, const std::vector<std::int64_t>& indices,
                const std::function<void(std::int64_t, double)>& look);

 private:
  Reference& reference(std::size_t lane, std::size_t step);

  Chain chain_;
  std::vector<ChainOperand> operands_;
  std::vector<OperandInChain> outputs_;
  std::vector<std::vector<double>> inputs_;
  std::size_t lane_ = 0;                                // that the references are of
  std::vector<std::unique_ptr<Reference>> references_;  // of its steps, as they are needed
};

}  // namespace jitterscope
