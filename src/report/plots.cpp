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
  // Words and tables alone.
  std::vector<Plot> operator()(const PytorchRecord&) const { return {}; }
  std::vector<Plot> operator()(const selftest::SelftestRecord&) const { return {}; }
  std::vector<Plot> operator()(const DoctorReport&) const { return {}; }
};

}  // namespace

std::vector<Plot> plots_of(const AnyRecord& record) { return std::visit(PlotsOf(), record); }

const Plot& main_plot(std::span<const Plot> plots) {
  if (plots.empty()) throw UsageError("this record has nothing to draw: no operation in it has rounds");
  return plots.front();
}

}  // namespace jitterscope
