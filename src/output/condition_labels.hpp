// The conditions of a run as column headings.
#pragma once

#include <string>
#include <vector>

#include "measure/run_record.hpp"

namespace jitterscope {

struct ConditionLabels {
  std::vector<Conditions> conditions;  ///< in the order first measured
  /// "cold burst"; data and queue only where they differ, fresh where it is.
  std::vector<std::string> labels;
};
ConditionLabels label_conditions(const RunRecord& record);

/// What the words mean, for the words that occur: "warm: operands as the last launch left them; …".
std::string explain_conditions(const ConditionLabels& labels);

}  // namespace jitterscope
