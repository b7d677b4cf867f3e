#include "cli/gate_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "cli/run_flags.hpp"
#include "jitterscope/error.hpp"
#include "output/gate_text.hpp"
#include "output/junit.hpp"
#include "record/record.hpp"

namespace jitterscope::cli {
namespace {

void open_file(std::optional<OutputFile>& file, const std::string& name) {
  if (!name.empty()) file.emplace(name);
}

}  // namespace

void GateFileFlags::add_to(CLI::App& command) {
  command.add_option("--json", json, "write the comparison with the one baseline to PATH or - (stdout)");
  command.add_option("--junit", junit, "write JUnit's XML, for a server, to PATH or - (stdout)");
  command.add_option("--markdown", markdown,
                     "write the page of a pull request to PATH or - (stdout); where $GITHUB_STEP_SUMMARY is "
                     "set, it goes there as well");
  report.add_to(command);
}

GateFiles::GateFiles(const GateFileFlags& flags, std::size_t baselines) : report_(flags.report) {
  if (!flags.json.empty() && baselines > 1) {
    throw UsageError(
        fmt::format("--json holds one comparison, and there are {} baselines: name one", baselines));
  }
  const std::vector<std::string> all = {flags.json, flags.junit, flags.markdown};
  const auto on_standard_output = std::ranges::count_if(all, is_stdout);
  if (on_standard_output > 1) {
    throw UsageError("--json, --junit and --markdown would mix on stdout: write all but one to files");
  }
  takes_standard_output_ = on_standard_output > 0;
  open_file(json_, flags.json);
  open_file(junit_, flags.junit);
  open_file(markdown_, flags.markdown);
  const char* summary = std::getenv("GITHUB_STEP_SUMMARY");
  if (summary == nullptr || *summary == '\0') return;
  summary_ = summary;
  summary_descriptor_ = ::open(summary, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (summary_descriptor_ < 0) {
    throw UsageError(
        fmt::format("cannot write '{}', which $GITHUB_STEP_SUMMARY names: {}; unset it, or name a "
                    "file that can be written",
                    summary_, std::strerror(errno)));
  }
}

GateFiles::~GateFiles() {
  if (summary_descriptor_ >= 0) ::close(summary_descriptor_);
}

void GateFiles::write(std::span<const GateOutcome> outcomes, bool is_strict) {
  if (json_) json_->commit(write_record(outcomes.front().record));
  if (junit_) junit_->commit(junit_xml(outcomes, is_strict));
  if (markdown_) markdown_->commit(gate_markdown(outcomes));
  std::vector<AnyRecord> records;
  for (const GateOutcome& outcome : outcomes) {
    if (outcome.failure.empty()) records.emplace_back(outcome.record);
  }
  if (!records.empty()) report_.write(records);
  if (summary_descriptor_ >= 0) {
    // Behind what other steps wrote there, which may not end its last line.
    write_whole(summary_descriptor_, "\n" + gate_markdown(outcomes), summary_);
  }
}

}  // namespace jitterscope::cli
