// What a run measured, without how its network uses it.
#pragma once

#include <functional>
#include <vector>

#include "measure/run_record.hpp"

namespace jitterscope {

/// The results of a run's entries, in their order. (No view: clang 14 compiles none of GCC 12's.)
inline std::vector<std::reference_wrapper<const Result>> results_of(const RunRecord& record) {
  std::vector<std::reference_wrapper<const Result>> results;
  for (const RunEntry& entry : record.entries) results.emplace_back(entry.result);
  return results;
}
inline std::vector<std::reference_wrapper<Result>> results_of(RunRecord& record) {
  std::vector<std::reference_wrapper<Result>> results;
  for (RunEntry& entry : record.entries) results.emplace_back(entry.result);
  return results;
}

}  // namespace jitterscope
