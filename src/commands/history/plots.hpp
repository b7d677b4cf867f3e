// Plots the times of one history, record by record.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "measure/run_record.hpp"
#include "report/drawing.hpp"

namespace jitterscope {

/// A record of a history; lists have the oldest first.
struct DatedRecord {
  std::string id;
  RunRecord record;
};

/// Returns a plot for each case that a gate would judge (for a network its total). It compares each record
/// with the one before and marks other changes. Empty if nothing was timed.
std::vector<Plot> history_plots(const std::string& name, std::span<const DatedRecord> records, double margin);

}  // namespace jitterscope
