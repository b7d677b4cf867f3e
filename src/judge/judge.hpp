// The judge: pairs of processes, chains on its own clock, links and outputs checked.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "judge/verdict.hpp"
#include "judge/worker.hpp"

namespace jitterscope::judging {

/// A call of a timed chain that an earlier judgement found to be wrong.
struct RepeatedLink {
  std::size_t candidate = 0, each_case = 0;
  Key key;
  std::int64_t pair = 0, call = 0;
};

struct JudgeRequest {
  std::string reference;
  std::vector<std::string> candidates;
  std::vector<CaseValues> cases = {CaseValues{}};
  std::int64_t pairs = 8;   ///< of fresh processes
  std::int64_t blocks = 9;  ///< in a pair; each has two chains of each side and two without calls
  Nanoseconds blocks_time = Nanoseconds(0);  ///< more blocks until this is over
  Nanoseconds chain_time = milliseconds(100);
  std::size_t room = std::size_t{1} << 30;  ///< bytes of a chain's outputs at most, which all are checked
  std::int64_t links =
      32;  ///< of each pair are computed again: a tenth of the calls skipped is found with 96.6 %
  double margin = 0.01;
  Bytes evicted = Bytes(0);  ///< for calls whose inputs are in no cache: these are read before each; else 0
  Key session;               ///< all keys follow from it
  std::function<void(const std::string&)> progress = {};  ///< told what is done next
  std::function<bool()> interrupted = {};
  /// Told that a candidate begins, returns what says whether its time is over; then it is undecided.
  std::function<std::function<bool()>()> time_limit = {};
  std::vector<RepeatedLink> repeated = {};  ///< tried before all else
};

/// Judges each candidate in each case. Throws FailedError if the reference fails: then there is nothing to
/// judge by; then nothing is said of any candidate.
std::vector<CandidateJudgement> judge(const JudgeRequest& request, const StartWorker& start);

}  // namespace jitterscope::judging
