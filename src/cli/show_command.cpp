#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/page_flags.hpp"
#include "cli/record_files.hpp"
#include "output/comparison_table.hpp"
#include "output/doctor_table.hpp"
#include "output/engines_table.hpp"
#include "output/explanation_table.hpp"
#include "output/methods_table.hpp"
#include "output/pytorch_table.hpp"
#include "output/run_sections.hpp"
#include "output/run_table.hpp"
#include "output/selftest_table.hpp"
#include "output/standard_output.hpp"
#include "record/record.hpp"

namespace jitterscope::cli {
namespace {

struct ShowFlags {
  std::vector<std::string> files;
  PageFlags page;
};

constexpr const char* kShowExamples = R"(Examples:
  jitterscope show result.json
  jitterscope show result.json --details
  jitterscope show resnet18.json --top all --findings none
  jitterscope show monday.json tuesday.json
  zcat result.json.gz | jitterscope show -

Exit codes: 0 done, 2 a file is not there or is no record.)";

// What each command prints when it has found this out.
struct Printed {
  const PageFlags& flags;

  std::string operator()(const RunRecord& record) const {
    return run_table(record, flags.page(is_model(record)));
  }
  std::string operator()(const ComparisonRecord& record) const {
    return comparison_table(record, flags.page(has_several_items(record)));
  }
  std::string operator()(const MethodsRecord& record) const { return methods_table(record, page_width()); }
  std::string operator()(const EnginesRecord& record) const { return engines_table(record, page_width()); }
  std::string operator()(const ExplainRecord& record) const {
    return explanation_table(record, flags.page(record.accounts.size() > 1));
  }
  std::string operator()(const PytorchRecord& record) const { return pytorch_table(record); }
  std::string operator()(const selftest::SelftestRecord& record) const {
    return flags.details ? selftest_table(record) : selftest_summary(record, page_width());
  }
  std::string operator()(const DoctorReport& report) const { return doctor_text(report, page_width()); }
};

void show(const ShowFlags& flags) {
  std::string text;
  for (const std::string& file : flags.files) {
    const AnyRecord record = read_record(read_text(file), file == "-" ? "standard input" : file);
    if (!text.empty()) text += '\n';
    text += std::visit(Printed{flags.page}, record);
  }
  print_result(text);
}

}  // namespace

void add_show_command(CLI::App& app) {
  auto flags = std::make_shared<ShowFlags>();
  CLI::App* command =
      app.add_subcommand("show", "print what a command found out, from the file that it wrote by --json");
  command->add_option("files", flags->files, "records, of any command; - is standard input")->required();
  flags->page.add_to(*command);
  command->footer(kShowExamples);
  command->callback([flags] { show(*flags); });
}

}  // namespace jitterscope::cli
