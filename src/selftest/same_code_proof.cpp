// The same operation measured twice: how often the tool's rule calls the two different.
#include "selftest/same_code_proof.hpp"

#include <fmt/format.h>

#include "device/virtual/virtual_device.hpp"
#include "physics/preset.hpp"
#include "selftest/proofs.hpp"
#include "selftest/scenes.hpp"
#include "selftest/shares.hpp"

namespace jitterscope::selftest {
namespace {

using physics::Mechanism;

constexpr double kLevel = 0.05;
constexpr double kProcessEffect = 0.002, kSlower = 0.01;
constexpr int kPairsOfStudy = 12;
// Of 12 pairs of equal processes four or more are called different with a probability of 0.2 %, three with 2
// %.
constexpr int kPairsThatTell = 4;

class Process {
 public:
  Process(const Scene& scene, std::uint64_t seed)
      : scene_(scene),
        device_(virtual_gpu::make_virtual_device(scene.gpu, seed)),
        session_(*device_),
        operation_(device_->prepare(scene.operation, {.kind = scene.options.data, .seed = seed})) {}

  /// The operands stay where they are, so that two of one process are of the very same thing.
  Measurement measure(std::uint64_t seed) {
    MeasureOptions options = scene_.options;
    options.seed = seed;
    return session_.measure(*operation_, scene_.operation.text(), options).measurements.at(0);
  }

 private:
  const Scene& scene_;
  std::unique_ptr<virtual_gpu::VirtualDevice> device_;
  Session session_;
  std::unique_ptr<PreparedOperation> operation_;
};

bool differ_in_one_process(const Scene& scene, std::uint64_t seed) {
  Process process(scene, seed);
  const Measurement first = process.measure(seed), second = process.measure(seed + 1);
  return are_called_different(first, second);
}

bool differ_in_two_processes(const Scene& first, const Scene& second, std::uint64_t seed) {
  const std::uint64_t other = trial_seed(seed, "other process", 0);
  return are_called_different(Process(first, seed).measure(seed), Process(second, other).measure(other));
}

/// The steps of the whole proof, for progress.
class Steps {
 public:
  Steps(ProofContext& context, std::size_t total) : context_(context), total_(total) {}
  std::uint64_t begin(const std::string& name) {
    context_.begin_step(number_, total_, name);
    return trial_seed(context_.seed(), "same code", number_++);
  }

 private:
  ProofContext& context_;
  std::size_t total_, number_ = 0;
};

ProofLine one_process_line(Steps& steps, const Scene& scene, std::size_t pairs) {
  Share different;
  for (std::size_t i = 0; i < pairs; ++i)
    different.add(differ_in_one_process(scene, steps.begin(scene.name)));
  return at_most_line(
      "called different, " + scene.name, different, kLevel,
      "one process measured it twice; different: the 95 % interval of the shift of round times "
      "excludes zero, and that of their cycles does on the same side");
}

ProofLine slower_line(Steps& steps, const SameCodePlan& plan) {
  Share different;
  for (std::size_t i = 0; i < plan.slower_pairs; ++i) {
    const std::uint64_t seed = steps.begin(plan.slower.name);
    different.add(differ_in_two_processes(plan.usual, plan.slower, seed));
  }
  return at_least_line("called different, " + plan.slower.name, different, 0.9, true,
                       "a difference of 1 % is found by the same rule, so it does not pass by silence");
}

// That two processes differ, no one of them can know; twelve pairs of them can.
ProofLine process_line(Steps& steps, const SameCodePlan& plan) {
  Share found, different;
  for (std::size_t study = 0; study < plan.studies; ++study) {
    std::int64_t differing = 0;
    for (int pair = 0; pair < kPairsOfStudy; ++pair) {
      const std::uint64_t seed = steps.begin(plan.process_effect.name);
      const bool differs = differ_in_two_processes(plan.process_effect, plan.process_effect, seed);
      differing += differs ? 1 : 0;
      different.add(differs);
    }
    found.add(differing >= kPairsThatTell);
  }
  return at_least_line(
      "processes found to differ, " + plan.process_effect.name, found, 0.9, true,
      fmt::format(
          "studies of {} pairs in which {} or more are called different, where 0.2 % of studies would "
          "if processes were alike; of single pairs {} are called different: the interval of one "
          "process knows nothing of the next",
          kPairsOfStudy, kPairsThatTell, share_text(different)));
}

}  // namespace

bool are_called_different(const Measurement& first, const Measurement& second) {
  struct Series {
    explicit Series(const Measurement& measurement) {
      for (const Round& round : measurement.rounds) {
        times.push_back(round.time().value());
        if (round.clock) clocks.push_back(round.clock->value());
      }
      if (clocks.size() != times.size()) clocks.clear();
    }
    std::vector<double> times, clocks;
  };
  const Series before(first), after(second);
  const auto difference =
      statistics::find_difference({before.times, before.clocks}, {after.times, after.clocks});
  return difference && difference->differs;
}

SameCodePlan same_code_plan(bool quick) {
  const physics::Parameters quiet = physics::find_preset("quiet"), h200 = physics::find_preset("h200");
  physics::Parameters stepping = h200, unlike = quiet;
  stepping.clock_states.depth = 0.023;
  const physics::Parameters usual = one_process("h200");
  physics::Parameters slower = usual;
  // A drift that is over at once.
  slower.noise.drift = kSlower;
  slower.noise.drift_time = Nanoseconds(1);
  unlike.noise.process_sd = kProcessEffect;
  const Operation operation = long_convolution();
  const MeasureOptions options = one_load(Load::burst);
  return {.one_process = {{"quiet GPU", quiet, operation, options},
                          {"H200", h200, operation, options},
                          {"clock states of 2.3 %", stepping, operation, options}},
          .process_effect = {"process effect of 0.2 %", unlike, operation, options},
          .usual = {"H200", usual, operation, options},
          .slower = {"1 % slower H200", slower, operation, options},
          .pairs = quick ? std::size_t{300} : std::size_t{2000},
          .slower_pairs = quick ? std::size_t{50} : std::size_t{500},
          .studies = quick ? std::size_t{15} : std::size_t{150}};
}

std::vector<ProofLine> prove_same_code(ProofContext& context, const SameCodePlan& plan) {
  Steps steps(context,
              plan.one_process.size() * plan.pairs + plan.slower_pairs + plan.studies * kPairsOfStudy);
  std::vector<ProofLine> lines;
  for (const Scene& scene : plan.one_process) lines.push_back(one_process_line(steps, scene, plan.pairs));
  lines.push_back(slower_line(steps, plan));
  lines.push_back(process_line(steps, plan));
  return lines;
}

std::vector<ProofLine> prove_same_code(ProofContext& context) {
  return prove_same_code(context, same_code_plan(context.quick()));
}

}  // namespace jitterscope::selftest
