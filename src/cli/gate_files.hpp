// What a gate writes for other programs.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <span>
#include <string>

#include "cli/report_files.hpp"
#include "experiment/gate.hpp"
#include "output/output_file.hpp"

namespace jitterscope::cli {

struct GateFileFlags {
  std::string json, junit, markdown;
  ReportFlags report;

  void add_to(CLI::App& command);
};

class GateFiles {
 public:
  /// Before anything is measured: throws UsageError where one cannot be written. Where $GITHUB_STEP_SUMMARY
  /// is set, the page of the pull request goes there as well.
  GateFiles(const GateFileFlags& flags, std::size_t baselines);
  ~GateFiles();
  GateFiles(const GateFiles&) = delete;
  GateFiles& operator=(const GateFiles&) = delete;

  bool takes_standard_output() const { return takes_standard_output_; }
  void write(std::span<const GateOutcome> outcomes, bool is_strict);

 private:
  bool takes_standard_output_ = false;
  std::optional<OutputFile> json_, junit_, markdown_;
  ReportFiles report_;
  std::string summary_;  ///< $GITHUB_STEP_SUMMARY
  int summary_descriptor_ = -1;
};

}  // namespace jitterscope::cli
