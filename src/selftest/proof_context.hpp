// What a proof works with: a device, how thorough to be, and whom to tell.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

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

}  // namespace jitterscope::selftest
