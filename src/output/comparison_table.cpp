#include "output/comparison_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "output/comparison_cells.hpp"
#include "output/comparison_details.hpp"
#include "output/comparison_differences.hpp"
#include "output/comparison_headlines.hpp"
#include "output/comparison_rows.hpp"
#include "output/display_text.hpp"
#include "output/study_rows.hpp"

namespace jitterscope {
namespace {

using statistics::EffectVerdict;

// Longer ones stand in a legend, and a letter in the table.
constexpr std::size_t kLongestLabel = 24, kLongestHeading = 8;

std::string letter(std::size_t alternative) {
  std::string text(1, static_cast<char>('A' + alternative % 26));
  return alternative < 26 ? text : text + std::to_string(alternative / 26);
}

// What each alternative is called in sentences and tables.
std::vector<std::string> alternative_names(const ComparisonRecord& record, bool are_headings) {
  const std::size_t longest = are_headings ? kLongestHeading : kLongestLabel;
  const bool all_short = std::ranges::all_of(
      record.alternatives, [&](const std::string& label) { return label.size() <= longest; });
  std::vector<std::string> names;
  for (std::size_t i = 0; i < record.alternatives.size(); ++i) {
    names.push_back(all_short ? one_line(record.alternatives[i]) : letter(i));
  }
  return names;
}

// Each in one line, as it was typed.
std::string legend(const ComparisonRecord& record, const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == one_line(record.alternatives[i])) continue;
    text += fmt::format("{}: {}\n", names[i], one_line(record.alternatives[i]));
  }
  return text;
}

// So that they need to be named but once.
bool all_share_conditions(const ComparisonRecord& record) {
  return !has_several_conditions(record) &&
         std::ranges::all_of(record.comparisons, [](const Comparison& each) {
           return cache_and_load(each.first.conditions) == cache_and_load(each.second.conditions);
         });
}

std::string device_line(const ComparisonRecord& record, std::size_t width) {
  std::vector<std::string> facts;
  const auto timed = std::ranges::find_if(record.comparisons, &std::string::empty, &Comparison::failure);
  if (timed != record.comparisons.end() && record.processes_asked > 0) {
    const auto processes = std::ranges::max(record.comparisons, {}, &Comparison::processes).processes;
    facts.push_back(processes == 1 ? "1 process" : fmt::format("{} fresh processes", processes));
  }
  if (timed != record.comparisons.end() && all_share_conditions(record))
    facts.push_back(cache_and_load(timed->first.conditions));
  if (!record.device.name.empty()) facts.push_back(one_line(record.device.name));
  if (!record.environment.tool_version.empty()) {
    facts.push_back("jitterscope " + record.environment.tool_version);
  }
  return wrapped(joined(facts), width);
}

std::string study_answers(const ComparedStudy& study, std::size_t width) {
  std::string text = wrapped(one_line(study.question), width) + '\n';
  for (const std::string& answer : study.answers) {
    // Lines of code are printed as they are, so that they can be pasted.
    std::istringstream lines(answer);
    for (std::string line; std::getline(lines, line);)
      text += line.starts_with("    ") ? one_line(line) + '\n' : wrapped(one_line(line), width);
  }
  return text + '\n';
}

// What --verify found; errors stand in the table.
std::vector<std::string> wrong_sentences(const ComparisonRecord& record,
                                         const std::vector<std::string>& names) {
  std::vector<std::string> sentences;
  const auto add = [&](const ComparedSide& side, std::size_t alternative) {
    if (!side.verification || side.verification->passed) return;
    std::string sentence = fmt::format(
        "WRONG RESULT of {}: {}, relative error {:.1e}, allowed {:.1e}{}.", names[alternative],
        one_line(to_string(side.subject)), side.verification->relative_error, side.verification->tolerance,
        side.verification->unwritten > 0
            ? fmt::format(", {} elements not written", side.verification->unwritten)
            : "");
    if (std::ranges::find(sentences, sentence) == sentences.end()) sentences.push_back(std::move(sentence));
  };
  for (const Comparison& comparison : record.comparisons) {
    add(comparison.first, 0);
    add(comparison.second, comparison.alternative);
  }
  return sentences;
}

std::string failures_section(const ComparisonRecord& record, const std::vector<std::string>& names,
                             std::size_t width) {
  std::string text;
  for (const Comparison& comparison : record.comparisons) {
    if (comparison.failure.empty()) continue;
    const std::string what =
        comparison.layers.empty() ? names[comparison.alternative] : comparison.layers.front();
    text += wrapped(fmt::format("- {}: {}", one_line(what), one_line(comparison.failure)), width, 2);
  }
  return text.empty() ? text : "Not compared:\n\n" + text;
}

std::string spread_sentence(const ComparisonRecord& record) {
  const Comparison& comparison = record.comparisons.front();
  const std::string between = comparison.between > 0.0 ? fmt::format("beyond that processes differ by {}",
                                                                     percent_text(comparison.between))
                                                       : "processes differ by no more than that";
  return fmt::format("A process knows its own ratio to {}, and {} (standard deviations).",
                     percent_text(comparison.within), between);
}

std::string notes_section(const ComparisonRecord& record, const std::vector<std::string>& names,
                          const Page& page) {
  std::vector<std::string> sentences = wrong_sentences(record, names);
  sentences.insert(sentences.end(), record.notes.begin(), record.notes.end());
  const bool is_measured = record.processes_asked > 0;
  const bool one_item = record.comparisons.size() == 1 && record.comparisons.front().failure.empty();
  // Of processes with one block each nothing is known within them.
  const bool has_spread =
      one_item && record.comparisons.front().processes > 1 && record.comparisons.front().within > 0.0;
  if (is_measured && has_spread) {
    sentences.push_back(spread_sentence(record));
  }
  if (is_measured && record.processes_asked == 1) {
    sentences.emplace_back(
        "One process: the intervals hold what this process would find again, and not what the next one would "
        "(--processes 8).");
  }
  for (const std::string& lost : record.lost_processes) sentences.push_back("Lost: " + one_line(lost) + '.');
  if (record.interrupted) sentences.emplace_back("Interrupted: this is the result so far.");
  if (page.details && !record.works.empty()) {
    sentences.emplace_back(
        "same work: the time of a launch over how much more than the first's it does; ratios are those of it.");
  }
  const auto has_processes = [](const Comparison& each) { return each.processes > 1 && each.within > 0.0; };
  if (page.details && std::ranges::any_of(record.comparisons, has_processes)) {
    sentences.emplace_back(
        "within a process: how well one knows its own ratio; between processes: by how much they differ beyond "
        "that (standard deviations).");
  }
  const auto is_counted = [](const Comparison& each) { return each.first.counters.has_value(); };
  if (page.details && std::ranges::any_of(record.comparisons, is_counted)) {
    sentences.emplace_back(
        "DRAM: what memory read and wrote in one launch, by hardware counters, after the times.");
  }
  const auto is_traced = [](const Comparison& each) { return each.second.concurrency.has_value(); };
  if (page.details && std::ranges::any_of(record.comparisons, is_traced)) {
    sentences.emplace_back(
        "at once: kernels that ran side by side while any ran, by a trace of launches behind the times.");
  }
  if (page.details && has_errors(record)) {
    sentences.emplace_back(
        "error: of the result, L2 norm over that of a float64 reference, which is computed from the inputs of the "
        "finest type where only types differ.");
  }
  if (page.details) {
    sentences.push_back(fmt::format(
        "In brackets: 95 % intervals{}. faster, slower: the interval excludes no change{}; same: it lies within "
        "± {}.",
        record.processes_asked > 1 ? " whose unit is the process" : "",
        record.comparisons.size() > 1 ? ", beside all the others (Holm)" : "", percent_text(record.margin)));
  }
  std::string text;
  for (const std::string& sentence : sentences) text += wrapped(sentence, page.width);
  return text;
}

// Of a study an answer has no number for each arm: those of all together stand first.
std::string rows(const ComparisonRecord& record, const std::vector<std::string>& names, const Page& page) {
  if (!has_several_items(record)) return alternatives_table(record, names, page);
  if (!record.study) return layers_table(record, names, page);
  const bool is_matrix = names.size() > 2 && !page.details;
  const std::string items = is_matrix ? times_table(record, names, page) : layers_table(record, names, page);
  return record.totals.empty() ? items : totals_table(record, names, page.width) + "\n" + items;
}

}  // namespace

bool has_several_items(const ComparisonRecord& record) {
  if (!record.totals.empty()) return true;
  const auto of_second = [&](const Comparison& comparison) {
    return comparison.alternative == 1 &&
           condition_of(record, comparison) == condition_of(record, record.comparisons.front());
  };
  return std::ranges::count_if(record.comparisons, of_second) > 1;
}

std::string comparison_table(const ComparisonRecord& record, const Page& page) {
  const bool several_items = has_several_items(record);
  const std::vector<std::string> names = alternative_names(record, several_items);
  const std::string answer = record.study ? study_answers(*record.study, page.width)
                                          : comparison_headlines(record, names, page.width);
  std::vector<std::string> sections = {
      record_differences_section(record, page.width),
      record.comparisons.empty() ? std::string("Nothing was compared.\n")
                                 : answer + device_line(record, page.width),
      legend(record, names),
      rows(record, names, page),
      page.details ? comparison_details(record, names, several_items, page) : std::string(),
      failures_section(record, names, page.width),
      notes_section(record, names, page)};
  std::erase(sections, std::string());
  return joined(sections, "\n");
}

}  // namespace jitterscope
