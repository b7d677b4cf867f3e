// A record of one version of cuDNN replayed on another: engines are numbered anew with each.
#include <fmt/format.h>

#include "finding/detectors.hpp"

namespace jitterscope {

std::vector<Finding> find_other_cudnn(const FindingContext& context) {
  if (context.recorded_cudnn.empty()) return {};
  for (const LibraryInfo& library : context.device.libraries) {
    if (library.name != "cudnn" || library.version.empty() || library.version == context.recorded_cudnn)
      continue;
    Finding finding;
    finding.id = "other_cudnn";
    finding.headline =
        fmt::format("recorded with cuDNN {}, run with cuDNN {}", context.recorded_cudnn, library.version);
    finding.sentence = fmt::format(
        "The record was made with cuDNN {}, and cuDNN {} is used here ({}): its "
        "heuristics may choose other engines, and an engine's tag may name another one.",
        context.recorded_cudnn, library.version, library.path);
    finding.remedy =
        "Name the folder of the recorded version in JITTERSCOPE_LIBRARY_PATH to run the same engines.";
    finding.evidence = {{"recorded", context.recorded_cudnn}, {"used", library.version}};
    return {finding};
  }
  return {};
}

}  // namespace jitterscope
