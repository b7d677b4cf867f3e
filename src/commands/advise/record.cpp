#include "commands/advise/record.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "output/cells.hpp"
#include "output/text.hpp"
#include "record/describe_advice.hpp"
#include "record/envelope.hpp"

namespace jitterscope {

std::string write_record(const study::AdviceRecord& record) { return write_envelope("advise", record); }

Text record_text(const study::AdviceRecord& record, const ShownPage& shown) {
  return advice_table(record, page_of(shown, false));
}

Headline headline_of(const study::AdviceRecord& record) {
  Headline headline{.subject = record.title, .number = "no gain"};
  std::vector<std::string> taken;
  for (const study::Recommendation& each : record.recommendations)
    taken.push_back(study::remedy_name(each.study, each.arm));
  if (!taken.empty())
    headline = {.subject = record.title + " with " + joined(taken, " and "), .number = "see below"};
  if (record.together && !study::is_unfinished(*record.together)) {
    if (const auto ratio = study::ratio_together(*record.together))
      headline = headline_of(headline.subject, *ratio);
  }
  headline.marks = {std::string(study::to_string(record.goal)), "margin " + percent_text(record.margin),
                    counted(std::ssize(record.steps), "step")};
  return headline;
}

void read_fields(const Json& document, const std::string& name, study::AdviceRecord& record) {
  record = read_envelope<study::AdviceRecord>(document, name);
}

namespace {

using study::AdviceRecord;
using study::AdviceStep;
using study::AdvisedLayer;
using study::TriedRemedy;
using study::Trying;

std::string name_of(const TriedRemedy& remedy) {
  return one_line(study::remedy_name(remedy.study, remedy.arm));
}

std::string error_of(const TriedRemedy& remedy) {
  return remedy.error ? fmt::format("{:.1e}", *remedy.error) : std::string(kAbsent);
}

// Returns a change such as "-50 %".
std::string memory_of(const TriedRemedy& remedy) {
  return remedy.memory.value_or(1.0) == 1.0 ? "" : change_text(*remedy.memory - 1.0);
}

std::string lines_section(const AdviceRecord& record) {
  std::string text, place;
  for (const study::Recommendation& taken : record.recommendations) {
    if (taken.lines.empty()) continue;
    if (taken.place != place) {
      place = taken.place;
      text += fmt::format("{}{}:\n\n", text.empty() ? "" : "\n", one_line(place));
    }
    for (const std::string& line : taken.lines) text += "    " + one_line(line) + '\n';
  }
  return text;
}

double share_tried(const AdviceRecord& record) {
  double share = 0.0;
  for (const AdvisedLayer& layer : record.layers) share += layer.is_tried ? layer.share : 0.0;
  return share;
}

Text facts_line(const AdviceRecord& record, std::size_t width) {
  const auto tried = std::ranges::count_if(record.layers, &AdvisedLayer::is_tried);
  std::vector<std::string> facts;
  if (record.layers.size() == 1 && record.layers.front().count > 1)
    facts.push_back(fmt::format("one operation in all its {} calls", record.layers.front().count));
  if (record.layers.size() > 1) {
    facts.push_back(fmt::format("tried on {} of {} operations, which take {} of the time", tried,
                                record.layers.size(), percent_text(share_tried(record))));
  }
  facts.push_back(one_line(record.device.name));
  if (!record.environment.tool_version.empty()) {
    facts.push_back("jitterscope " + record.environment.tool_version);
  }
  return wrapped(joined(facts), width);
}

// Describes the longest layers: "conv1: memory moves 1.02 times what it must, warps wait most for …".
Text counters_lines(const AdviceRecord& record, std::size_t width) {
  Text text;
  for (const AdvisedLayer& layer : record.layers) {
    if (!layer.counters) continue;
    const CounterReading& reading = layer.counters->reading;
    std::vector<std::string> facts;
    const Operation* operation = operation_of(layer.subject);
    const std::string moved = operation == nullptr ? "" : moved_share_text(reading, operation->bytes());
    if (!moved.empty()) {
      facts.push_back(
          fmt::format("DRAM moves {} ({} of the least possible)", bytes_text(*moved_bytes(reading)), moved));
    }
    const auto add = [&](const std::string& share, const char* words) {
      if (!share.empty()) facts.push_back(fmt::format(fmt::runtime(words), share));
    };
    add(counted_share_text(reading, CounterQuantity::l2_hit_rate), "{} hit L2");
    if (counted_value(reading, CounterQuantity::tensor_active).value_or(0.0) > 0.0)
      add(counted_share_text(reading, CounterQuantity::tensor_active), "tensor units work {} of the time");
    add(stalls_text(reading, 1), "warps wait most for {}");
    if (facts.empty()) continue;
    const std::string name = layer.layers.empty() ? to_string(layer.subject) : layer.layers.front();
    text += list_item(
        fmt::format("{}, {} of the time: {}.", one_line(name), percent_text(layer.share), joined(facts)),
        width);
  }
  return text.empty() ? text : "What takes longest, by hardware counters:\n\n" + text;
}

// Columns for what each step compared and for the sum, before and after.
struct PathColumns {
  TableColumn step{"step", Align::left, {}}, time{"time", Align::right, {}, 1},
      change{"against before", Align::right, {}}, error{"error", Align::right, {}, 2},
      memory{"memory", Align::right, {}, 3};

  void add(const std::string& name, const std::string& duration, const std::string& ratio,
           const std::string& inexactness, const std::string& bytes) {
    step.cells.push_back(name);
    time.cells.push_back(duration);
    change.cells.push_back(ratio);
    error.cells.push_back(inexactness);
    memory.cells.push_back(bytes);
  }
};

std::string time_of(const ComparisonRecord& comparison, std::size_t alternative) {
  const auto time = study::time_together(comparison, alternative);
  return time ? time_text(*time) : std::string(kAbsent);
}

// Returns ", 2 of 21", in operations; empty if there is one.
std::string part_of(const AdviceRecord& record, std::int64_t operations) {
  const auto all = std::ssize(record.layers);
  if (all < 2) return {};
  return operations == all ? fmt::format(", all {}", all) : fmt::format(", {} of {}", operations, all);
}

void add_sum(PathColumns& columns, const std::string& name, const AdviceRecord& record,
             const std::optional<ComparisonRecord>& sum) {
  if (!sum || study::is_unfinished(*sum)) return;
  const auto ratio = study::ratio_together(*sum);
  if (!ratio) return;
  columns.add(name + part_of(record, study::compared_part(record, *sum).operations),
              fmt::format("{} → {}", time_of(*sum, 0), time_of(*sum, 1)), change_of(*ratio), "", "");
}

Text path_table(const AdviceRecord& record, std::size_t width) {
  if (record.recommendations.empty()) return {};
  PathColumns columns;
  const auto tried = std::ranges::count_if(record.layers, &AdvisedLayer::is_tried);
  const bool is_part = tried > 0 && tried < std::ssize(record.layers);
  columns.add("as it is" + part_of(record, tried), time_of(record.steps.front().comparison, 0), "", "", "");
  for (const AdviceStep& step : record.steps) {
    for (const TriedRemedy& remedy : step.remedies) {
      if (remedy.outcome != Trying::taken) continue;
      columns.add(name_of(remedy), time_of(step.comparison, study::alternative_of(step, remedy)),
                  change_of(remedy.time), error_of(remedy), memory_of(remedy));
    }
  }
  add_sum(columns, "all together", record, record.together);
  add_sum(columns, "sustained", record, record.sustained);
  Text text =
      fitted_table({columns.step, columns.time, columns.change, columns.error, columns.memory}, width);
  // Without these words a reader sees two times of the same work.
  if (is_part && record.together && std::ssize(record.together->comparisons) > tried) {
    text +=
        '\n' + wrapped(fmt::format("Steps time the {} that take {} of the time, and the sum all {}: so it "
                                   "begins with a longer time.",
                                   counted(tried, "operation"), percent_text(share_tried(record)),
                                   record.together->comparisons.size()),
                       width);
  }
  return text;
}

std::string reason_of(const TriedRemedy& remedy, const AdviceRecord& record) {
  switch (remedy.outcome) {
    case Trying::taken: return "taken";
    case Trying::beaten: return "another one gains as much or more";
    case Trying::no_gain: return "no gain is shown";
    case Trying::slower: return "slower";
    case Trying::too_inexact: return fmt::format("error above {}", percent_text(record.tolerance));
    case Trying::wrong: return "WRONG RESULT";
    case Trying::not_compared: return "not compared";
    case Trying::failed: return one_line(remedy.failure);
    case Trying::unfinished: return "not known, its step did not end";
  }
  return {};
}

// Lists the remedies not taken, each in the last step that tried it: earlier steps no longer matter.
Text rest_table(const AdviceRecord& record, std::size_t width) {
  TableColumn remedies{"tried, not taken", Align::left, {}}, steps{"step", Align::right, {}, 3},
      changes{"against before", Align::right, {}, 1}, errors{"error", Align::right, {}, 2},
      reasons{"why not", Align::left, {}};
  std::vector<std::string> known;
  for (const study::Recommendation& taken : record.recommendations) {
    known.push_back(study::remedy_name(taken.study, taken.arm));
  }
  for (std::size_t i = record.steps.size(); i-- > 0;) {
    for (const TriedRemedy& remedy : record.steps[i].remedies) {
      const std::string name = name_of(remedy);
      if (remedy.outcome == Trying::taken || std::ranges::find(known, name) != known.end()) continue;
      known.push_back(name);
      remedies.cells.push_back(name);
      steps.cells.push_back(std::to_string(i + 1));
      changes.cells.push_back(remedy.outcome == Trying::failed ? std::string(kAbsent)
                                                               : change_of(remedy.time));
      errors.cells.push_back(error_of(remedy));
      reasons.cells.push_back(reason_of(remedy, record));
    }
  }
  if (remedies.cells.empty()) return {};
  return fitted_table({remedies, steps, changes, errors, reasons}, width);
}

Text layers_table_of(const AdviceRecord& record, std::size_t width) {
  if (record.layers.size() < 2) return {};
  TableColumn layers{"as it is", Align::left, {}}, counts{"×", Align::right, {}, 3},
      times{"one call", Align::right, {}, 1}, shares{"share", Align::right, {}},
      tried{"tried", Align::left, {}, 2}, findings{"findings", Align::left, {}, 4};
  for (const AdvisedLayer& layer : record.layers) {
    layers.cells.push_back(one_line(layer.layers.empty() ? to_string(layer.subject) : layer.layers.front()));
    counts.cells.push_back(std::to_string(layer.count));
    times.cells.push_back(estimate_text(layer.time));
    shares.cells.push_back(percent_text(layer.share));
    tried.cells.emplace_back(layer.is_tried ? "yes" : "");
    std::vector<std::string> ids;
    for (const Finding& finding : layer.findings) ids.push_back(finding.id);
    findings.cells.push_back(joined(ids));
  }
  return fitted_table({layers, counts, times, shares, tried, findings}, width);
}

Text notes_of(const AdviceRecord& record, const Page& page) {
  Text text;
  for (const study::Recommendation& taken : record.recommendations) {
    if (!taken.price.empty()) {
      text +=
          wrapped(fmt::format("{}: {}", study::remedy_name(taken.study, taken.arm), one_line(taken.price)),
                  page.width);
    }
  }
  std::vector<std::string> untried;
  for (const study::UntriedStudy& study : record.untried) {
    untried.push_back(fmt::format("{} ({})", study.study, one_line(study.reason)));
  }
  if (!untried.empty()) text += wrapped("Not tried: " + joined(untried, "; ") + '.', page.width);
  for (const std::string& note : record.notes) text += wrapped(one_line(note), page.width);
  if (record.interrupted) text += "Interrupted: this is the result so far.\n";
  if (page.details) {
    text += wrapped(
        "Studies without a remedy, such as streams, overlap or waves, are not tried: run them by "
        "`jitterscope study NAME`.",
        page.width);
    text += wrapped(
        fmt::format("Each step compares the remaining remedies with the result of the step before, in fresh "
                    "processes. A gain counts if its whole 95 % interval is beyond {}. error: L2 norm of the "
                    "difference from a float64 reference, over that of the reference; for kernels without a "
                    "reference, from the results of the work as it is. memory: size of all operands.",
                    percent_text(record.margin)),
        page.width);
  }
  return text;
}

}  // namespace

Text advice_table(const AdviceRecord& record, const Page& page) {
  const bool is_memory = record.goal == study::Goal::memory;
  Text answer = wrapped(fmt::format("What would make {} {}?", one_line(record.title),
                                    is_memory ? "take less memory" : "faster"),
                        page.width) +
                '\n';
  for (const std::string& sentence : record.conclusions) answer += wrapped(one_line(sentence), page.width);
  std::vector<Text> parts = {answer + '\n' + facts_line(record, page.width),
                             lines_section(record),
                             path_table(record, page.width),
                             rest_table(record, page.width),
                             counters_lines(record, page.width),
                             page.details ? layers_table_of(record, page.width) : "",
                             notes_of(record, page)};
  return sections(parts);
}

}  // namespace jitterscope
