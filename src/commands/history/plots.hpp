// How the times of one history went, record by record.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "measure/run_record.hpp"
#include "report/drawing.hpp"

namespace jitterscope {

/// A record of a history, the oldest first.
struct DatedRecord {
  std::string id;
  RunRecord record;
};

/// A plot for each case that a gate would judge (of a network its total), each record against the one before;
/// what else changed is marked. Empty where nothing was timed.
std::vector<Plot> history_plots(const std::string& name, std::span<const DatedRecord> records, double margin);

}  // namespace jitterscope
