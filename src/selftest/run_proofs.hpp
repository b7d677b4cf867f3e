// What a proof works with: a device, how thorough to be, and whom to tell.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jitterscope/error.hpp"
#include "measure/session.hpp"
#include "selftest/proof.hpp"

namespace jitterscope::selftest {

/// Time of an operation, burst and warm, measured by a process that did nothing else. Throws FailedError
/// with that process's own words, InterruptedError when the user ends it.
using MeasureInFreshProcess = std::function<TimeEstimate(const Operation& operation, std::uint64_t seed)>;

struct ProofOptions {
  bool quick = false;
  std::uint64_t seed = 1;
  /// Share of the proof that is done, 0 to 1, and what it does now.
  std::function<void(double share, const std::string& what)> progress = {};
  std::function<bool()> interrupted = {};
  MeasureInFreshProcess measure_in_fresh_process = {};
};

class ProofContext {
 public:
  ProofContext(Device& device, ProofOptions options)
      : device_(device), description_(device.describe()), options_(std::move(options)) {}

  Device& device() { return device_; }
  const DeviceDescription& description() const { return description_; }
  /// Calibrated at its first use.
  Session& session();
  const ProofOptions& options() const { return options_; }
  bool quick() const { return options_.quick; }
  std::uint64_t seed() const { return options_.seed; }

  bool is_interrupted() const { return options_.interrupted && options_.interrupted(); }
  /// To be called before each step: tells the user, and throws InterruptedError when they ended it.
  void begin_step(std::size_t number, std::size_t total, const std::string& what) const;

 private:
  Device& device_;
  DeviceDescription description_;
  ProofOptions options_;
  std::unique_ptr<Session> session_;
};

/// One operation timed as `run` times it in a burst with a warm cache. Throws InterruptedError.
Measurement measure_warm_burst(ProofContext& context, const Operation& operation);

// Runs proofs one after the other, and keeps what there is when something goes wrong.

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

// The table of proofs: one file each.

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
