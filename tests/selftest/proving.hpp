// What tests of proofs begin with: a scripted device that tells the truth, and a context on it.
#pragma once

#include <gmock/gmock.h>

#include <utility>
#include <vector>

#include "jitterscope/error.hpp"
#include "selftest/run_proofs.hpp"
#include "support/scripted_device.hpp"

namespace jitterscope::selftest {

constexpr Hertz kScriptedClock = megahertz(1900);

/// Every launch takes what its bytes need at 4 TB/s and 2 µs; recordings add nothing.
inline scripted::Script truthful_script() {
  scripted::Script script;
  script.node_constant = Nanoseconds(0);
  script.clock = [](Nanoseconds) { return kScriptedClock; };
  script.launch_time = [](const scripted::LaunchContext& context) {
    return microseconds(2) + seconds(static_cast<double>(context.operation->bytes().value()) / 4e12);
  };
  return script;
}

/// A device and a context; `device.script()` may begin to lie once `context.session()` is calibrated.
struct Court {
  explicit Court(scripted::Script script = truthful_script(), ProofOptions options = {.quick = true})
      : device(std::move(script)), context(device, std::move(options)) {}

  scripted::ScriptedDevice device;
  ProofContext context;
};

inline std::vector<Verdict> verdicts(const std::vector<ProofLine>& lines) {
  std::vector<Verdict> list;
  for (const ProofLine& line : lines) list.push_back(line.verdict);
  return list;
}

}  // namespace jitterscope::selftest
