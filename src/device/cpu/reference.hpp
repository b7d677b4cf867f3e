// The correct results of operations in float64, which --verify compares with. The CPU runs the same loops for
// dtype=f64.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "jitterscope/device.hpp"
#include "operation/chain.hpp"

namespace jitterscope {

namespace cpu {
class CpuOperation;
}
class ChainReference;

/// Computes the outputs that follow from given inputs. A gradient's formula takes its operands as given, even
/// if no forward pass gives them: that of softmax is y (dy - sum of dy y) for any y.
class Reference {
 public:
  /// `inputs` are the input operands, each in its dense order. Throws UsageError for spin, aten and cuda.
  Reference(const Operation&, std::vector<std::vector<double>> inputs);
  ~Reference();
  /// `output` counts from 0. `index` is in its operand's dense order, that of its layout: an nhwc tensor is
  /// n,h,w,c, and its weight k,r,s,c/groups.
  double element(std::size_t output, std::int64_t index);
  /// Returns all elements of an output; not for chains.
  std::vector<double> all(std::size_t output);
  /// Calls `look` with index and value of each element that a check looks at: all if none is cheaper to
  /// compute alone, else those of reference_sample.
  void for_each_sampled(std::size_t output, const std::function<void(std::int64_t, double)>& look);

 private:
  bool needs_all(std::size_t operand, std::int64_t index);
  void compute_all();

  Operation operation_;
  std::size_t inputs_;
  std::unique_ptr<ChainReference> chain_;  ///< for a chain only, which uses none of the rest
  std::unique_ptr<PreparedOperation> prepared_;
  cpu::CpuOperation* loops_ = nullptr;
  double cost_ = 0.0;  // multiply-adds of the costliest output
  bool is_whole_ = false;
};

/// Most multiply-adds for checking one output: about a third of a second on one core.
inline constexpr double kMostMultiplyAdds = 4e7;

/// False if the correct result is unknown: for PyTorch operators, kernels and spins (no output), and for a
/// chain with one of the first two as a step, or with an inner step that takes more than seconds to compute.
bool has_reference(const Operation&);

/// True if computing the whole first output takes no more than seconds on a few cores.
bool can_be_computed_whole(const Operation&);

/// Most multiply-adds for an element that is computed by itself; 1 if all are computed at once.
std::int64_t terms_per_element(const Operation&, std::size_t output = 0);

/// Returns the elements of an output that a check looks at, in order: all if that takes at most
/// kMostMultiplyAdds, else at least 256, the same each time. These are the corners of the tensor, and one at
/// random of each of m equally long stretches of memory. So a fault in a share f of the elements, wherever
/// they lie, is looked at with a probability of at least 1 - (1 - f)^m, and one in a stretch of 2/m of the
/// memory for certain.
std::vector<std::int64_t> reference_sample(const Operation&, std::size_t output = 0);

// The reference of a chain: those of its steps, each fed with the result of the step before it.

/// An output of a chain; `number` counts its step's outputs from 0.
struct OperandInChain {
  std::size_t lane = 0, step = 0, number = 0;
};
/// In the order of the chain's operands.
std::vector<OperandInChain> outputs_of(const Chain& chain);

/// True for copies and conversions, which pass on computed values.
bool passes_on(const Operation& step);
/// Returns the output of the step that computed the values, or of the first that passes them on.
OperandInChain computed_by(const Chain& chain, OperandInChain output);
/// Map an element's index in the output to that in the output of that step, and back: conversions between
/// layouts move elements.
std::int64_t index_where_computed(const Chain& chain, const OperandInChain& output, std::int64_t index);
std::int64_t index_in_output(const Chain& chain, const OperandInChain& output, std::int64_t computed);
/// True if a later step that computes something reads the step's first output.
bool is_needed_whole(const Chain& chain, std::size_t step);

class ChainReference {
 public:
  /// `inputs` are in the chain's operand order.
  ChainReference(const Chain& chain, std::vector<std::vector<double>> inputs);
  double element(std::size_t output, std::int64_t index);
  /// Calls `look` with index and value of each of these elements.
  void for_each(std::size_t output, const std::vector<std::int64_t>& indices,
                const std::function<void(std::int64_t, double)>& look);

 private:
  Reference& reference(std::size_t lane, std::size_t step);

  Chain chain_;
  std::vector<ChainOperand> operands_;
  std::vector<OperandInChain> outputs_;
  std::vector<std::vector<double>> inputs_;
  std::size_t lane_ = 0;                                // the lane of references_
  std::vector<std::unique_ptr<Reference>> references_;  // for each step, made when needed
};

}  // namespace jitterscope
