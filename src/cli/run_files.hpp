// Where a run's record goes: a table for people, and the files that were named.
#pragma once

#include <optional>
#include <string>

#include "measure/run_record.hpp"
#include "output/output_file.hpp"
#include "output/page.hpp"

namespace jitterscope::cli {

class RunFiles {
 public:
  /// Empty: none of that kind. Throws where one cannot be written, before anything is measured.
  RunFiles(const std::string& json, const std::string& csv, const std::string& csv_launches);

  /// Nothing where there is none, or where it is standard output.
  std::optional<std::string> json_file() const;
  /// The table too, unless one of the files is standard output.
  void write(const RunRecord& record, const Page& page);

 private:
  bool takes_standard_output_;
  std::optional<OutputFile> json_, csv_, csv_launches_;
};

}  // namespace jitterscope::cli
