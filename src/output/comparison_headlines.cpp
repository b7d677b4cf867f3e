#include "output/comparison_headlines.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "output/comparison_cells.hpp"
#include "output/display_text.hpp"
#include "output/ratio_text.hpp"

namespace jitterscope {
namespace {

using statistics::EffectVerdict;

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

// What would decide an undecided comparison, or total.
template <class Compared>
std::string needed_words(const ComparisonRecord& record, const Compared& compared, double resolution,
                         Instrument instrument) {
  if (is_below_resolution(record.margin, compared.time, resolution)) {
    return fmt::format(
        "; a margin of {} is below what {} can tell apart here, about {}: more processes will not decide it",
        percent_text(record.margin), to_string(instrument), percent_text(resolution));
  }
  if (record.processes_asked <= 1) return {};
  const std::optional<std::int64_t>& needed = compared.processes_to_decide;
  return needed ? fmt::format("; about {} processes would probably decide (--processes {})", *needed, *needed)
                : std::string("; a thousand processes would not decide");
}

// Of a comparison or a total.
template <class Compared>
std::string sentence(const std::string& subject, const ComparisonRecord& record, const Compared& compared,
                     double resolution, Instrument instrument, const std::vector<std::string>& names) {
  const std::string verdict =
      verdict_words(compared.verdict, names[0], names[compared.alternative], record.margin);
  std::string text = fmt::format("**{}**{}: {}", verdict, subject.empty() ? "" : ", " + subject,
                                 change_with_interval(compared.time));
  if (compared.verdict == EffectVerdict::same && excludes_one(compared.time))
    text += ", a difference smaller than the margin";
  if (compared.verdict == EffectVerdict::undecided)
    text += needed_words(record, compared, resolution, instrument);
  return text + ".";
}

std::string counts_of_verdicts(const ComparisonRecord& record, std::size_t alternative) {
  std::vector<std::string> parts;
  for (const EffectVerdict verdict :
       {EffectVerdict::faster, EffectVerdict::slower, EffectVerdict::same, EffectVerdict::undecided}) {
    const auto count = std::ranges::count_if(record.comparisons, [&](const Comparison& comparison) {
      return comparison.alternative == alternative && comparison.failure.empty() && !is_wrong(comparison) &&
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

// "**245 of 403 layers of B are left out**"; empty where none is.
std::string left_out_words(const ComparisonRecord& record, const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (const LeftOutLayers& left : record.left_out) parts.push_back(left_out_part(left, names));
  return left_out_words(parts);
}

// What a total lacks, with the layers that have no time.
std::string left_out_words(const ComparisonRecord& record, const TotalComparison& total,
                           const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (const std::size_t side : {std::size_t{0}, total.alternative}) {
    if (const LeftOutLayers* left = left_out_of(record, side)) parts.push_back(left_out_part(*left, names));
  }
  std::int64_t failed = 0;
  for (const Comparison& each : record.comparisons) {
    if (each.alternative == total.alternative && !each.failure.empty()) failed += each.count;
  }
  if (failed > 0) parts.push_back(counted(failed, "layer") + " without a time");
  return left_out_words(parts);
}

// Times of what both have, and no verdict: it would be taken for one on the networks.
std::string partial_headline(const ComparisonRecord& record, const TotalComparison& total,
                             const std::string& conditions, const std::vector<std::string>& names) {
  std::int64_t layers = 0;
  for (const Comparison& each : record.comparisons) {
    const Conditions& own = each.first.conditions;
    const bool is_here = each.failure.empty() && own.load == total.load && own.cache == total.cache;
    if (each.alternative == total.alternative && is_here) layers += each.count;
  }
  return fmt::format(
      "{}: no verdict on the whole. Of the {} layers in common, {}: {} {} and {} {}, {}; by layer {}.",
      left_out_words(record, total, names), layers, conditions, names[0],
      time_text(total.first.median, total.first.precision()), names[total.alternative],
      time_text(total.second.median, total.second.precision()), change_with_interval(total.time),
      counts_of_verdicts(record, total.alternative));
}

// " All layers: 1.2 ms for 1.4 ms; by layer 3 faster, 1 same.", or " All 12 calls: 0.6 ms for 0.7 ms."
std::string whole_words(const ComparisonRecord& record, const TotalComparison& total) {
  std::vector<const Comparison*> own;
  for (const Comparison& each : record.comparisons) {
    const Conditions& conditions = each.first.conditions;
    const bool is_here = conditions.load == total.load && conditions.cache == total.cache;
    if (each.alternative == total.alternative && is_here) own.push_back(&each);
  }
  const std::string times = fmt::format("{} for {}", time_text(total.second.median, total.second.precision()),
                                        time_text(total.first.median, total.first.precision()));
  if (own.size() == 1) return fmt::format(" All {} calls: {}.", own.front()->count, times);
  return fmt::format(" All layers: {}; by layer {}.", times, counts_of_verdicts(record, total.alternative));
}

}  // namespace

std::string comparison_headlines(const ComparisonRecord& record, const std::vector<std::string>& names,
                                 std::size_t width) {
  if (record.comparisons.empty()) return {};
  std::string text;
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
