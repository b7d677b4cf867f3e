#include "judge/judge.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "judge/trial.hpp"

namespace jitterscope::judging {

std::vector<CandidateJudgement> judge(const JudgeRequest& request, const StartWorker& start) {
  std::vector<CandidateJudgement> judged;
  std::uint64_t number = 0;
  for (const std::string& candidate : request.candidates) {
    judged.push_back({.candidate = candidate, .cases = {}});
    for (const CaseValues& values : request.cases) {
      const auto is_this = [&](const RepeatedLink& each) {
        return each.candidate + 1 == judged.size() && each.each_case == judged.back().cases.size();
      };
      const auto repeated = std::ranges::find_if(request.repeated, is_this);
      // Keys differ between candidates: what one learnt is of no use to the next.
      Trial trial(request, start, candidate, values, number++);
      judged.back().cases.push_back(trial.run(repeated == request.repeated.end() ? nullptr : &*repeated));
    }
  }
  reach_verdicts(judged, request.margin);
  return judged;
}

}  // namespace jitterscope::judging
