// Runs proofs one after the other, and keeps what there is when something goes wrong.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "jitterscope/error.hpp"
#include "selftest/proof_context.hpp"

namespace jitterscope::selftest {

struct SelftestProgress {
  std::size_t number = 1, total = 1;  ///< which proof, counted from 1
  std::string_view proof;
  std::string what;
  double share = 0.0;  ///< of this proof
  Nanoseconds time_left;
};

struct SelftestRequest {
  std::vector<const Proof*> proofs;
  ProofOptions options;  ///< its progress is replaced
  std::function<void(const SelftestProgress&)> progress;
  /// The host's time, for durations; a simulation's own clock says nothing of how long a person waits.
  std::function<Nanoseconds()> now;
};

/// Fills device, seed, quick, lines, duration and interrupted. A proof that the device cannot take part in
/// is a skipped line with the reason, one that fails is a missed one. The proof that an interruption ends is
/// left out: half of it proves nothing. `saved` is called after each proof.
void run_proofs(Device& device, const SelftestRequest& request, SelftestRecord& record,
                const std::function<void(const SelftestRecord&)>& saved);

/// Time that the proofs are expected to take.
Nanoseconds expected_time(std::span<const Proof* const> proofs, bool quick);

/// done; interrupted; check_failed where a line missed or none passed.
ExitCode exit_code_of(const SelftestRecord& record);

}  // namespace jitterscope::selftest
