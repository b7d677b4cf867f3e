// A record as a page and as a picture: --html and --plot of every command that measures.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <span>
#include <string>

#include "output/output_file.hpp"
#include "record/record.hpp"

namespace jitterscope::cli {

struct ReportFlags {
  std::string html, plot;

  void add_to(CLI::App& command);
};

class ReportFiles {
 public:
  /// Throws where one cannot be written or drawn, before anything is measured.
  explicit ReportFiles(const ReportFlags& flags);
  void write(const AnyRecord& record) { write({&record, 1}); }
  /// One page of them all; the picture is of the first.
  void write(std::span<const AnyRecord> records);

 private:
  std::optional<OutputFile> html_, plot_;
  std::string plot_name_, python_, vega_;
};

}  // namespace jitterscope::cli
