// What `jitterscope selftest` prints and writes.
#pragma once

#include <span>
#include <string>

#include "selftest/proof.hpp"

namespace jitterscope {

/// A row for each line, its verdict, and below the notes and the count.
std::string selftest_table(const selftest::SelftestRecord& record);

/// The same under machine, versions, date and command: a section of docs/evidence/truth.md.
std::string selftest_markdown(const selftest::SelftestRecord& record);

/// docs/selftest.schema.json describes it.
std::string selftest_json(const selftest::SelftestRecord& record);

/// The proofs that can be named by --only.
std::string proofs_table(std::span<const selftest::Proof> proofs);

}  // namespace jitterscope
