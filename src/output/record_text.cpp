#include "output/record_text.hpp"

#include <variant>

#include "measure/network_total.hpp"
#include "output/advice_table.hpp"
#include "output/comparison_table.hpp"
#include "output/doctor_table.hpp"
#include "output/engines_table.hpp"
#include "output/explanation_table.hpp"
#include "output/gate_text.hpp"
#include "output/loss_scaling_table.hpp"
#include "output/methods_table.hpp"
#include "output/pytorch_table.hpp"
#include "output/run_sections.hpp"
#include "output/run_table.hpp"
#include "output/selftest_table.hpp"

namespace jitterscope {
namespace {

struct RecordPrinter {
  const ShownPage& shown;

  std::string operator()(const RunRecord& record) const {
    return run_table(record, page_of(shown, is_network(record)));
  }
  std::string operator()(const ComparisonRecord& record) const {
    if (record.baseline) {
      const GateOutcome outcome{record, {}};
      return gate_text({&outcome, 1}, shown.width);
    }
    return comparison_table(record, page_of(shown, has_several_items(record)));
  }
  std::string operator()(const MethodsRecord& record) const { return methods_table(record, shown.width); }
  std::string operator()(const EnginesRecord& record) const { return engines_table(record, shown.width); }
  std::string operator()(const ExplainRecord& record) const {
    return explanation_table(record, page_of(shown, record.accounts.size() > 1));
  }
  std::string operator()(const study::AdviceRecord& record) const {
    return advice_table(record, page_of(shown, false));
  }
  std::string operator()(const study::LossScalingRecord& record) const {
    return loss_scaling_table(record, page_of(shown, false));
  }
  std::string operator()(const PytorchRecord& record) const { return pytorch_table(record); }
  std::string operator()(const selftest::SelftestRecord& record) const {
    return shown.details ? selftest_table(record) : selftest_summary(record, shown.width);
  }
  std::string operator()(const DoctorReport& report) const { return doctor_text(report, shown.width); }
};

}  // namespace

Page page_of(const ShownPage& shown, bool is_model) {
  constexpr std::size_t kSlowest = 10;
  Page page;
  page.width = shown.width;
  page.details = shown.details;
  page.top = shown.top;
  if (!shown.top && is_model && !shown.details) page.top = kSlowest;
  page.findings = shown.findings.value_or(shown.details ? FindingsShown::all : FindingsShown::top);
  return page;
}

std::string record_text(const AnyRecord& record, const ShownPage& shown) {
  return std::visit(RecordPrinter{shown}, record);
}

}  // namespace jitterscope
