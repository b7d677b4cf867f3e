// The table of proofs: one file each.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "selftest/proof.hpp"

namespace jitterscope::selftest {

/// All of them, in the order in which they run.
std::span<const Proof> all_proofs();

/// Those of the names, in the table's order; for no names those of the place. Throws UsageError with the
/// nearest known name, or where a simulation is asked for by name on a real device.
std::vector<const Proof*> choose_proofs(Place place, std::span<const std::string> names);

std::vector<ProofLine> prove_coverage(ProofContext& context);
std::vector<ProofLine> prove_stress(ProofContext& context);
std::vector<ProofLine> prove_sustained(ProofContext& context);
std::vector<ProofLine> prove_spin(ProofContext& context);
std::vector<ProofLine> prove_cycles(ProofContext& context);
std::vector<ProofLine> prove_copies(ProofContext& context);
std::vector<ProofLine> prove_clock(ProofContext& context);
std::vector<ProofLine> prove_trace(ProofContext& context);
std::vector<ProofLine> prove_pairs(ProofContext& context);
std::vector<ProofLine> prove_detectors(ProofContext& context);
std::vector<ProofLine> prove_comparison(ProofContext& context);
std::vector<ProofLine> prove_explain(ProofContext& context);
std::vector<ProofLine> prove_width(ProofContext& context);
std::vector<ProofLine> prove_next_process(ProofContext& context);

}  // namespace jitterscope::selftest
