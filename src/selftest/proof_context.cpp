#include "selftest/proof_context.hpp"

#include "jitterscope/error.hpp"
#include "measure/measure_operation.hpp"
#include "selftest/scenes.hpp"

namespace jitterscope::selftest {
namespace {

// Finer than the 0.5 % that `run` asks for: 0.1 µs of a 50 µs kernel are 0.2 %, and the proof's own interval
// must be small against that.
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
