// The work that `advise` measures: as it is, with each remedy, and with all that were taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cli/compared_work.hpp"
#include "cli/invocation.hpp"
#include "cli/targets.hpp"
#include "commands/advise/record.hpp"
#include "commands/records.hpp"
#include "jitterscope/measurement.hpp"
#include "measure/verify.hpp"
#include "study/advice.hpp"

namespace jitterscope::cli {

struct AdviceRequest {
  std::vector<std::string> targets;
  std::string only, provider = "auto", device = "auto";
  std::vector<std::string> allowed;  ///< ids of studies; empty: all
  MeasureOptions options;            ///< for bursts in one cache state
  std::int64_t processes = 3;
  Nanoseconds budget = seconds(300);
};

/// Measures the work and tries remedies step by step within a budget.
class AdvisedWork {
 public:
  /// Reads the work. Fills the record's device and title; goal, margin and tolerance must be set. Throws
  /// UsageError if none of the work can run on the device.
  AdvisedWork(AdviceRequest request, const Invocation& invocation, study::AdviceRecord& record);

  /// Returns the remedies that would be tried, for --dry-run.
  std::string plan_text();
  /// Measures the work as it is, then in each step the remedies that are left, and last the remedies taken
  /// together. After Ctrl-C the record holds what is known.
  void advise();
  /// Says by how much the times that the program's record holds differ from those measured here; empty if
  /// they are within 25 %, or not all known.
  std::string unlike_the_program() const;

 private:
  void observe();
  std::vector<AppliedArm> arms_to_try(const WorkList& work);
  bool step();
  void measure_together();
  ComparisonRecord compare(const std::vector<std::vector<AppliedArm>>& alternatives, const WorkList& work,
                           const std::vector<std::string>& names, const MeasureOptions& options, bool verify);
  ComparedAlternative applied(const std::string& label, std::span<const AppliedArm> arms,
                              const WorkList& work, const MeasureOptions& options) const;
  Nanoseconds duration_of(std::size_t trials) const;
  Nanoseconds verification_of(const WorkList& work, std::size_t alternatives) const;
  std::size_t leave_out_verified(ComparedWork& work, bool verify) const;
  void remember_verified(ComparisonRecord& record);
  void note_verified();
  void learn_durations(std::span<const Nanoseconds> durations, const WorkList& work, std::size_t alternatives,
                       Nanoseconds foreseen);
  Nanoseconds time_left() const;
  void say(const std::string& stage) const;
  void recommend(const AppliedArm& taken);

  AdviceRequest request_;
  const Invocation& invocation_;
  study::AdviceRecord& record_;
  WorkList work_;                  ///< the work as it is
  std::vector<AppliedArm> taken_;  ///< in the order in which they were taken
  Nanoseconds began_;
  /// Time of one trial in one process of the last comparison, without verification.
  Nanoseconds time_of_trial_;
  /// Verifications by the operation's text: later comparisons run the same operations again.
  std::map<std::string, Verification> verified_;
  /// Measured over predicted (verification_time) duration of the last verification.
  double verification_factor_ = 1.0;
};

}  // namespace jitterscope::cli
