#include "commands/explain/record.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "explain/conclusions.hpp"
#include "measure/estimate.hpp"
#include "output/account_table.hpp"
#include "output/cells.hpp"
#include "output/text.hpp"
#include "record/describe_account.hpp"
#include "record/describe_run.hpp"
#include "record/envelope.hpp"

namespace jitterscope {

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::LoopStretch>& stretch) {
  fields("first_launch", stretch.first_launch);
  fields("launches", stretch.launches);
  fields("median_seconds", stretch.median);
  fields("clock_hertz", stretch.clock);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::ObservedLoop>& loop) {
  fields("idle_before_seconds", loop.idle_before);
  fields("median_seconds", loop.median);
  fields("minimum_seconds", loop.minimum);
  fields("maximum_seconds", loop.maximum);
  fields("stretches", loop.stretches);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::VariationShare>& share) {
  fields("variation", share.variation);
  fields("share", share.share);
  fields("low", share.low);
  fields("high", share.high);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::FirstWork>& work) {
  fields("preparation_seconds", work.preparation);
  fields("preparation_again_seconds", work.preparation_again);
  fields("allocation_seconds", work.allocation);
  fields("launch_seconds", work.launch);
  fields("later_launch_seconds", work.later_launch);
  fields("launch_in_processes_seconds", work.launch_in_processes);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::Observation>& observation) {
  fields("first_work", observation.first_work);
  fields("median_seconds", observation.median);
  fields("p5_seconds", observation.p5);
  fields("p95_seconds", observation.p95);
  fields("drift", observation.drift);
  fields("modes", observation.modes);
  fields.where(observation.mean > Nanoseconds(0), "mean_seconds", observation.mean);
  fields("recurrence", observation.recurrence);
  fields("within_loops_deviation", observation.within_loops);
  fields("between_loops_deviation", observation.between_loops);
  fields.where(observation.between_stretches > 0.0, "between_stretches_deviation",
               observation.between_stretches);
  fields("shares", observation.shares);
  fields("loops", observation.loops);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::RandomFactor>& factor) {
  fields("id", factor.id);
  fields("cause", factor.cause);
  fields("deviation", factor.deviation);
  fields("low", factor.low);
  fields("high", factor.high);
  fields("levels", factor.levels);
  fields("not_available", factor.not_available);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::DoseEffect>& dose) {
  fields("dose", dose.dose);
  fields("time_ratio", dose.time);
  fields("clock_ratio", dose.clock);
  fields("blocks", dose.blocks);
  fields("p_value", dose.p_value);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::CountedChange>& change) {
  fields("name", change.name);
  fields("quantity", change.quantity);
  fields("unit", change.unit);
  fields("plain", change.plain);
  fields("treated", change.treated);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::HeldClock>& held) {
  fields("is_plain", held.is_plain);
  fields("by_power", held.by_power);
  fields("by_heat", held.by_heat);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::RestedEffect>& effect) {
  fields("time_ratio", effect.time);
  fields("clock_ratio", effect.clock);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::FactorResult>& factor) {
  fields("id", factor.id);
  fields("cause", factor.cause);
  fields("usual", factor.usual);
  fields("remedy", factor.remedy);
  fields("verdict", factor.verdict);
  fields("screened_ratio", factor.screened);
  fields("doses", factor.doses);
  fields("strongest", factor.strongest);
  fields.check(factor.strongest < std::max<std::size_t>(factor.doses.size(), 1), "strongest",
               "the number of one of the doses");
  fields.check(factor.verdict != explain::FactorVerdict::cause || !factor.doses.empty(), "verdict",
               "no cause without a dose");
  fields.where(!factor.counters.empty(), "counters", factor.counters);
  fields("held_clock", factor.held_clock);
  fields("at_low_duty", factor.at_low_duty);
  fields("not_told_from", factor.not_told_from);
  fields("blocks_to_decide", factor.blocks_to_decide);
  fields("reason", factor.reason);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::DummyEffect>& dummy) {
  fields("screened_ratio", dummy.screened);
  fields("paired_ratio", dummy.paired);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::OtherProcess>& other) {
  fields("name", other.name);
  fields("looks", other.looks);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::OtherProcesses>& others) {
  fields("looks", others.looks);
  fields("seen", others.seen);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::FastestLoop::Part>& part) {
  fields("factor", part.factor);
  fields("dose", part.dose);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::FastestLoop>& fastest) {
  fields("parts", fastest.parts);
  fields("time_ratio", fastest.time);
  fields("blocks", fastest.blocks);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::Explanation>& study) {
  fields("operation", study.operation);
  fields("provider", study.provider);
  fields("algorithm", study.algorithm);
  fields("factors", study.factors);
  fields("random_factors", study.random_factors);
  fields.where(!study.others.seen.empty(), "other_processes", study.others);
  fields("dummies", study.dummies);
  fields("screening_rounds", study.screening_rounds);
  fields("blocks", study.blocks);
  fields("plain", study.plain);
  fields("fastest", study.fastest);
  fields.where(!study.without_counters.empty(), "without_counters", study.without_counters);
  fields("duration_seconds", study.duration);
  fields("observation", study.observation);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, explain::ComparedCalls>& calls) {
  fields("together", calls.together);
  fields("of_first", calls.of_first);
  fields("of_second", calls.of_second);
}

template <class Fields>
void describe_content(Fields& fields, Described<Fields, ExplainRecord>& record) {
  fields("conclusions", record.conclusions);
  fields("study", record.study);
  fields.where(record.calls != 1, "calls", record.calls);
  if constexpr (Fields::kWrites) {
    // Written for users of the file only: it follows from the accounts.
    if (const auto total = explain::total_of(record.accounts)) fields("total", *total);
  }
  fields("accounts", record.accounts);
  fields("compared_calls", record.compared_calls);
  fields("notes", record.notes);
}

void run_study(Session& session, const TrialSubject& subject, const explain::ExplainOptions& options,
               ExplainRecord& record) {
  record.study = explain::explain(session, subject, options);
  record.conclusions = explain::conclusions_of(*record.study);
  record.notes.insert(record.notes.end(), record.study->notes.begin(), record.study->notes.end());
  record.interrupted = record.study->interrupted;
}

std::string write_record(const ExplainRecord& record) { return write_envelope("explain", record); }

Text record_text(const ExplainRecord& record, const ShownPage& shown) {
  return explanation_table(record, page_of(shown, record.accounts.size() > 1));
}

namespace {

bool are_all_compared(const ExplainRecord& record) {
  return !record.compared_calls || record.compared_calls->are_all();
}

}  // namespace

Headline headline_of(const ExplainRecord& record) {
  if (record.study) {
    const explain::Observation& seen = record.study->observation;
    Headline headline{.subject = "a launch in plain loops of " + record.study->operation};
    if (!seen.loops.empty()) {
      headline.number = time_text(seen.median);
      headline.error = time_range_text(seen.p5, seen.p95) + " for 90 % of launches";
    } else if (record.study->plain) {
      headline = headline_of(headline.subject, *record.study->plain);
    }
    headline.marks = {record.study->provider, duration_text(record.study->duration)};
    if (record.study->blocks > 0)
      headline.marks.push_back(counted(record.study->blocks, "block") + " of pairs");
    return headline;
  }
  if (record.accounts.empty()) return {.subject = "the difference between two records"};
  const explain::Account& first = record.accounts.front();
  const std::string sides =
      first.is_of_program ? "in PyTorch against alone" : "the second record against the first";
  if (record.accounts.size() == 1)
    return headline_of(fmt::format("{}: {}", explain::name_of(first), sides), first.time);
  const explain::AccountTotal total = *explain::total_of(record.accounts);
  const std::string calls = are_all_compared(record)
                                ? fmt::format("all {} calls", total.calls)
                                : fmt::format("the {} calls that both have", total.calls);
  Headline headline = headline_of(fmt::format("{}: {}", calls, sides), total.time);
  headline.marks = {time_text(total.first.median, total.first.precision()),
                    "then " + time_text(total.second.median, total.second.precision())};
  return headline;
}

void read_fields(const Json& document, const std::string& name, ExplainRecord& record) {
  record = read_envelope<ExplainRecord>(document, name);
}

namespace {

using explain::DoseEffect;
using explain::Explanation;
using explain::FactorResult;
using explain::Observation;
using explain::RandomFactor;
using explain::Variation;

Text conclusions_section(const ExplainRecord& record, std::size_t width) {
  Text text;
  for (const std::string& sentence : record.conclusions) {
    text += list_item(one_line(sentence), width);
  }
  return text.empty() ? "Nothing was found out before the study was ended.\n" : text;
}

Text subject_line(const ExplainRecord& record, std::size_t width) {
  const Explanation& explanation = *record.study;
  std::vector<std::string> facts = {one_of_calls(one_line(explanation.operation), record.calls)};
  if (!explanation.provider.empty()) facts.push_back(explanation.provider);
  facts.push_back(one_line(record.device.name));
  if (explanation.blocks > 0) facts.push_back(counted(explanation.blocks, "block") + " of pairs");
  facts.push_back(duration_text(explanation.duration));
  return wrapped(joined(facts), width);
}

// Lists costs paid once, part by part; each part is subtracted from the one that includes it.
Text first_work_section(const explain::FirstWork& work, std::size_t width) {
  std::vector<std::string> parts;
  const auto add = [&](const char* what, Nanoseconds time, const char* beyond = "") {
    constexpr Nanoseconds kNothing = microseconds(1);
    if (time > kNothing) parts.push_back(fmt::format("{} {}{}", what, duration_text(time), beyond));
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
  add("the first launch", work.launch - work.later_launch, " more than a later one");
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

Text observation_section(const Observation& observation, const Page& page) {
  if (observation.loops.empty()) return {};
  std::string text =
      fmt::format("Seen in {}: events around a launch read {} ({} for 90 % of launches).",
                  counted(std::ssize(observation.loops), "plain loop"), time_text(observation.median),
                  time_range_text(observation.p5, observation.p95));
  if (page.details) {
    text += fmt::format(
        " They differ by {} within a loop, and the loops' medians by {} (standard deviations without odd launches "
        "and odd loops).",
        percent_text(observation.within_loops), percent_text(observation.between_loops));
  }
  if (!observation.modes.empty()) {
    text += fmt::format(" They have levels: {}.",
                        modes_text(observation.modes, observation.recurrence, observation.mean));
  }
  if (observation.recurrence) {
    text += fmt::format(" Slow calls recur: {}.", recurrence_text(*observation.recurrence));
  }
  return wrapped(text, page.width) + first_work_section(observation.first_work, page.width);
}

struct FactorColumns {
  TableColumn factor{"factor", Align::left, {}}, dose{"with", Align::left, {}, 1},
      time{"time", Align::right, {}}, clock{"clock", Align::right, {}, 3},
      screened{"among all others", Align::right, {}, 2}, verdict{"verdict", Align::left, {}};

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

Text factors_table(const Explanation& explanation, const Page& page) {
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
  std::vector<TableColumn> shown = {columns.factor, columns.dose, columns.time, columns.clock};
  if (explanation.screening_rounds > 0) shown.push_back(columns.screened);
  shown.push_back(columns.verdict);
  return fitted_table(shown, page.width);
}

Text random_factors_section(const Explanation& explanation, std::size_t width) {
  Text text;
  for (const RandomFactor& factor : explanation.random_factors) {
    const std::string spread =
        factor.not_available.empty()
            ? fmt::format("{} (standard deviation, 95 %: {} to {}), {} seen", percent_text(factor.deviation),
                          percent_text(factor.low), percent_text(factor.high), factor.levels)
            : "not known, " + factor.not_available;
    text += list_item(fmt::format("{}: {}", factor.cause, spread), width);
  }
  return text.empty() ? text : "The time also differs with\n\n" + text;
}

Text variation_table(const Observation& observation, std::size_t width) {
  if (observation.shares.empty()) return {};
  TableColumn causes{"plain loops vary with", Align::left, {}}, shares{"share", Align::right, {}},
      intervals{"95 % interval", Align::right, {}, 1};
  for (const explain::VariationShare& share : observation.shares) {
    causes.cells.emplace_back(explain::words_for(share.variation));
    shares.cells.push_back(percent_text(share.share));
    intervals.cells.push_back(fmt::format("{} to {}", percent_text(share.low), percent_text(share.high)));
  }
  const std::string deviation = observation.between_stretches > 0.0
                                    ? fmt::format(" (standard deviation {}, odd loops included)",
                                                  percent_text(observation.between_stretches))
                                    : "";
  return fitted_table({causes, shares, intervals}, width) + '\n' +
         wrapped(
             fmt::format(
                 "share: of the variance of the medians of launches 1, 2–3, 4–7, … of each loop{}, not of "
                 "the time.",
                 deviation),
             width);
}

// Names what could not be switched by reason, and what remains to be done about it.
Text unswitched_section(const Explanation& explanation, std::size_t width) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const FactorResult& factor : explanation.factors) {
    if (factor.verdict != explain::FactorVerdict::not_identifiable) continue;
    const std::string reason = one_line(factor.reason);
    const auto known = std::ranges::find_if(reasons, [&](const auto& each) { return each.first == reason; });
    (known == reasons.end() ? reasons.emplace_back(reason, std::vector<std::string>()) : *known)
        .second.push_back(factor.id);
  }
  if (reasons.empty()) return {};
  Text text = wrapped(
      "Not identifiable, because they cannot be switched here: neither causes nor cleared. Where the device is the "
      "reason, another one tells (--device cuda, or a simulated GPU as virtual:h200).",
      width);
  text += "\n";
  for (const auto& [reason, ids] : reasons)
    text += list_item(fmt::format("{}: {}", joined(ids), reason.empty() ? "no reason is recorded" : reason),
                      width);
  return text;
}

Text open_section(const Explanation& explanation, std::size_t width) {
  Text text;
  for (const FactorResult& factor : explanation.factors) {
    if (factor.verdict == explain::FactorVerdict::not_identifiable) continue;
    std::string reason = one_line(factor.reason);
    if (factor.blocks_to_decide && !factor.doses.empty()) {
      reason += fmt::format(
          "{}it had {} of its own, and about {} would probably decide (--factors {} gives it all "
          "the time)",
          reason.empty() ? "" : "; ", counted(factor.doses[factor.strongest].blocks, "block"),
          *factor.blocks_to_decide, factor.id);
    }
    if (reason.empty()) continue;
    text +=
        list_item(fmt::format("{}, {}: {}", factor.id, explain::to_string(factor.verdict), reason), width);
  }
  const Text unswitched = unswitched_section(explanation, width);
  return text.empty() || unswitched.empty() ? text + unswitched : text + "\n" + unswitched;
}

Text meaning_section(const ExplainRecord& record, const Page& page) {
  std::vector<std::string> sentences = record.notes;
  if (page.details && record.study) {
    const std::int64_t rounds = record.study->screening_rounds;
    const std::string screening =
        rounds == 0
            ? ""
            : fmt::format(
                  "among all others: strongest dose against none in {}, the mean over the other factors' levels. ",
                  counted(rounds, "round"));
    sentences.push_back(fmt::format(
        "time: with the dose against the plain loop, in pairs within blocks, ± half of the 95 % interval. {}cause: "
        "shown beside all other effects (Holm), above {} and growing with its dose; cleared: within ± {}.",
        screening, percent_text(explain::kMaterial), percent_text(explain::kMaterial)));
  }
  if (record.study && !record.study->without_counters.empty()) {
    sentences.push_back("The hardware counters of causes were not read: " + record.study->without_counters +
                        '.');
  }
  if (record.interrupted) sentences.emplace_back("Interrupted: this is what was known by then.");
  Text text;
  for (const std::string& sentence : sentences) text += wrapped(sentence, page.width);
  return text;
}

}  // namespace

std::string one_of_calls(const std::string& operation, std::int64_t calls) {
  return calls > 1 ? fmt::format("one of the {} calls of {}", calls, operation) : operation;
}

Text explanation_table(const ExplainRecord& record, const Page& page) {
  std::vector<Text> parts = {conclusions_section(record, page.width)};
  if (record.study) {
    const Explanation& explanation = *record.study;
    parts.insert(parts.end(),
                 {subject_line(record, page.width) + observation_section(explanation.observation, page),
                  factors_table(explanation, page), variation_table(explanation.observation, page.width),
                  random_factors_section(explanation, page.width), open_section(explanation, page.width)});
  }
  parts.push_back(accounts_section(record.accounts, page, are_all_compared(record)));
  parts.push_back(meaning_section(record, page));
  return sections(parts);
}

std::string factors_text(const std::vector<explain::Factor>& factors, const std::string& subject,
                         const std::string& duration, std::size_t width) {
  std::string text = wrapped(fmt::format("About {} with {}:", duration, subject), width) + '\n';
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
