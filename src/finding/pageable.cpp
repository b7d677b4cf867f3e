// Copies to and from pageable memory wait for the queue: no gate can hold them.
#include "finding/detectors.hpp"
#include "finding/evidence.hpp"

namespace jitterscope {

std::vector<Finding> find_pageable(const Result& result, const FindingContext& context) {
  const Operation* operation = operation_of(result.subject);
  const Copy* copy = operation != nullptr ? std::get_if<Copy>(&operation->parameters()) : nullptr;
  const bool is_pageable =
      copy != nullptr && copy->kind != CopyKind::d2d && copy->memory == HostMemory::pageable;
  if (!context.on_gpu || !is_pageable || result.measurements.empty()) return {};
  Finding finding;
  finding.id = "pageable";
  finding.headline = "pageable memory: the host's copying is in these times";
  finding.sentence =
      "The driver copies pageable memory through its own buffers and waits for the queue meanwhile, so no "
      "gate could hold these launches: the host's work is in their times.";
  finding.remedy =
      "Page-lock the memory (memory=pinned; in PyTorch pin_memory=True), or quote it as what it is.";
  finding.evidence = {evidence("time", result.measurements.front().time.median)};
  return {finding};
}

}  // namespace jitterscope
