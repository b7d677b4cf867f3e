#include "output/explanation_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "measure/estimate.hpp"
#include "output/accounts_section.hpp"
#include "output/display_text.hpp"
#include "output/ratio_text.hpp"
#include "output/table.hpp"

namespace jitterscope {
namespace {

using explain::DoseEffect;
using explain::Explanation;
using explain::FactorResult;
using explain::Observation;
using explain::RandomFactor;
using explain::Variation;

std::string conclusions_section(const ExplainRecord& record, std::size_t width) {
  std::string text;
  for (const std::string& sentence : record.conclusions) {
    text += wrapped("- " + one_line(sentence), width, 2);
  }
  return text.empty() ? "Nothing was found out before the study was ended.\n" : text;
}

std::string subject_line(const ExplainRecord& record, std::size_t width) {
  const Explanation& explanation = *record.study;
  std::vector<std::string> facts = {one_of_calls(one_line(explanation.operation), record.calls)};
  if (!explanation.provider.empty()) facts.push_back(explanation.provider);
  facts.push_back(one_line(record.device.name));
  if (explanation.blocks > 0) facts.push_back(counted(explanation.blocks, "block") + " of pairs");
  facts.push_back(duration_text(explanation.duration));
  return wrapped(joined(facts), width);
}

// What comes once, part by part: each is taken off the one that holds it.
std::string first_work_section(const explain::FirstWork& work, std::size_t width) {
  std::vector<std::string> parts;
  const auto add = [&](const char* what, Nanoseconds time) {
    constexpr Nanoseconds kNothing = microseconds(1);
    if (time > kNothing) parts.push_back(fmt::format("{} {}", what, duration_text(time)));
  };
  if (work.preparation_again) {
    const Nanoseconds memory = work.allocation.value_or(Nanoseconds(0));
    add("libraries and handles", work.preparation - *work.preparation_again);
    add(work.allocation ? "a plan and the operands' contents" : "a plan, memory and its contents",
        *work.preparation_again - memory);
    add("memory", memory);
  } else {
    add("libraries, a plan, memory and its contents", work.preparation);
  }
  add("the first launch beyond a later one", work.launch - work.later_launch);
  if (parts.empty()) return {};
  std::string text = fmt::format("Paid once, by the host: {}.", joined(parts));
  if (!work.launch_in_processes.empty()) {
    const auto [least, most] = std::ranges::minmax(work.launch_in_processes);
    const std::size_t count = work.launch_in_processes.size();
    const std::string from = duration_text(least), to = duration_text(most);
    text += fmt::format(" In {} the first launch took {}.",
                        count == 1 ? "a fresh process" : fmt::format("{} fresh processes", count),
                        from == to ? from : fmt::format("{} to {}", from, to));
  }
  return wrapped(text, width);
}

std::string observation_section(const Observation& observation, std::size_t width) {
  if (observation.loops.empty()) return {};
  std::string text = fmt::format(
      "Seen in {}: {} between events around a launch ({} for 90 % of launches), {} (standard "
      "deviation) within a loop, {} between loops.",
      counted(std::ssize(observation.loops), "plain loop"), time_text(observation.median),
      time_range_text(observation.p5, observation.p95), percent_text(observation.within_loops),
      percent_text(observation.between_loops));
  if (!observation.modes.empty()) {
    std::vector<std::string> modes;
    for (const Mode& mode : observation.modes) {
      modes.push_back(fmt::format("{} ({})", time_text(mode.location), percent_text(mode.weight)));
    }
    text += fmt::format(" Levels: {}; {} on average.", joined(modes), time_text(observation.mean));
  }
  if (observation.recurrence) {
    text += fmt::format(" Slow calls recur: {}.", recurrence_text(*observation.recurrence));
  }
  return wrapped(text, width) + first_work_section(observation.first_work, width);
}

struct FactorColumns {
  TableColumn factor{"factor", Align::left, {}}, dose{"with", Align::left, {}},
      time{"time", Align::right, {}}, clock{"clock", Align::right, {}, 2},
      screened{"among all others", Align::right, {}, 1}, verdict{"verdict", Align::left, {}};

  void add(const std::string& name, const std::string& what, const std::optional<RatioEstimate>& in_time,
           const std::optional<RatioEstimate>& in_clock, const std::optional<RatioEstimate>& in_screening,
           std::string_view words) {
    const auto cell = [](const std::optional<RatioEstimate>& ratio) {
      return ratio ? change_of(*ratio) : std::string(kAbsent);
    };
    factor.cells.push_back(name);
    dose.cells.push_back(what);
    time.cells.push_back(cell(in_time));
    clock.cells.push_back(cell(in_clock));
    screened.cells.push_back(cell(in_screening));
    verdict.cells.emplace_back(words);
  }
};

std::string factors_table(const Explanation& explanation, const Page& page) {
  FactorColumns columns;
  for (const FactorResult& factor : explanation.factors) {
    if (factor.doses.empty()) continue;
    for (std::size_t i = 0; i < factor.doses.size(); ++i) {
      const DoseEffect& dose = factor.doses[i];
      const bool is_strongest = i == factor.strongest;
      if (!is_strongest && !page.details) continue;
      columns.add(factor.id, dose.dose, dose.time, dose.clock, is_strongest ? factor.screened : std::nullopt,
                  is_strongest ? explain::to_string(factor.verdict) : "");
    }
  }
  if (columns.factor.cells.empty()) return {};
  for (const explain::DummyEffect& dummy : explanation.dummies) {
    columns.add("dummy", "nothing", dummy.paired, std::nullopt, dummy.screened, "noise");
  }
  return fitted_table(
      {columns.factor, columns.dose, columns.time, columns.clock, columns.screened, columns.verdict},
      page.width);
}

std::string random_factors_section(const Explanation& explanation, std::size_t width) {
  std::string text;
  for (const RandomFactor& factor : explanation.random_factors) {
    const std::string spread =
        factor.not_available.empty()
            ? fmt::format("{} (standard deviation; 95 %: {} to {}), {} seen", percent_text(factor.deviation),
                          percent_text(factor.low), percent_text(factor.high), factor.levels)
            : "not known, " + factor.not_available;
    text += wrapped(fmt::format("- {}: {}", factor.cause, spread), width, 2);
  }
  return text.empty() ? text : "Beyond what rounds differ by, the time differs with\n\n" + text;
}

std::string_view variation_words(Variation variation) {
  switch (variation) {
    case Variation::position: return "the launch's place in its loop";
    case Variation::idle: return "the idle before the loop";
    case Variation::clock: return "the clock";
    case Variation::loop: return "the loop (placement and more)";
    case Variation::rest: break;
  }
  return "nothing that was seen: the rest";
}

std::string variation_table(const Observation& observation, std::size_t width) {
  if (observation.shares.empty()) return {};
  TableColumn causes{"plain loops vary with", Align::left, {}}, shares{"share", Align::right, {}},
      intervals{"95 % interval", Align::right, {}};
  for (const explain::VariationShare& share : observation.shares) {
    causes.cells.emplace_back(variation_words(share.variation));
    shares.cells.push_back(percent_text(share.share));
    intervals.cells.push_back(fmt::format("{} to {}", percent_text(share.low), percent_text(share.high)));
  }
  return fitted_table({causes, shares, intervals}, width);
}

std::string open_section(const Explanation& explanation, std::size_t width) {
  std::string text;
  for (const FactorResult& factor : explanation.factors) {
    std::string reason = one_line(factor.reason);
    if (factor.blocks_to_decide) {
      reason += fmt::format("{}about {} blocks would probably decide", reason.empty() ? "" : "; ",
                            *factor.blocks_to_decide);
    }
    if (reason.empty()) continue;
    text +=
        wrapped(fmt::format("- {}, {}: {}", factor.id, explain::to_string(factor.verdict), reason), width, 2);
  }
  return text;
}

std::string meaning_section(const ExplainRecord& record, const Page& page) {
  std::vector<std::string> sentences = record.notes;
  if (page.details && record.study) {
    sentences.push_back(fmt::format(
        "time: with the dose against the plain loop, in pairs within blocks, ± half of the 95 % interval. among "
        "all others: strongest dose against none in {}, the mean over the other factors' levels. cause: shown "
        "beside all other effects (Holm), above {} and growing with its dose; cleared: within ± {}.",
        counted(record.study->screening_rounds, "round"), percent_text(explain::kMaterial),
        percent_text(explain::kMaterial)));
  }
  if (record.study && !record.study->without_counters.empty()) {
    sentences.push_back("Causes without hardware counters: " + record.study->without_counters + '.');
  }
  if (record.interrupted) sentences.emplace_back("Interrupted: this is what was known by then.");
  std::string text;
  for (const std::string& sentence : sentences) text += wrapped(sentence, page.width);
  return text;
}

}  // namespace

std::string one_of_calls(const std::string& operation, std::int64_t calls) {
  return calls > 1 ? fmt::format("one of the {} calls of {}", calls, operation) : operation;
}

std::string explanation_table(const ExplainRecord& record, const Page& page) {
  std::vector<std::string> sections = {conclusions_section(record, page.width)};
  if (record.study) {
    const Explanation& explanation = *record.study;
    sections.insert(
        sections.end(),
        {subject_line(record, page.width) + observation_section(explanation.observation, page.width),
         factors_table(explanation, page), variation_table(explanation.observation, page.width),
         random_factors_section(explanation, page.width), open_section(explanation, page.width)});
  }
  sections.push_back(accounts_section(record.accounts, page));
  sections.push_back(meaning_section(record, page));
  std::erase(sections, std::string());
  return joined(sections, "\n");
}

std::string factors_text(const std::vector<explain::Factor>& factors, const std::string& subject,
                         Nanoseconds time_limit, std::size_t width) {
  std::string text =
      wrapped(fmt::format("About {} with {}:", duration_text(time_limit), subject), width) + '\n';
  for (const explain::Factor& factor : factors) {
    std::vector<std::string> doses;
    for (const explain::Dose& dose : factor.doses) doses.push_back(dose.text);
    text += wrapped(factor.not_available.empty()
                        ? fmt::format("- {}: {}; usually {}", factor.id, joined(doses, "; "), factor.usual)
                        : fmt::format("- {}: not here, {}", factor.id, factor.not_available),
                    width, 2);
  }
  return text;
}

}  // namespace jitterscope
