#include "selftest/proofs.hpp"

#include <algorithm>
#include <array>

#include "base/names.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::selftest {
namespace {

// The tracer slows what follows it in its process, so `trace` comes behind all that time in this process.
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

}  // namespace jitterscope::selftest
