// The plots of the other commands' records.
#pragma once

#include <optional>
#include <vector>

#include "experiment/comparison.hpp"
#include "record/records.hpp"
#include "report/plot.hpp"
#include "selftest/proof.hpp"
#include "study/advice.hpp"
#include "study/loss_scaling.hpp"

namespace jitterscope::report {

std::vector<Plot> run_plots(const RunRecord& record);
std::vector<Plot> comparison_plots(const ComparisonRecord& record);
/// Nothing where its sides keep no rounds.
std::optional<Plot> compared_distribution_plot(const ComparisonRecord& record);
std::vector<Plot> advice_plots(const study::AdviceRecord& record);
std::vector<Plot> explain_plots(const ExplainRecord& record);
std::vector<Plot> engines_plots(const EnginesRecord& record);
std::vector<Plot> methods_plots(const MethodsRecord& record);
std::vector<Plot> loss_scaling_plots(const study::LossScalingRecord& record);
std::vector<Plot> pytorch_plots(const PytorchRecord& record);
std::vector<Plot> selftest_plots(const selftest::SelftestRecord& record);
std::vector<Plot> doctor_plots(const DoctorReport& record);

}  // namespace jitterscope::report
