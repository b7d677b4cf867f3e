#include "selftest/run_proofs.hpp"

#include <algorithm>
#include <array>

#include "base/names.hpp"
#include "jitterscope/error.hpp"
#include "measure/trials.hpp"
#include "selftest/proof.hpp"
#include "selftest/simulated_run.hpp"

namespace jitterscope::selftest {
namespace {

Nanoseconds expected_time(const Proof& proof, bool quick) {
  return quick ? proof.quick_time : proof.full_time;
}

class ProofLoop {
 public:
  ProofLoop(Device& device, const SelftestRequest& request)
      : request_(request), context_(device, with_progress(request.options)) {}

  void run(SelftestRecord& record, const std::function<void(const SelftestRecord&)>& saved) {
    record.device = context_.description();
    record.seed = context_.seed();
    record.quick = context_.quick();
    const Nanoseconds start = request_.now();
    for (number_ = 1; number_ <= request_.proofs.size() && !context_.is_interrupted(); ++number_) {
      append(record, proof());
      record.duration = request_.now() - start;
      saved(record);
    }
    record.interrupted = context_.is_interrupted();
  }

 private:
  const Proof& proof() const { return *request_.proofs[number_ - 1]; }

  ProofOptions with_progress(ProofOptions options) {
    options.progress = [this](double share, const std::string& what) { report(share, what); };
    return options;
  }

  // Estimates from the time that this proof took so far; from the table until 10 % are done.
  Nanoseconds time_left(double share) const {
    constexpr double kTelling = 0.1;
    const Nanoseconds spent = request_.now() - proof_started_;
    Nanoseconds left = expected_time(proof(), context_.quick()) - spent;
    if (share > kTelling) left = spent * ((1.0 - share) / share);
    left = std::max(left, Nanoseconds(0));
    for (std::size_t later = number_; later < request_.proofs.size(); ++later) {
      left += expected_time(*request_.proofs[later], context_.quick());
    }
    return left;
  }

  void report(double share, const std::string& what) const {
    if (!request_.progress) return;
    request_.progress({number_, request_.proofs.size(), proof().name, what, share, time_left(share)});
  }

  void append(SelftestRecord& record, const Proof& chosen) {
    proof_started_ = request_.now();
    report(0.0, "");
    std::vector<ProofLine> lines;
    try {
      lines = chosen.prove(context_);
    } catch (const InterruptedError&) {
      return;
    } catch (const Error& error) {
      lines = {skipped_line("whole proof", "", error.what())};
      if (error.kind() == ErrorKind::failed) lines.front().verdict = Verdict::missed;
    }
    for (ProofLine& line : lines) {
      line.group = chosen.name;
      record.lines.push_back(std::move(line));
    }
  }

  const SelftestRequest& request_;
  ProofContext context_;
  std::size_t number_ = 1;
  Nanoseconds proof_started_;
};

}  // namespace

void run_proofs(Device& device, const SelftestRequest& request, SelftestRecord& record,
                const std::function<void(const SelftestRecord&)>& saved) {
  ProofLoop(device, request).run(record, saved);
}

Nanoseconds expected_time(std::span<const Proof* const> proofs, bool quick) {
  Nanoseconds sum;
  for (const Proof* proof : proofs) sum += expected_time(*proof, quick);
  return sum;
}

ExitCode exit_code_of(const SelftestRecord& record) {
  if (record.interrupted) return ExitCode::interrupted;
  const auto count = [&](Verdict verdict) {
    return std::count_if(record.lines.begin(), record.lines.end(),
                         [&](const ProofLine& line) { return line.verdict == verdict; });
  };
  return count(Verdict::missed) > 0 || count(Verdict::passed) == 0 ? ExitCode::check_failed : ExitCode::done;
}

namespace {

// The tracer slows what runs after it in its process, so `trace` follows all that is timed in this process.
constexpr std::array kProofs = {
    Proof{"coverage", "how often 95 % intervals hold the truth, in modelled conditions", Place::simulation,
          seconds(8), seconds(150), prove_coverage},
    Proof{"stress", "the same where the method's assumptions are broken, or a finding that says so",
          Place::simulation, seconds(8), seconds(150), prove_stress},
    Proof{"sustained", "the level that a sustained load is said to settle at", Place::simulation, seconds(15),
          seconds(120), prove_sustained},
    Proof{"detectors", "each detector sees a cause of 1 %, and is silent on a quiet GPU", Place::simulation,
          seconds(8), seconds(80), prove_detectors},
    Proof{"comparison", "the same operation is seldom shown to differ from itself, and 0.5 % is found",
          Place::simulation, seconds(12), seconds(900), prove_comparison},
    Proof{"explain", "causes that are there are named with their effects, and none is that is not there",
          Place::simulation, seconds(20), seconds(900), prove_explain},
    Proof{"width", "bias, interval and time needed to ± 0.5 %, against true times of launches",
          Place::simulation, seconds(2), seconds(20), prove_width},
    Proof{"next_process",
          "an interval holds the median over processes, on GPUs as they are, for random operations",
          Place::simulation, seconds(15), seconds(1200), prove_next_process},
    Proof{"collectives",
          "what a transfer takes, who waits and for whom, on clusters whose late rank is known",
          Place::simulation, seconds(30), seconds(150), prove_collectives},
    Proof{"spin", "kernels of known time, on one block, all processors, and eight blocks on each",
          Place::machine, seconds(12), seconds(40), prove_spin},
    Proof{"cycles", "kernels of known cycles, in cycles by the clock read beside them", Place::machine,
          seconds(3), seconds(15), prove_cycles},
    Proof{"copies", "copies of known bytes take time in proportion, and no faster than the memory can",
          Place::machine, seconds(4), seconds(12), prove_copies},
    Proof{"clock", "the clock between stamps against known cycles over the time between marks",
          Place::machine, seconds(1), seconds(3), prove_clock},
    Proof{"trace", "agreement with the tracing library, used alone", Place::machine, seconds(5), seconds(20),
          prove_trace},
    Proof{"pairs", "the same operation measured again by a fresh process lies in the first one's interval",
          Place::machine, seconds(40), seconds(150), prove_pairs},
};

std::vector<std::string> known_names() {
  std::vector<std::string> names;
  for (const Proof& proof : all_proofs()) names.emplace_back(proof.name);
  return names;
}

}  // namespace

std::span<const Proof> all_proofs() { return kProofs; }

std::vector<const Proof*> choose_proofs(Place place, std::span<const std::string> names) {
  const std::vector<std::string> known = known_names();
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw UsageError("--only: there is no proof '" + name + "'" + suggestion(name, known));
    }
  }
  std::vector<const Proof*> chosen;
  for (const Proof& proof : all_proofs()) {
    const bool named = std::find(names.begin(), names.end(), proof.name) != names.end();
    if (named && proof.place == Place::simulation && place == Place::machine) {
      throw UsageError("--only: the proof '" + std::string(proof.name) +
                       "' needs a device whose truth is known; use --device virtual");
    }
    if (names.empty() ? proof.place == place : named) chosen.push_back(&proof);
  }
  if (chosen.empty()) throw UsageError("there is no proof for this device; name some by --only");
  return chosen;
}

namespace {

// Finer than the 0.5 % of `run`: 0.1 µs of a 50 µs kernel are 0.2 %, and the proof's own interval must be
// small against that.
constexpr double kPrecision = 0.0005;
constexpr Nanoseconds kQuickLimit = seconds(0.6), kFullLimit = seconds(3);

}  // namespace

Session& ProofContext::session() {
  if (!session_) session_ = std::make_unique<Session>(device_);
  return *session_;
}

void ProofContext::begin_step(std::size_t number, std::size_t total, const std::string& what) const {
  if (is_interrupted()) throw InterruptedError();
  if (!options_.progress) return;
  options_.progress(static_cast<double>(number) / static_cast<double>(total), what);
}

Measurement measure_warm_burst(ProofContext& context, const Operation& operation) {
  MeasureOptions options = one_load(Load::burst);
  options.precision = kPrecision;
  options.time_limit = context.quick() ? kQuickLimit : kFullLimit;
  options.seed = context.seed();
  options.interrupted = context.options().interrupted;
  const Result result = measure_operation(context.session(), operation, options, false);
  if (context.is_interrupted() || result.measurements.empty()) throw InterruptedError();
  return result.measurements.front();
}

}  // namespace jitterscope::selftest
