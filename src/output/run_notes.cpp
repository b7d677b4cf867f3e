#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "measure/run_results.hpp"
#include "output/display_text.hpp"
#include "output/run_sections.hpp"

namespace jitterscope {
namespace {

std::string failures_section(const RunPage& run) {
  const RunRecord& record = run.record;
  std::string text;
  for (std::size_t row = 0; row < record.entries.size(); ++row) {
    const std::string& failure = record.entries[row].result.failure;
    if (failure.empty()) continue;
    text += wrapped(fmt::format("- {}: {}", row_name(run, row), one_line(failure)), run.page.width, 2);
  }
  return text.empty() ? text : "Failed:\n\n" + text;
}

std::string verification_failure(const Verification& verification) {
  std::string text = fmt::format("relative error {:.2g}, more than the tolerance {:.2g}",
                                 verification.relative_error, verification.tolerance);
  if (verification.unwritten > 0) text += fmt::format("; {} elements never written", verification.unwritten);
  return fmt::format("{} ({} of {} elements checked)", text, verification.checked, verification.total);
}

std::string same_formula_note(std::size_t count, std::size_t checked, std::size_t width) {
  const std::string whose = count == checked ? "The" : fmt::format("For {} of them the", count);
  return wrapped(whose +
                     " reference is the same code: rounding and missing elements would show, a wrong "
                     "formula would not.",
                 width);
}

bool is_kernel(const Subject& subject) {
  const Operation* operation = operation_of(subject);
  return operation != nullptr && std::holds_alternative<CudaKernel>(operation->parameters());
}

std::string verification_section(const RunPage& run) {
  const RunRecord& record = run.record;
  std::size_t checked = 0, passed = 0, same_formula = 0, kernels = 0, not_checked = 0;
  double worst = 0.0;
  std::string failures;
  for (std::size_t row = 0; row < record.entries.size(); ++row) {
    const std::optional<Verification>& verification = record.entries[row].result.verification;
    if (!verification) {
      not_checked += record.entries[row].result.failure.empty() ? 1 : 0;
      continue;
    }
    ++checked;
    same_formula += verification->same_formula ? 1 : 0;
    kernels += is_kernel(record.entries[row].result.subject) ? 1 : 0;
    if (verification->passed) {
      ++passed;
      worst = std::max(worst, verification->relative_error);
    } else {
      const std::string line =
          fmt::format("- {}: {}", row_name(run, row), verification_failure(*verification));
      failures += wrapped(line, run.page.width, 2);
    }
  }
  if (checked == 0) {
    const bool is_asked = record.asked && record.asked->verify && not_checked > 0;
    return is_asked ? wrapped("Verified nothing: there is no reference for this.", run.page.width)
                    : std::string();
  }
  const std::string error =
      passed > 0 ? fmt::format("; largest relative error {:.2g}", worst) : std::string();
  // A kernel of one's own is compared with another one that it names.
  const std::string against = kernels == 0         ? "a float64 reference"
                              : kernels == checked ? "the reference kernel"
                                                   : "a float64 reference, kernels against the one they name";
  const std::string summary =
      wrapped(fmt::format("Verified against {}: {} of {} passed{}{}.", against, passed, checked, error,
                          not_checked > 0 ? fmt::format("; {} not verified, without a reference", not_checked)
                                          : std::string()),
              run.page.width);
  const std::string limits =
      same_formula > 0 ? same_formula_note(same_formula, checked, run.page.width) : std::string();
  return failures.empty() ? summary + limits : summary + limits + '\n' + failures;
}

std::string imprecise_line(const RunPage& run) {
  std::size_t measured = 0, missed = 0;
  bool wide = false, unsettled = false;
  double asked = 0.0;
  for (const Result& result : results_of(run.record)) {
    for (const Measurement& measurement : result.measurements) {
      ++measured;
      asked = measurement.precision_asked;
      wide = wide || !rounds_reached_precision(measurement);
      unsettled = unsettled || !has_settled(measurement);
      if (!reached_precision(measurement) || !has_settled(measurement)) ++missed;
    }
  }
  std::vector<std::string> goals;
  if (wide) goals.push_back(fmt::format("± {}", percent_text(asked)));
  if (unsettled) goals.emplace_back("a steady state");
  if (goals.empty()) return {};
  std::string text =
      fmt::format("{} of {} times did not reach {}.", missed, measured, joined(goals, ", or "));
  if (wide && run.record.device.capabilities.is_host)
    text += " A CPU that other programs share seldom gives that.";
  if (run.page.findings == FindingsShown::top) text += " Why: --findings all.";
  return wrapped(text, run.page.width);
}

// Half of memory and more: operands cannot be moved to a second place, so that their interval takes from
// other operations how places differ.
std::string one_placement_line(const RunPage& run) {
  std::vector<std::string> names;
  for (std::size_t row = 0; row < run.record.entries.size(); ++row) {
    const Result& result = run.record.entries[row].result;
    const auto stays = [](const Measurement& measurement) {
      return measurement.conditions.load == Load::burst && !measurement.is_placed_anew;
    };
    const Bytes memory = run.record.device.memory_total;
    const bool fill_memory = memory > Bytes(0) && result.bytes * 2 > memory;
    if (fill_memory && !run.record.device.capabilities.is_host &&
        std::ranges::any_of(result.measurements, stays)) {
      names.push_back(row_name(run, row));
    }
  }
  if (names.empty()) return {};
  return wrapped(fmt::format("Memory holds the operands of {} in one place only: how places differ is in the "
                             "interval as other operations show it, and was not seen.",
                             joined(names)),
                 run.page.width);
}

std::string where_more_is(const RunPage& run) {
  if (run.page.details) return "Every round and launch: --json FILE, --csv-launches FILE.\n";
  return wrapped("More: --details here, --csv FILE a row for each time, --json FILE everything.",
                 run.page.width);
}

}  // namespace

std::string run_notes(const RunPage& run) {
  std::vector<std::string> sections = {failures_section(run), verification_section(run)};
  std::string last = imprecise_line(run) + one_placement_line(run);
  if (run.record.interrupted) last += "Interrupted: these are the results so far.\n";
  if (!run.labels.conditions.empty()) last += where_more_is(run);
  sections.push_back(last);
  std::erase(sections, std::string());
  return joined(sections, "\n");
}

}  // namespace jitterscope
