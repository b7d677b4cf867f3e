// Where a run's record goes: a table for people, and the files that were named.
#pragma once

#include <optional>
#include <string>

#include "cli/report_files.hpp"
#include "cli/run_flags.hpp"
#include "measure/run_record.hpp"
#include "output/output_file.hpp"
#include "output/page.hpp"

namespace jitterscope::cli {

class RunFiles {
 public:
  /// `json`: that of the flags, or the file that is continued. Throws where one cannot be written, before
  /// anything is measured.
  RunFiles(const std::string& json, const RunFlags& flags);

  /// Nothing where there is none, or where it is standard output.
  std::optional<std::string> json_file() const;
  /// The table too, unless one of the files is standard output.
  void write(const RunRecord& record, const Page& page);

 private:
  bool takes_standard_output_;
  std::optional<OutputFile> json_, csv_, csv_launches_;
  ReportFiles report_;
};

}  // namespace jitterscope::cli
