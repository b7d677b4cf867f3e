// The tool's judgement of itself, as it stands in a file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "output/text.hpp"
#include "record/json_text.hpp"
#include "report/drawing.hpp"
#include "selftest/proof.hpp"

// What `jitterscope selftest` prints.

namespace jitterscope {

std::string write_record(const selftest::SelftestRecord& record);
std::string record_text(const selftest::SelftestRecord& record, const ShownPage& shown);
/// From a document whose envelope says that the command wrote it.
void read_fields(const Json& document, const std::string& name, selftest::SelftestRecord& record);

/// The verdict in one line, then what missed and what was skipped.
std::string selftest_summary(const selftest::SelftestRecord& record, std::size_t width = kPageWidth);

/// The verdict, then a row for each line, and notes below: as wide as that takes.
std::string selftest_table(const selftest::SelftestRecord& record);

/// That table under machine, versions, date and command: a section of docs/evidence/truth.md.
std::string selftest_markdown(const selftest::SelftestRecord& record);

/// The proofs that can be named by --only.
std::string proofs_table(std::span<const selftest::Proof> proofs, std::size_t width = kPageWidth);

}  // namespace jitterscope

namespace jitterscope::report {

std::vector<Plot> plots_of(const selftest::SelftestRecord& record);

}  // namespace jitterscope::report
