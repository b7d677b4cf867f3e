// The studies, one function for each, and their common helpers.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <variant>

#include "jitterscope/operation.hpp"
#include "study/study.hpp"

namespace jitterscope::study::studies {

Study layout();
Study precision();
Study engine();
Study batch();
Study graph();
Study pinned();
Study compiler();
Study occupancy();
Study streams();
Study overlap();
Study dependencies();
Study synchronization();
Study priorities();
Study tiling();
Study waves();
Study access();
Study hierarchy();
Study allocator();
Study fragmentation();
Study fusion();

/// Throws UsageError if the device runs one launch after the other.
void require_streams(const StudyContext& context);

/// True if it can be a step of a chain whose launches return before their work is done.
bool can_be_step(const Operation& operation);

/// Makes an arm that runs what `make` returns for the work.
Arm arm_of(std::string name, std::function<Operation(const Operation&)> make, Remedy remedy = {});

/// Makes an arm in which `change` changes the work's parameters, which are of the type Shape.
template <class Shape, class Change>
Arm changed_arm(std::string name, const Change& change, Remedy remedy = {}) {
  return arm_of(
      std::move(name),
      [change](const Operation& operation) {
        Shape shape = std::get<Shape>(operation.parameters());
        change(shape);
        return Operation(std::move(shape));
      },
      std::move(remedy));
}

/// Makes an arm that runs the work as the chain that `make` returns.
Arm chain_arm(std::string name, Instrument instrument, const std::function<Chain(const Operation&)>& make,
              Remedy remedy = {});

/// Returns the arm, launched in this way.
Arm in_queue(Arm arm, QueueMode queue);

/// Returns the comparison of an alternative in the first conditions; null if it has no time.
const Comparison* comparison_with(const ComparisonRecord& record, std::size_t alternative);
/// Returns that of the arm that is a bound.
const Comparison* comparison_with_bound(const StudyResult& result);

/// Returns the kernel if the operation is one of the user's own; else null.
const CudaKernel* kernel_of(const Operation& operation);
const Chain* chain_of(const Operation& operation);

/// Returns how much longer the second side takes than the first.
Nanoseconds added_time(const Comparison& comparison);

}  // namespace jitterscope::study::studies
