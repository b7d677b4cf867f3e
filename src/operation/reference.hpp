// What an operation must give, in float64: the reference that --verify compares with.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "jitterscope/operation.hpp"

namespace jitterscope {

/// Computes elements of an operation's outputs; keeps sums that many elements need, as a row's or a
/// channel's. A gradient is the formula of its operands as they are given, whether or not a forward pass
/// would have given them: that of softmax is y (dy - sum of dy y) for any y.
class Reference {
 public:
  Reference() = default;
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;
  virtual ~Reference() = default;
  /// `output` counts from 0; `index` follows its operand's dense order: that of its layout, so an nhwc
  /// tensor is n,h,w,c and its weight k,r,s,c/groups. Throws UsageError for spin.
  virtual double element(std::size_t output, std::int64_t index) = 0;
};

/// `inputs` follow operands(), each in its dense order, and must outlive the reference.
std::unique_ptr<Reference> make_reference(const Operation&, const std::vector<std::vector<double>>& inputs);

/// One element; where many are wanted, a Reference is faster.
double reference_element(const Operation&, const std::vector<std::vector<double>>& inputs, std::int64_t index,
                         std::size_t output = 0);

/// Multiply-adds behind one element of an output, at most: what it costs by itself.
std::int64_t terms_per_element(const Operation&, std::size_t output = 0);

/// The elements of an output that a check looks at, in about 2e8 multiply-adds: all where they can be
/// afforded, else a random sample, the same each time.
std::vector<std::int64_t> reference_sample(const Operation&, std::size_t output = 0);

}  // namespace jitterscope
