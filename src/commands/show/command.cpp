#include <fmt/format.h>

#include "cli/invocation.hpp"
#include "cli/output_flags.hpp"
#include "cli/targets.hpp"
#include "commands/records.hpp"
#include "output/output_file.hpp"

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

Exit codes: 0 done, 2 a file is missing or not a record.)";

void show(const ShowFlags& flags) {
  std::string text;
  for (const std::string& file : flags.files) {
    const AnyRecord record = read_record(read_text(file), file == "-" ? "standard input" : file);
    if (!text.empty()) text += '\n';
    text += record_text(record, flags.page.shown());
  }
  print_result(text);
}

}  // namespace

void add_show_command(CLI::App& app) {
  const auto [command, flags] =
      declare_command<ShowFlags>(app, "show", "print a record that a command wrote by --json", kShowExamples,
                                 [](const ShowFlags& typed, const CLI::App&) { show(typed); });
  command.add_option("files", flags.files, "records of any command; - is standard input")->required();
  flags.page.add_to(command);
}

}  // namespace jitterscope::cli
