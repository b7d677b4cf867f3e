// Writes, reads and prints the record of `judge`: verdicts on candidates against a reference.
#pragma once

#include <string>
#include <vector>

#include "judge/verdict.hpp"
#include "measure/run_record.hpp"
#include "output/html.hpp"
#include "record/json_text.hpp"
#include "report/drawing.hpp"

namespace jitterscope {

struct JudgeRecord {
  Environment environment;
  DeviceDescription device;
  judging::Form form = judging::Form::make;
  std::string reference, session_key;
  std::int64_t processes = 0;
  double margin = 0.01;
  bool is_quick = false;
  CacheState cache = CacheState::produced;  ///< or cold
  bool is_replayed = false;                 ///< with keys that were known before
  std::string isolation;                    ///< strong, weak or none
  std::vector<std::string> has, lacks;      ///< what holds a worker back, and what does not, with the reason
  std::vector<judging::CandidateJudgement> candidates;
  Ceilings ceilings;  ///< of this machine, in the types that were judged
  bool interrupted = false;
};

std::string write_record(const JudgeRecord& record);
Text record_text(const JudgeRecord& record, const ShownPage& shown);
/// Returns what a page of the record begins with.
Headline headline_of(const JudgeRecord& record);
/// Reads the record from a document whose envelope names the command. Throws UsageError.
void read_fields(const Json& document, const std::string& name, JudgeRecord& record);

}  // namespace jitterscope

namespace jitterscope::report {

std::vector<Plot> plots_of(const JudgeRecord& record);

}  // namespace jitterscope::report
