// The judge: pairs of processes, chains on its own clock, links and outputs checked.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "judge/verdict.hpp"
#include "judge/worker.hpp"

namespace jitterscope::judging {

struct JudgeRequest {
  std::string reference;
  std::vector<std::string> candidates;
  std::vector<CaseValues> cases = {CaseValues{}};
  std::int64_t pairs = 8;   ///< of fresh processes
  std::int64_t blocks = 9;  ///< in a pair; each has two chains of each side and two without calls
  Nanoseconds chain_time = milliseconds(100);
  double margin = 0.01;
  Key session;                                            ///< all keys follow from it
  std::function<void(const std::string&)> progress = {};  ///< told what is done next
  std::function<bool()> interrupted = {};
};

/// Judges each candidate in each case. Throws FailedError if the reference fails: then there is nothing to
/// judge by; then nothing is said of any candidate.
std::vector<CandidateJudgement> judge(const JudgeRequest& request, const StartWorker& start);

}  // namespace jitterscope::judging
