// What `jitterscope selftest` prints.
#pragma once

#include <span>
#include <string>

#include "output/page.hpp"
#include "selftest/proof.hpp"

namespace jitterscope {

/// The verdict in one line, then what missed and what was skipped.
std::string selftest_summary(const selftest::SelftestRecord& record, std::size_t width = kPageWidth);

/// The verdict, then a row for each line, and notes below: as wide as that takes.
std::string selftest_table(const selftest::SelftestRecord& record);

/// That table under machine, versions, date and command: a section of docs/evidence/truth.md.
std::string selftest_markdown(const selftest::SelftestRecord& record);

/// The proofs that can be named by --only.
std::string proofs_table(std::span<const selftest::Proof> proofs, std::size_t width = kPageWidth);

}  // namespace jitterscope
