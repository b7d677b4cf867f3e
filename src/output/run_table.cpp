#include "output/run_table.hpp"

#include "output/display_text.hpp"
#include "output/operation_label.hpp"
#include "output/run_sections.hpp"

namespace jitterscope {
namespace {

void append_section(std::string& text, const std::string& section) {
  if (section.empty()) return;
  if (!text.empty()) text += '\n';
  text += section;
}

}  // namespace

std::string run_table(const RunRecord& record) {
  std::vector<std::string> operations;
  for (const Result& result : record.results) operations.push_back(one_line(result.operation));
  const OperationLabels names = label_operations(operations);
  const ConditionLabels labels = label_conditions(record);
  std::string text = run_header(record, labels);
  if (record.results.empty()) {
    append_section(text, "Nothing was measured.\n");
  } else if (record.results.size() == 1) {
    append_section(text, single_operation_table(record, labels));
  } else {
    if (!names.common.empty())
      text += wrapped("The same in all operations that have it: " + names.common + '.', kPageWidth);
    append_section(text, several_operations_table(record, labels, names.labels));
    append_section(text, engines_section(record, names.labels));
  }
  append_section(text, kernels_section(record));
  append_section(text, iterations_section(record, names.labels));
  append_section(text, sequence_section(record, labels, names.labels));
  append_section(text, record_section(record));
  append_section(text, run_notes(record, labels, names.labels));
  return text;
}

}  // namespace jitterscope
