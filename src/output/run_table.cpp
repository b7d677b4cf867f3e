#include "output/run_table.hpp"

#include "measure/run_results.hpp"
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

std::string common_text(const std::string& common, std::size_t width) {
  if (common.empty()) return {};
  return wrapped("The same in all operations that have it: " + common + '.', width);
}

}  // namespace

std::string run_table(const RunRecord& record, const Page& page) {
  std::vector<std::string> operations;
  for (const Result& result : results_of(record)) operations.push_back(one_line(to_string(result.subject)));
  OperationLabels names = label_operations(operations);
  ConditionLabels labels = label_conditions(record);
  std::vector<std::size_t> rows = shown_rows(record, labels, page);
  const RunPage run{record, std::move(labels), std::move(names.labels), std::move(rows), page};
  const bool several = record.entries.size() > 1;
  std::string text = device_note(run);
  append_section(text, run_header(run));
  if (record.entries.empty()) {
    append_section(text, "Nothing was measured.\n");
  } else if (several) {
    text += common_text(names.common, page.width);
    append_section(text, several_operations_table(run));
    append_section(text, engines_section(run));
  } else {
    append_section(text, single_operation_table(run));
  }
  append_section(text, reference_clock_section(run));
  append_section(text, kernels_section(run));
  append_section(text, counters_section(run));
  append_section(text, iterations_section(run));
  append_section(text, sequence_section(run));
  append_section(text, record_section(run));
  append_section(text, findings_section(run));
  append_section(text, run_notes(run));
  return text;
}

}  // namespace jitterscope
