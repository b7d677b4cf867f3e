#include "output/comparison_table.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "output/cells.hpp"
#include "output/comparison_rows.hpp"
#include "output/record_differences.hpp"
#include "output/text.hpp"

namespace jitterscope {
namespace {

using statistics::EffectVerdict;

// If a label is longer, the table shows a letter and a legend shows the label.
constexpr std::size_t kLongestLabel = 24, kLongestHeading = 8;

std::string letter(std::size_t alternative) {
  std::string text(1, static_cast<char>('A' + alternative % 26));
  return alternative < 26 ? text : text + std::to_string(alternative / 26);
}

// Returns the alternatives' names in sentences and tables.
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

// Returns "batch=64 (B)" where tables have the letter and the label is short enough for a sentence.
std::vector<std::string> names_in_sentences(const ComparisonRecord& record,
                                            const std::vector<std::string>& names) {
  std::vector<std::string> spoken = alternative_names(record, false);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (spoken[i] != names[i]) spoken[i] += fmt::format(" ({})", names[i]);
  }
  return spoken;
}

// Explains each letter in one line, with the alternative as it was typed.
std::string legend(const ComparisonRecord& record, const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == one_line(record.alternatives[i])) continue;
    text += fmt::format("{}: {}\n", names[i], one_line(record.alternatives[i]));
  }
  return text;
}

// True if the conditions need to be named only once.
bool all_share_conditions(const ComparisonRecord& record) {
  return !has_several_conditions(record) &&
         std::ranges::all_of(record.comparisons, [](const Comparison& each) {
           return cache_and_load(each.first.conditions) == cache_and_load(each.second.conditions);
         });
}

Text device_line(const ComparisonRecord& record, std::size_t width) {
  std::vector<std::string> facts;
  const auto timed = std::ranges::find_if(record.comparisons, &std::string::empty, &Comparison::failure);
  if (timed != record.comparisons.end() && record.processes_asked > 0) {
    const auto processes = std::ranges::max(record.comparisons, {}, &Comparison::processes).processes;
    facts.push_back(processes == 1 ? "1 process" : fmt::format("{} fresh processes", processes));
  }
  if (timed != record.comparisons.end() && all_share_conditions(record))
    facts.push_back(cache_and_load(timed->first.conditions));
  // Records of several devices have none in common.
  const bool is_one_device =
      std::ranges::find(record.differences, "device", &RecordDifference::name) == record.differences.end();
  if (is_one_device && !record.device.name.empty()) facts.push_back(one_line(record.device.name));
  if (!record.environment.tool_version.empty()) {
    facts.push_back("jitterscope " + record.environment.tool_version);
  }
  return wrapped(joined(facts), width);
}

// A page of HTML has the question in its head.
Text study_answers(const ComparedStudy& study, const Page& page) {
  Text text = page.is_html ? Text() : wrapped(one_line(study.question), page.width) + '\n';
  for (const std::string& answer : study.answers) {
    // Lines of code are not wrapped, so that they can be pasted.
    std::istringstream lines(answer);
    for (std::string line; std::getline(lines, line);)
      text += line.starts_with("    ") ? Text(one_line(line) + '\n') : wrapped(one_line(line), page.width);
  }
  return text + '\n';
}

// Returns the wrong results that --verify found; the table has the errors.
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

// Says at how many elements the results were compared, each result once.
std::string verified_sentence(const ComparisonRecord& record) {
  std::vector<const ComparedSide*> verified;
  std::size_t unverified = 0;
  const auto add = [&](const ComparedSide& side) {
    const Operation* operation = operation_of(side.subject);
    if (operation == nullptr) return;
    const auto is_same = [&](const ComparedSide* other) {
      return other->subject == side.subject &&
             other->verification.has_value() == side.verification.has_value();
    };
    if (std::ranges::any_of(verified, is_same)) return;
    verified.push_back(&side);
    unverified += side.verification ? 0 : 1;
  };
  for (const Comparison& comparison : record.comparisons) {
    if (!comparison.failure.empty()) continue;
    add(comparison.first);
    add(comparison.second);
  }
  std::int64_t checked = 0, total = 0;
  bool is_simulated = false;
  for (const ComparedSide* side : verified) {
    if (!side->verification) continue;
    checked += side->verification->checked;
    total += side->verification->total;
    is_simulated = is_simulated || record.device.capabilities.is_simulated;
  }
  if (total == 0) return {};
  return fmt::format("Verified: results of {} at {} of {} elements{}{}.",
                     counted(std::ssize(verified) - static_cast<std::ptrdiff_t>(unverified), "operation"),
                     checked, total, is_simulated ? ", which are the reference's own here, rounded" : "",
                     unverified > 0 ? fmt::format("; {} not compared", unverified) : "");
}

Text failures_section(const ComparisonRecord& record, const std::vector<std::string>& names,
                      std::size_t width) {
  Text text;
  for (const Comparison& comparison : record.comparisons) {
    if (comparison.failure.empty()) continue;
    const std::string what =
        comparison.layers.empty() ? names[comparison.alternative] : comparison.layers.front();
    text += list_item(fmt::format("{}: {}", one_line(what), one_line(comparison.failure)), width);
  }
  return text.empty() ? text : "Not compared:\n\n" + text;
}

std::string spread_sentence(const ComparisonRecord& record) {
  const Comparison& comparison = record.comparisons.front();
  const std::string between =
      comparison.between > 0.0
          ? fmt::format("and the ratios of processes differ by another {}", percent_text(comparison.between))
          : "and the ratios of processes differ by no more than that";
  return fmt::format("Rounds within a process leave its ratio uncertain by {}, {} (standard deviations).",
                     percent_text(comparison.within), between);
}

// Says whose times those of a provider are, since "is f16 faster" is asked of what PyTorch would run.
std::string_view choice_of(const std::string& provider) {
  if (provider == "cudnn" || provider == "cublas" || provider == "cublaslt") {
    return "unless engine= names another one, that is the engine that PyTorch takes by its rules; `jitterscope "
           "engines OPERATION` ranks all, and `jitterscope verify-pytorch` asks PyTorch itself";
  }
  if (provider == "torch") return "that is PyTorch's own operator";
  if (provider == "onednn") {
    return "PyTorch has oneDNN on a CPU, too, but which of its kernels PyTorch would take is not checked here";
  }
  return "a plain kernel, which is not PyTorch's";
}

// Names what ran each type, if the sides differ in their type: "dtype=f32 by cudnn A, dtype=f16 by cudnn B".
std::string engines_of_types(const ComparisonRecord& record, const std::vector<std::string>& names) {
  std::vector<std::string> ran, providers;
  const auto add = [&](const ComparedSide& side, const std::string& name) {
    if (side.provider.empty()) return;
    const std::string engine = side.algorithm.empty() || has_several_items(record)
                                   ? side.provider
                                   : side.provider + ' ' + one_line(side.algorithm);
    add_once(ran, fmt::format("{} by {}", name, engine));
    add_once(providers, side.provider);
  };
  for (const Comparison& each : record.comparisons) {
    const Operation *first = operation_of(each.first.subject), *second = operation_of(each.second.subject);
    if (!each.failure.empty() || first == nullptr || second == nullptr || first->dtype() == second->dtype())
      continue;
    add(each.first, names.front());
    add(each.second, names[each.alternative]);
  }
  if (ran.empty()) return {};
  // A simulated GPU runs no library's kernels.
  if (providers.size() == 1 && providers.front() == "virtual")
    return "A simulated GPU has no engines: which one PyTorch takes is seen with --device cuda.";
  std::vector<std::string> choices;
  for (const std::string& provider : providers) {
    const std::string choice(choice_of(provider));
    add_once(choices, providers.size() == 1 ? choice : provider + ": " + choice);
  }
  return fmt::format("Run: {}; {}.", joined(ran), joined(choices, "; "));
}

Text notes_section(const ComparisonRecord& record, const std::vector<std::string>& names, const Page& page) {
  std::vector<std::string> sentences = wrong_sentences(record, names);
  if (std::string engines = engines_of_types(record, names); !engines.empty())
    sentences.push_back(std::move(engines));
  sentences.insert(sentences.end(), record.notes.begin(), record.notes.end());
  if (std::string verified = verified_sentence(record); !verified.empty())
    sentences.push_back(std::move(verified));
  const bool is_measured = record.processes_asked > 0;
  const bool one_item = record.comparisons.size() == 1 && record.comparisons.front().failure.empty();
  // If each process has one block, the deviation within a process is unknown.
  const bool has_spread =
      one_item && record.comparisons.front().processes > 1 && record.comparisons.front().within > 0.0;
  if (is_measured && has_spread) {
    sentences.push_back(spread_sentence(record));
  }
  if (is_measured && record.processes_asked == 1) {
    sentences.emplace_back(
        "One process: the intervals hold for this process, and not for the next one (--processes 8).");
  }
  for (const std::string& lost : record.lost_processes) sentences.push_back("Lost: " + one_line(lost) + '.');
  if (record.interrupted) sentences.emplace_back("Interrupted: this is the result so far.");
  if (!record.samples.empty()) {
    sentences.emplace_back(
        "per sample: the time of a launch over the samples in it; differences and verdicts are those of it.");
  } else if (page.details && !record.works.empty()) {
    sentences.emplace_back(
        "same work: the time of a launch, divided by its work in units of the first's; changes compare these.");
  }
  const auto has_processes = [](const Comparison& each) { return each.processes > 1 && each.within > 0.0; };
  if (page.details && std::ranges::any_of(record.comparisons, has_processes)) {
    sentences.emplace_back(
        "within a process: how uncertain its rounds leave its ratio; between processes: by how much more their "
        "ratios differ (standard deviations).");
  }
  const auto is_counted = [](const Comparison& each) { return each.first.counters.has_value(); };
  if (page.details && std::ranges::any_of(record.comparisons, is_counted)) {
    sentences.emplace_back(
        "DRAM: bytes that memory read and wrote in one launch, by hardware counters, after the times.");
  }
  const auto is_traced = [](const Comparison& each) { return each.second.concurrency.has_value(); };
  if (page.details && std::ranges::any_of(record.comparisons, is_traced)) {
    sentences.emplace_back(
        "at once: mean number of kernels that ran side by side while any ran, from a trace after the times.");
  }
  if (page.details && has_errors(record)) {
    sentences.emplace_back(
        "error: L2 norm of the difference from a float64 reference, over that of the reference. If only "
        "types differ, it is computed from the inputs of the most precise type.");
  }
  if (page.details) {
    sentences.push_back(fmt::format(
        "In brackets: 95 % intervals{}. faster, slower: the interval excludes no change{}; same: it is "
        "within ± {}.",
        record.processes_asked > 1 ? " over processes" : "",
        record.comparisons.size() > 1 ? ", corrected for the number of comparisons (Holm)" : "",
        percent_text(record.margin)));
  }
  Text text;
  for (const std::string& sentence : sentences) text += wrapped(sentence, page.width);
  return text;
}

// Returns the alternative that differs most from the first: by its total, or by one of its operations.
std::size_t most_different(const ComparisonRecord& record) {
  std::size_t most = 1;
  double distance = -1.0;
  const auto look_at = [&](const auto& compared) {
    const double own = std::abs(std::log(compared.time.ratio));
    if (!(own > distance)) return;
    distance = own;
    most = compared.alternative;
  };
  for (const TotalComparison& total : record.totals) look_at(total);
  for (const Comparison& each : record.comparisons) {
    if (record.totals.empty() && each.failure.empty()) look_at(each);
  }
  return most;
}

// Names the command that takes the difference between two files apart, in one line, so that it can be pasted.
Text why_section(const ComparisonRecord& record, std::size_t width) {
  if (!is_of_files(record) || record.comparisons.empty()) return {};
  return wrapped("Why, operation by operation and cause by cause:", width) +
         fmt::format("\n    jitterscope explain {} {}\n", in_shell(one_line(record.alternatives.front())),
                     in_shell(one_line(record.alternatives[most_different(record)])));
}

// A study's answer has no number for each arm, so the totals come first.
Text rows(const ComparisonRecord& record, const std::vector<std::string>& names, const Page& page) {
  if (!has_several_items(record)) return alternatives_table(record, names, page);
  if (!record.study && !(is_of_files(record) && names.size() > 2)) return layers_table(record, names, page);
  const bool is_matrix = names.size() > 2 && !page.details;
  const Text items = is_matrix ? times_table(record, names, page) : layers_table(record, names, page);
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

Text comparison_table(const ComparisonRecord& record, const Page& page) {
  const bool several_items = has_several_items(record);
  const std::vector<std::string> names = alternative_names(record, several_items);
  Text answer = record.study ? study_answers(*record.study, page)
                             : comparison_headlines(record, names_in_sentences(record, names), page.width);
  for (const std::string& caution : record.cautions) answer += wrapped(one_line(caution), page.width);
  std::vector<Text> parts = {
      record_differences_section(record, names, page.width),
      record.comparisons.empty() ? Text("Nothing was compared.\n") : answer + device_line(record, page.width),
      why_section(record, page.width),
      legend(record, names),
      rows(record, names, page),
      page.details ? comparison_details(record, names, several_items, page) : Text(),
      failures_section(record, names, page.width),
      notes_section(record, names, page)};
  return sections(parts);
}

namespace {

bool excludes_one(const RatioEstimate& ratio) { return ratio.low > 1.0 || ratio.high < 1.0; }

std::string verdict_words(EffectVerdict verdict, const std::string& first, const std::string& second,
                          double margin) {
  switch (verdict) {
    case EffectVerdict::faster: return fmt::format("{} is faster than {}", second, first);
    case EffectVerdict::slower: return fmt::format("{} is slower than {}", second, first);
    case EffectVerdict::same:
      return fmt::format("{} takes the same time as {} within ± {}", second, first, percent_text(margin));
    case EffectVerdict::undecided: return fmt::format("Undecided between {} and {}", first, second);
  }
  return {};
}

// Where rounds within a process leave more open than processes differ by, a longer time of each does the
// same.
std::string longer_processes(const ComparisonRecord& record, std::int64_t needed) {
  const auto is_within = [](const Comparison& each) { return each.within > each.between; };
  if (record.comparisons.empty() || !std::ranges::all_of(record.comparisons, is_within)) return {};
  const double times = static_cast<double>(needed) / static_cast<double>(record.processes_asked);
  return fmt::format(", or a --time-limit {:.2g} times as long", times);
}

// Says what would decide an undecided comparison or total.
template <class Compared>
std::string needed_words(const ComparisonRecord& record, const Compared& compared, double resolution,
                         Instrument instrument) {
  if (is_below_resolution(record.margin, compared.time, resolution)) {
    return fmt::format(
        "; {} is a smaller margin than {} can resolve here (about {}), so more processes will not decide it",
        percent_text(record.margin), to_string(instrument), percent_text(resolution));
  }
  if (record.processes_asked <= 1) return {};
  const std::optional<std::int64_t>& needed = compared.processes_to_decide;
  if (!needed) return "; even a thousand processes would not decide";
  return fmt::format("; about {} processes would probably decide (--processes {}{})", *needed, *needed,
                     longer_processes(record, *needed));
}

Nanoseconds median_of(const ComparedSide& side) { return side.time.median; }
Nanoseconds median_of(const TimeEstimate& sum) { return sum.median; }

// Says what each number is where the two times beside a change would tell another one: a disturbed round
// moves the change of its pair, and not the median of its side.
template <class Compared>
std::string sides_words(const ComparisonRecord& record, const Compared& compared) {
  constexpr double kSameStory = 0.01;
  const Nanoseconds first = median_of(compared.first), second = median_of(compared.second);
  if (!(first > Nanoseconds(0)) || !(second > Nanoseconds(0))) return {};
  const double sides = second / first / work_of(record, compared.alternative);
  if (std::abs(std::log(sides / compared.time.ratio)) <= std::min(kSameStory, record.margin)) return {};
  return fmt::format(" {}, while the two times themselves differ by {}: they are {}",
                     is_of_files(record) ? "by geometric means over processes"
                                         : "in rounds beside each other, disturbed ones too",
                     change_with_interval({.ratio = sides, .low = sides, .high = sides}),
                     is_of_files(record) ? "arithmetic means" : "medians of each side's own rounds");
}

// Makes the headline of a comparison or a total.
template <class Compared>
std::string sentence(const std::string& subject, const ComparisonRecord& record, const Compared& compared,
                     double resolution, Instrument instrument, const std::vector<std::string>& names) {
  const std::string verdict =
      verdict_words(compared.verdict, names[0], names[compared.alternative], record.margin);
  std::string text = fmt::format("**{}**{}{}: {}", verdict, record.samples.empty() ? "" : " per sample",
                                 subject.empty() ? "" : ", " + subject, change_with_interval(compared.time));
  text += sides_words(record, compared);
  if (compared.verdict == EffectVerdict::same && excludes_one(compared.time))
    text += ", a difference smaller than the margin";
  if (compared.verdict == EffectVerdict::undecided)
    text += needed_words(record, compared, resolution, instrument);
  return text + ".";
}

// Both sides have the digits of the one that is known better, or a difference would be one of rounding.
double precision_of(const TotalComparison& total) {
  return std::min(total.first.precision(), total.second.precision());
}

std::string two_times_text(Nanoseconds one, std::string_view between, Nanoseconds other, double precision) {
  const Nanoseconds error = std::min(one, other) * precision;
  return fmt::format("{}{}{}", time_text(one, error / one), between, time_text(other, error / other));
}

// A record has each layer once in each condition; a total adds those of its own.
bool is_part_of(const Comparison& layer, const TotalComparison& total) {
  const Conditions& conditions = layer.first.conditions;
  return layer.alternative == total.alternative && conditions.load == total.load &&
         conditions.cache == total.cache;
}

std::string counts_of_verdicts(const ComparisonRecord& record, const TotalComparison& total) {
  std::vector<std::string> parts;
  for (const EffectVerdict verdict :
       {EffectVerdict::faster, EffectVerdict::slower, EffectVerdict::same, EffectVerdict::undecided}) {
    const auto count = std::ranges::count_if(record.comparisons, [&](const Comparison& comparison) {
      return is_part_of(comparison, total) && comparison.failure.empty() && !is_wrong(comparison) &&
             comparison.verdict == verdict;
    });
    if (count > 0) parts.push_back(fmt::format("{} {}", count, to_string(verdict)));
  }
  return joined(parts);
}

std::string left_out_words(const std::vector<std::string>& parts) {
  return parts.empty() ? std::string() : fmt::format("**{} are left out**", joined(parts, " and "));
}

std::string left_out_part(const LeftOutLayers& left, const std::vector<std::string>& names) {
  return fmt::format("{} of {} layers of {}", left.layers, left.of, names[left.alternative]);
}

// Returns "**245 of 403 layers of B are left out**"; empty if none is.
std::string left_out_words(const ComparisonRecord& record, const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (const LeftOutLayers& left : record.left_out) {
    std::string part = left_out_part(left, names);
    if (left.beside != 0) part += ", which " + names[left.beside] + " lacks,";
    parts.push_back(std::move(part));
  }
  return left_out_words(parts);
}

// Also names the layers that have no time.
std::string left_out_words(const ComparisonRecord& record, const TotalComparison& total,
                           const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (const std::size_t side : {std::size_t{0}, total.alternative}) {
    if (const LeftOutLayers* left = left_out_of(record, side, total.alternative))
      parts.push_back(left_out_part(*left, names));
  }
  std::int64_t failed = 0;
  for (const Comparison& each : record.comparisons) {
    if (is_part_of(each, total) && !each.failure.empty()) add_calls(failed, each.count);
  }
  if (failed > 0) parts.push_back(counted(failed, "layer") + " without a time");
  return left_out_words(parts);
}

// Gives the times of the common layers without a verdict, which would be taken for one on the networks.
std::string partial_headline(const ComparisonRecord& record, const TotalComparison& total,
                             const std::string& conditions, const std::vector<std::string>& names) {
  std::int64_t layers = 0;
  for (const Comparison& each : record.comparisons) {
    if (is_part_of(each, total) && each.failure.empty()) add_calls(layers, each.count);
  }
  return fmt::format("{}: no verdict on the whole. The {} layers in common, {}: {} {}, {}; by layer {}.",
                     left_out_words(record, total, names), layers, conditions, names[0],
                     two_times_text(total.first.median, fmt::format(" and {} ", names[total.alternative]),
                                    total.second.median, precision_of(total)),
                     change_with_interval(total.time), counts_of_verdicts(record, total));
}

// Returns " All layers: 1.2 ms for 1.4 ms; by layer 3 faster, 1 same." or " All 12 calls: 0.6 ms for 0.7 ms."
std::string whole_words(const ComparisonRecord& record, const TotalComparison& total) {
  std::vector<const Comparison*> own;
  for (const Comparison& each : record.comparisons) {
    if (is_part_of(each, total)) own.push_back(&each);
  }
  std::string times = two_times_text(total.second.median, " for ", total.first.median, precision_of(total));
  if (total.first_per_sample && total.second_per_sample) {
    times += fmt::format(", {} per sample", two_times_text(*total.second_per_sample, " for ",
                                                           *total.first_per_sample, precision_of(total)));
  }
  if (own.size() == 1) return fmt::format(" All {} calls: {}.", own.front()->count, times);
  return fmt::format(" All layers: {}; by layer {}.", times, counts_of_verdicts(record, total));
}

}  // namespace

Text comparison_headlines(const ComparisonRecord& record, const std::vector<std::string>& names,
                          std::size_t width) {
  if (record.comparisons.empty()) return {};
  Text text;
  if (record.totals.empty()) {
    const std::string left_out = left_out_words(record, names);
    if (!left_out.empty()) text += wrapped(left_out + ": no verdict on the whole.", width);
    for (const Comparison& comparison : record.comparisons) {
      if (!comparison.failure.empty()) continue;
      if (is_wrong(comparison)) {
        text += wrapped(fmt::format("**{} and {} do not compute the same**: their times are not compared.",
                                    names[0], names[comparison.alternative]),
                        width);
        continue;
      }
      std::string subject = condition_of(record, comparison);
      if (!left_out.empty() && !comparison.layers.empty()) {
        subject = one_line(comparison.layers.front()) + (subject.empty() ? "" : ", ") + subject;
      }
      text += wrapped(
          sentence(subject, record, comparison, comparison.resolution, comparison.second.instrument, names),
          width);
    }
    return text;
  }
  for (const TotalComparison& total : record.totals) {
    const std::string conditions = fmt::format("{} {}", to_string(total.cache), to_string(total.load));
    if (!is_whole(record, total)) {
      text += wrapped(partial_headline(record, total, conditions, names), width);
      continue;
    }
    text += wrapped(sentence(conditions, record, total, resolution_of(record, total),
                             record.comparisons.front().second.instrument, names) +
                        whole_words(record, total),
                    width);
  }
  return text;
}

}  // namespace jitterscope
