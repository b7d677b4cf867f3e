// Operands that toggle few wires draw less power, so that the clock stays higher than with a user's data.
#include <fmt/format.h>

#include <algorithm>

#include "finding/detectors.hpp"

namespace jitterscope {

std::vector<Finding> find_zeros(const Result& result, const FindingContext& context) {
  const auto flattered = std::ranges::find_if(result.measurements, [](const Measurement& measurement) {
    return measurement.conditions.data == DataKind::zeros || measurement.conditions.data == DataKind::ones;
  });
  if (flattered == result.measurements.end()) return {};
  const std::string_view data = to_string(*flattered->conditions.data);
  Finding finding;
  finding.id = "zeros";
  finding.headline = fmt::format("operands of {} draw less power than real data", data);
  finding.sentence = fmt::format(
      "The operands are all {}: they draw less power than real data, so times and clocks are flattered{}.",
      data,
      context.on_gpu ? " wherever the power cap is near (a matrix product ran 12 % faster on zeros)" : "");
  finding.remedy =
      "Measure with --data normal, which is the default, for numbers that hold for real tensors.";
  finding.evidence = {{"data", std::string(data)}};
  return {finding};
}

}  // namespace jitterscope
