// Runs proofs, and gives each its device, options and progress.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "experiment/run_plan.hpp"
#include "jitterscope/error.hpp"
#include "measure/session.hpp"
#include "selftest/proof.hpp"

namespace jitterscope::selftest {

/// Returns an operation's burst time with a warm cache, measured by a process that did nothing else. Throws
/// FailedError with that process' message, InterruptedError if the user ends it.
using MeasureInFreshProcess = std::function<TimeEstimate(const Operation& operation, std::uint64_t seed)>;

/// Carries a plan out on each rank of a simulated cluster, in fresh processes, and returns the ranks'
/// records.
using MeasureOnRanks = std::function<std::vector<RunRecord>(const std::string& device, std::int64_t ranks,
                                                            const Plan& plan, std::uint64_t device_seed)>;

struct ProofOptions {
  bool quick = false;
  std::uint64_t seed = 1;
  /// Receives the share of the proof that is done, 0 to 1, and the current step.
  std::function<void(double share, const std::string& what)> progress = {};
  std::function<bool()> interrupted = {};
  MeasureInFreshProcess measure_in_fresh_process = {};
  MeasureOnRanks measure_on_ranks = {};
};

class ProofContext {
 public:
  ProofContext(Device& device, ProofOptions options)
      : device_(device), description_(device.describe()), options_(std::move(options)) {}

  Device& device() { return device_; }
  const DeviceDescription& description() const { return description_; }
  /// Calibrates at its first use.
  Session& session();
  const ProofOptions& options() const { return options_; }
  bool quick() const { return options_.quick; }
  std::uint64_t seed() const { return options_.seed; }

  bool is_interrupted() const { return options_.interrupted && options_.interrupted(); }
  /// Must be called before each step. Reports progress; throws InterruptedError if the user ended the proof.
  void begin_step(std::size_t number, std::size_t total, const std::string& what) const;

 private:
  Device& device_;
  DeviceDescription description_;
  ProofOptions options_;
  std::unique_ptr<Session> session_;
};

/// Times an operation as `run` does in a burst with a warm cache. Throws InterruptedError.
Measurement measure_warm_burst(ProofContext& context, const Operation& operation);

// Below: proofs run one after the other; an error costs only its own proof.

struct SelftestProgress {
  std::size_t number = 1, total = 1;  ///< number of the proof, counted from 1
  std::string_view proof;
  std::string what;
  double share = 0.0;  ///< done in this proof, 0 to 1
  Nanoseconds time_left;
};

struct SelftestRequest {
  std::vector<const Proof*> proofs;
  ProofOptions options;  ///< its progress function is replaced
  std::function<void(const SelftestProgress&)> progress;
  /// Returns the host's time, for durations. A simulation's clock does not say how long a person waits.
  std::function<Nanoseconds()> now;
};

/// Fills device, seed, quick, lines, duration and interrupted. If the device cannot take part, the proof is a
/// skipped line with the reason; if it fails, a missed line. An interrupted proof is left out, because half
/// of it proves nothing. Calls `saved` after each proof.
void run_proofs(Device& device, const SelftestRequest& request, SelftestRecord& record,
                const std::function<void(const SelftestRecord&)>& saved);

/// Returns the time that the proofs will probably take.
Nanoseconds expected_time(std::span<const Proof* const> proofs, bool quick);

/// Returns interrupted, check_failed if a line missed or none passed, or done.
ExitCode exit_code_of(const SelftestRecord& record);

// Below: the table of proofs.

/// Returns all proofs in the order in which they run.
std::span<const Proof> all_proofs();

/// Returns the named proofs in the table's order; without names, those of the place. Throws UsageError with
/// the nearest name, or if a simulated proof is named on a real device.
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
std::vector<ProofLine> prove_collectives(ProofContext& context);

}  // namespace jitterscope::selftest
