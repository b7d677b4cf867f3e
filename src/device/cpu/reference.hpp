// What an operation must give, in float64: what --verify compares with. It is what the CPU runs for
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

/// The outputs that follow from given inputs. A gradient is the formula of its operands as they are given,
/// whether or not a forward pass would have given them: that of softmax is y (dy - sum of dy y) for any y.
class Reference {
 public:
  /// `inputs` follow operands(), each in its dense order. Throws UsageError for spin, aten and cuda.
  Reference(const Operation&, std::vector<std::vector<double>> inputs);
  ~Reference();
  /// `output` counts from 0; `index` follows its operand's dense order: that of its layout, so an nhwc
  /// tensor is n,h,w,c and its weight k,r,s,c/groups.
  double element(std::size_t output, std::int64_t index);
  /// All elements of an output; of any operation but a chain.
  std::vector<double> all(std::size_t output);
  /// The elements of an output that a check looks at, with their places: all where no element is cheaper
  /// alone than with the others, else those of reference_sample.
  void for_each_sampled(std::size_t output, const std::function<void(std::int64_t, double)>& look);

 private:
  bool needs_all(std::size_t operand, std::int64_t index);
  void compute_all();

  Operation operation_;
  std::size_t inputs_;
  std::unique_ptr<ChainReference> chain_;  ///< of a chain alone, which has none of the rest
  std::unique_ptr<PreparedOperation> prepared_;
  cpu::CpuOperation* loops_ = nullptr;
  double cost_ = 0.0;  // of all of the dearest output, in multiply-adds
  bool is_whole_ = false;
};

/// What a check of an output spends at most, about: a third of a second on one core.
inline constexpr double kMostMultiplyAdds = 4e7;

/// False for what nobody knows the result of: operators of PyTorch, kernels, and spins, which have none; and
/// for a chain with one of the first two among its steps, or with a step inside that takes minutes to
/// compute.
bool has_reference(const Operation&);

/// Whether all that an operation writes first takes no more than seconds to compute, on a few cores.
bool can_be_computed_whole(const Operation&);

/// Multiply-adds behind one element of an output, at most, where it is computed by itself; 1 where all
/// elements are computed at once.
std::int64_t terms_per_element(const Operation&, std::size_t output = 0);

/// The elements of an output that a check looks at, in about kMostMultiplyAdds: all where they can be
/// afforded, else a random sample, the same each time.
std::vector<std::int64_t> reference_sample(const Operation&, std::size_t output = 0);

// What a chain must give: the references of its steps, each with what the one before it gives.

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
