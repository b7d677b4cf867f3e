// In what circumstances two records differ.
#pragma once

#include <string>
#include <vector>

#include "experiment/comparison.hpp"

namespace jitterscope {

/// Each difference once, with the layers that have it.
class DifferenceList {
 public:
  explicit DifferenceList(std::vector<RecordDifference>& all) : all_(all) {}

  void compare(const std::string& name, const std::string& first, const std::string& second, bool may_explain,
               const std::string& layer = {});

 private:
  std::vector<RecordDifference>& all_;
};

/// Conditions, instrument and clock of the same work, a layer or an operation, in two records.
void compare_conditions(const RunEntry& first_entry, const Measurement& first, const RunEntry& second_entry,
                        const Measurement& second, DifferenceList& differences, const std::string& layer);

}  // namespace jitterscope
