#include "study/study.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"
#include "jitterscope/error.hpp"
#include "operation/words.hpp"
#include "study/studies/studies.hpp"

namespace jitterscope::study {

const std::vector<Study>& all_studies() {
  static const std::vector<Study> studies = {studies::layout(),   studies::precision(), studies::engine(),
                                             studies::batch(),    studies::graph(),     studies::pinned(),
                                             studies::compiler(), studies::occupancy()};
  return studies;
}

const Study& find_study(const std::string& id) {
  const auto found = std::ranges::find(all_studies(), id, &Study::id);
  if (found != all_studies().end()) return *found;
  std::vector<std::string> known;
  for (const Study& study : all_studies()) known.push_back(study.id);
  throw UsageError(fmt::format("there is no study '{}'{}", printable(id, 60), suggestion(id, known)));
}

}  // namespace jitterscope::study
