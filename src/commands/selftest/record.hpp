// Writes, reads, prints and draws the record of `selftest`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "output/html.hpp"
#include "record/json_text.hpp"
#include "report/drawing.hpp"
#include "selftest/proof.hpp"

namespace jitterscope {

std::string write_record(const selftest::SelftestRecord& record);
Text record_text(const selftest::SelftestRecord& record, const ShownPage& shown);
/// Returns what a page of the record begins with.
Headline headline_of(const selftest::SelftestRecord& record);
/// Reads the record from a document whose envelope names the command. Throws UsageError.
void read_fields(const Json& document, const std::string& name, selftest::SelftestRecord& record);

/// Prints the verdict in one line, then the missed and the skipped lines.
Text selftest_summary(const selftest::SelftestRecord& record, std::size_t width = kPageWidth,
                      bool is_html = false);

/// Prints the verdict, a row for each line, and notes.
Text selftest_table(const selftest::SelftestRecord& record, std::size_t width = kPageWidth);

/// Prints the table with machine, versions, date and command: a section of docs/evidence/truth.md.
std::string selftest_markdown(const selftest::SelftestRecord& record);

/// Lists the proofs that --only can name.
Text proofs_table(std::span<const selftest::Proof> proofs, std::size_t width = kPageWidth);

}  // namespace jitterscope

namespace jitterscope::report {

std::vector<Plot> plots_of(const selftest::SelftestRecord& record);

}  // namespace jitterscope::report
