// A kernel on a simulated GPU: nobody looks at what it computes.
#include "finding/detectors.hpp"
#include "finding/evidence.hpp"
#include "measure/achieved_rate.hpp"

namespace jitterscope {

std::vector<Finding> find_only_moved(const Result& result, const FindingContext& context) {
  const Operation* operation = operation_of(result.subject);
  const bool is_found = operation != nullptr && is_only_moved(*operation, context.device);
  if (!is_found || result.measurements.empty()) return {};
  Finding finding;
  finding.id = kOnlyMovedFinding;
  finding.headline = "simulated: the kernel's buffers are moved once, its arithmetic is not looked at";
  finding.sentence = kOnlyMoved;
  finding.remedy = "Measure it on a GPU: --device cuda.";
  finding.evidence = {evidence("time", result.measurements.front().time.median)};
  return {finding};
}

}  // namespace jitterscope
