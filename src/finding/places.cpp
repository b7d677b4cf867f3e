#include "finding/places.hpp"

#include "finding/series.hpp"

namespace jitterscope {

std::vector<FindingPlace> places_of(const std::vector<std::size_t>& rounds, const Measurement& measurement,
                                    const Result& result) {
  if (rounds.empty()) return {};
  FindingPlace place{.measurement = static_cast<std::size_t>(&measurement - result.measurements.data()),
                     .rounds = {}};
  for (const std::size_t round : rounds) {
    if (!place.rounds.empty() && place.rounds.back().last + 1 == round) {
      place.rounds.back().last = round;
    } else {
      place.rounds.push_back({round, round});
    }
  }
  return {place};
}

std::vector<std::size_t> rounds_from(std::size_t first, const Measurement& measurement) {
  std::vector<std::size_t> rounds;
  for (std::size_t round = first; round < measurement.rounds.size(); ++round) rounds.push_back(round);
  return rounds;
}

std::vector<std::size_t> outer_thirds(const Measurement& measurement) {
  const std::size_t count = settled_rounds(measurement).size(), third = count / 3;
  const std::size_t begin = measurement.rounds.size() - count;
  std::vector<std::size_t> rounds;
  for (std::size_t i = 0; i < count; ++i) {
    if (i < third || i >= count - third) rounds.push_back(begin + i);
  }
  return rounds;
}

}  // namespace jitterscope
