#include "report/plots.hpp"

#include "jitterscope/error.hpp"
#include "report/plots/record_plots.hpp"

namespace jitterscope {
namespace {

struct PlotsOf {
  std::vector<Plot> operator()(const RunRecord& record) const { return report::run_plots(record); }
  std::vector<Plot> operator()(const ComparisonRecord& record) const {
    return report::comparison_plots(record);
  }
  std::vector<Plot> operator()(const ExplainRecord& record) const { return report::explain_plots(record); }
  std::vector<Plot> operator()(const study::AdviceRecord& record) const {
    return report::advice_plots(record);
  }
  std::vector<Plot> operator()(const EnginesRecord& record) const { return report::engines_plots(record); }
  std::vector<Plot> operator()(const MethodsRecord& record) const { return report::methods_plots(record); }
  std::vector<Plot> operator()(const study::LossScalingRecord& record) const {
    return report::loss_scaling_plots(record);
  }
  std::vector<Plot> operator()(const PytorchRecord& record) const { return report::pytorch_plots(record); }
  std::vector<Plot> operator()(const selftest::SelftestRecord& record) const {
    return report::selftest_plots(record);
  }
  std::vector<Plot> operator()(const DoctorReport& record) const { return report::doctor_plots(record); }
};

}  // namespace

std::vector<Plot> plots_of(const AnyRecord& record) { return std::visit(PlotsOf(), record); }

const Plot& main_plot(std::span<const Plot> plots) {
  if (plots.empty()) throw UsageError("this record has nothing to draw: nothing in it was measured");
  return plots.front();
}

}  // namespace jitterscope
