#include "experiment/comparison.hpp"

#include <algorithm>
#include <cmath>

namespace jitterscope {

bool is_wrong(const Comparison& comparison) {
  const auto failed = [](const ComparedSide& side) {
    return side.verification && !side.verification->passed;
  };
  return failed(comparison.first) || failed(comparison.second);
}

const LeftOutLayers* left_out_of(const ComparisonRecord& record, std::size_t alternative,
                                 std::size_t compared) {
  const auto found = std::ranges::find_if(record.left_out, [&](const LeftOutLayers& each) {
    return each.alternative == alternative && (each.beside == 0 || each.beside == compared);
  });
  return found == record.left_out.end() ? nullptr : &*found;
}

bool is_whole(const ComparisonRecord& record, const TotalComparison& total) {
  const std::size_t compared = total.alternative;
  if (left_out_of(record, 0, compared) || left_out_of(record, compared, compared)) return false;
  return std::ranges::none_of(record.comparisons, [&](const Comparison& each) {
    return each.alternative == total.alternative && !each.failure.empty();
  });
}

double resolution_of(const ComparisonRecord& record, const TotalComparison& total) {
  double time = 0.0, weighted = 0.0;
  for (const Comparison& each : record.comparisons) {
    const Conditions& own = each.first.conditions;
    const bool is_in = each.failure.empty() && own.load == total.load && own.cache == total.cache;
    if (each.alternative != total.alternative || !is_in) continue;
    const double all = each.first.time.median.value() * static_cast<double>(each.count);
    time += all;
    weighted += all * each.resolution;
  }
  return time > 0.0 ? weighted / time : 0.0;
}

bool is_below_resolution(double margin, const RatioEstimate& time, double resolution) {
  return margin < resolution && std::abs(std::log(time.ratio)) < resolution;
}

std::optional<Nanoseconds> per_sample(const ComparisonRecord& record, std::size_t alternative,
                                      Nanoseconds time) {
  if (alternative >= record.samples.size()) return std::nullopt;
  return time / static_cast<double>(record.samples[alternative]);
}

std::vector<double> recorded_works(std::vector<double> works) {
  for (std::size_t i = works.size(); i-- > 0;) works[i] /= works.front();
  if (std::ranges::all_of(works, [](double each) { return each == 1.0; })) works.clear();
  return works;
}

double work_of(const ComparisonRecord& record, std::size_t alternative) {
  return alternative < record.works.size() ? record.works[alternative] / record.works.front() : 1.0;
}

}  // namespace jitterscope
