// What a gate writes for other programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiment/gate.hpp"
#include "output/output_file.hpp"

namespace jitterscope::cli {

/// Files as they were named on the command line; empty: none.
struct GateFileNames {
  std::string json, junit, markdown;
};

class GateFiles {
 public:
  /// Before anything is measured: throws UsageError where one cannot be written. Where $GITHUB_STEP_SUMMARY is
  /// set, the page of the pull request goes there as well.
  explicit GateFiles(const GateFileNames& names);
  ~GateFiles();
  GateFiles(const GateFiles&) = delete;
  GateFiles& operator=(const GateFiles&) = delete;

  bool takes_standard_output() const { return takes_standard_output_; }
  void write(const std::vector<GateOutcome>& outcomes, bool is_strict);

 private:
  bool takes_standard_output_ = false;
  std::optional<OutputFile> json_, junit_, markdown_;
  std::string summary_;  ///< $GITHUB_STEP_SUMMARY
  int summary_descriptor_ = -1;
};

}  // namespace jitterscope::cli
