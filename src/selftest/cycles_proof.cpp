// Kernels that spin for known cycles: the cycles that the tool reports are its time times its clock.
#include "selftest/proof_context.hpp"
#include "selftest/proof_lines.hpp"
#include "selftest/proofs.hpp"

namespace jitterscope::selftest {

std::vector<ProofLine> prove_cycles(ProofContext& context) {
  constexpr double kTolerance = 0.002;
  std::vector<std::int64_t> lengths = {20'000, 100'000, 400'000};  // 10 to 200 µs at 2 GHz
  if (!context.quick()) lengths = {20'000, 50'000, 100'000, 200'000, 400'000};
  std::vector<double> known, reported;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const Operation operation(Spin{.unit = Spin::Unit::cycles, .amount = lengths[i]});
    context.begin_step(i, lengths.size(), operation.text());
    const Measurement measurement = measure_warm_burst(context, operation);
    if (!measurement.cycles) {
      return {skipped_line("reported cycles", "1.000 ± 0.002", "this device cannot tell its clock")};
    }
    known.push_back(static_cast<double>(lengths[i]));
    reported.push_back(measurement.cycles->value());
  }
  return {slope_line("reported cycles", *statistics::fit_line(known, reported), kTolerance,
                     "slope of reported over known cycles; 95 % interval of the fit")};
}

}  // namespace jitterscope::selftest
