#include "study/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/names.hpp"
#include "jitterscope/error.hpp"
#include "operation/words.hpp"
#include "study/answers.hpp"
#include "study/loss_scaling.hpp"
#include "study/studies/studies.hpp"

namespace jitterscope::study {

const std::vector<Study>& all_studies() {
  static const std::vector<Study> studies = {
      studies::layout(),     studies::precision(), studies::engine(),        studies::batch(),
      studies::graph(),      studies::pinned(),    studies::compiler(),      studies::occupancy(),
      studies::streams(),    studies::overlap(),   studies::dependencies(),  studies::synchronization(),
      studies::priorities(), studies::tiling(),    studies::waves(),         studies::access(),
      studies::hierarchy(),  studies::allocator(), studies::fragmentation(), studies::fusion()};
  return studies;
}

Remedy remedy_of(const Study& study, const std::string& arm, const std::vector<Operation>& operations) {
  const bool of_kernels = !operations.empty() && std::ranges::all_of(operations, runs_own_kernels);
  return of_kernels && study.kernel_remedy != nullptr ? study.kernel_remedy(arm) : study.remedy(arm);
}

std::vector<std::string> subjects_of(const Study& study, const DeviceDescription& device) {
  std::vector<std::string> subjects;
  std::istringstream lines(study.subject(device));
  for (std::string line; std::getline(lines, line);) subjects.push_back(line);
  return subjects;
}

std::vector<StudySummary> list_studies() {
  std::vector<StudySummary> list;
  for (const Study& study : all_studies()) list.push_back({study.id, study.question, study.concerns});
  list.push_back(kLossScaling);
  return list;
}

const Study& find_study(const std::string& id) {
  const auto found = std::ranges::find(all_studies(), id, &Study::id);
  if (found != all_studies().end()) return *found;
  if (id == kLossScaling.id)
    throw UsageError(
        "the study loss-scaling trains a model, and has no arms: jitterscope study loss-scaling");
  std::vector<std::string> known;
  for (const StudySummary& study : list_studies()) known.emplace_back(study.id);
  throw UsageError(fmt::format("there is no study '{}'{}", printable(id, 60), suggestion(id, known)));
}

}  // namespace jitterscope::study
