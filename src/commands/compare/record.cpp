#include "commands/compare/record.hpp"

#include "commands/gate/table.hpp"
#include "output/comparison_table.hpp"
#include "record/describe_run.hpp"
#include "record/envelope.hpp"

namespace jitterscope {

std::string write_record(const ComparisonRecord& record) { return write_envelope("compare", record); }

void read_fields(const Json& document, const std::string& name, ComparisonRecord& record) {
  record = read_envelope<ComparisonRecord>(document, name);
}

std::string record_text(const ComparisonRecord& record, const ShownPage& shown) {
  if (record.baseline) {
    const GateOutcome outcome{record, {}};
    return gate_text({&outcome, 1}, shown.width);
  }
  return comparison_table(record, page_of(shown, has_several_items(record)));
}

}  // namespace jitterscope
