// Somebody else on the device takes time, cache, memory bandwidth and watts.
#include <fmt/format.h>

#include "base/names.hpp"
#include "finding/detectors.hpp"
#include "finding/evidence.hpp"

namespace jitterscope {

std::vector<Finding> find_other_process(const FindingContext& context) {
  if (!context.on_gpu || !context.other_processes || context.other_processes->empty()) return {};
  const std::vector<std::string>& processes = *context.other_processes;
  Finding finding;
  finding.id = "other_process";
  finding.headline = fmt::format("other processes use {}: {}", context.device.id, processes.size());
  finding.sentence = fmt::format(
      "{} other {} {} use of {}: {}.", processes.size(), processes.size() == 1 ? "process" : "processes",
      processes.size() == 1 ? "makes" : "make", context.device.id, joined(processes));
  finding.remedy =
      "Measure when they are done or on another device; until then take all times as upper bounds.";
  finding.evidence = {evidence_count("processes", static_cast<std::int64_t>(processes.size())),
                      {"process_list", joined(processes)}};
  return {finding};
}

}  // namespace jitterscope
