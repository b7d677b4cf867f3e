#include <memory>

#include <fmt/format.h>

#include "cli/completion.hpp"
#include "cli/invocation.hpp"
#include "cli/reference_pages.hpp"
#include "jitterscope/version.hpp"
#include "output/output_file.hpp"

namespace jitterscope::cli {
namespace {

constexpr const char* kReferenceExamples = R"(Examples:
  jitterscope reference operations
  jitterscope reference man | man -l -
  source <(jitterscope reference bash)
  source <(jitterscope reference zsh)
  jitterscope reference fish | source

Exit codes: 0 done, 2 usage.)";

std::vector<std::string> known_words() {
  std::vector<std::string> words = {"man", "bash", "zsh", "fish"};
  for (const ReferencePage& page : reference_pages()) words.emplace_back(page.name);
  return words;
}

std::string reference_text(const std::string& what, const CommandDescription& tool) {
  if (what == "man") return manual_page(manual_document(tool), std::string(version()));
  for (const ReferencePage& page : reference_pages()) {
    if (page.name == what) return markdown(page.make(tool));
  }
  return completion_script(what);
}

}  // namespace

void add_reference_command(CLI::App& app, Invocation&) {
  auto what = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "reference", "print the manual page, completions for shells, or pages of the reference");
  command->add_option("what", *what, "page to print")->required()->check(CLI::IsMember(known_words()));
  command->footer(kReferenceExamples);
  command->callback([what, &app] { print_result(reference_text(*what, describe(app))); });
}

}  // namespace jitterscope::cli
