// The steps of `advise`: what is measured, in which order, within a budget.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/study_arms.hpp"
#include "study/advice.hpp"

namespace jitterscope::cli {

struct Invocation;

struct AdviceRequest {
  std::vector<std::string> targets;
  std::string only, provider = "auto", device = "auto";
  std::vector<std::string> allowed;  ///< studies; empty: all
  MeasureOptions options;            ///< of bursts, in one cache state
  std::int64_t processes = 3;
  Nanoseconds budget = seconds(300);
};

class AdvisedWork {
 public:
  /// Reads the work. Fills device and title of the record, whose goal, margin and tolerance are there. Throws
  /// UsageError where nothing of it can run on the device.
  AdvisedWork(AdviceRequest request, const Invocation& invocation, study::AdviceRecord& record);

  /// What would be tried, for --dry-run.
  std::string plan_text();
  /// Measures the work as it is, step after step what is left to try, and in the end the sum. Ctrl-C ends it
  /// with what is known.
  void advise();

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
  void learn_durations(std::span<const Nanoseconds> durations, const WorkList& work, std::size_t alternatives,
                       bool verified);
  Nanoseconds time_left() const;
  void say(const std::string& stage) const;
  void recommend(const study::Study& study, const std::string& arm);

  AdviceRequest request_;
  const Invocation& invocation_;
  study::AdviceRecord& record_;
  WorkList work_;                  ///< as it is
  std::vector<AppliedArm> taken_;  ///< in the order in which they were taken
  Nanoseconds began_;
  /// Of one trial in one process, as the last comparison took it, and without verification.
  Nanoseconds time_of_trial_;
  /// How long verification took in the last comparison that had one, over what verification_time says.
  double verification_factor_ = 1.0;
};

}  // namespace jitterscope::cli
