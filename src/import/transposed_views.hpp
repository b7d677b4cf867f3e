// Strides for records that have none.
#pragma once

#include <set>

#include "import/recorded_operator.hpp"

namespace jitterscope {

/// Schemas before 1.1.1 record no strides. A linear layer's weight is then known as transposed only from the
/// aten::t that made the view; any other tensor is taken as dense and row-major.
class TransposedViews {
 public:
  /// To be called with each operator that is timed or makes views, in order.
  void complete(RecordedOperator& recorded);
  bool any_assumed() const { return any_assumed_; }

 private:
  void complete(RecordedArgument& argument);
  struct View {
    TensorIdentity tensor;
    std::vector<std::int64_t> shape;
    auto operator<=>(const View&) const = default;
  };
  std::set<View> transposed_;
  bool any_assumed_ = false;
};

}  // namespace jitterscope
