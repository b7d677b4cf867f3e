#include "experiment/judgement.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "experiment/processes.hpp"
#include "finding/evidence.hpp"
#include "finding/finding.hpp"
#include "measure/rates_and_totals.hpp"
#include "operation/operation.hpp"

namespace jitterscope {
namespace {

using statistics::Effect;

// Chance of a false slowdown or speed-up. What a host does changes from one minute to the next by more than
// its processes in one minute tell.
double chance_of(Judging judging) { return judging == Judging::gate_on_host ? 0.005 : 0.02; }

// A gate's case is decided by an interval within the margin, or by a 98 % interval that excludes zero.
std::optional<std::int64_t> processes_to_decide(const Effect& effect, double margin, Judging judging) {
  const double distance = std::abs(effect.value), limit = std::log1p(margin);
  if (judging == Judging::comparison) return statistics::processes_to_decide(effect, margin);
  return distance < limit ? statistics::processes_within(effect, limit - distance)
                          : statistics::processes_within(effect, distance, 1.0 - chance_of(judging));
}

// Sets the verdict of a comparison or a total.
template <class Compared>
void set_verdict(Compared& compared, const Effect& effect, double margin, double resolution, bool is_shown,
                 Judging judging) {
  using statistics::EffectVerdict;
  const bool is_beyond = std::abs(effect.value) >= std::log1p(margin) && effect.p_value <= chance_of(judging);
  const bool counts = is_shown && (judging == Judging::comparison || is_beyond);
  compared.verdict = statistics::verdict_on(effect, margin, counts);
  compared.processes_to_decide.reset();
  if (compared.verdict == EffectVerdict::undecided && !is_below_resolution(margin, compared.time, resolution))
    compared.processes_to_decide = processes_to_decide(effect, margin, judging);
}

std::optional<LaunchCounters> counters_of(const Result& result, const Measurement& measurement) {
  const auto found = std::ranges::find(result.counters, measurement.conditions.cache, &LaunchCounters::cache);
  return found == result.counters.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

ComparedSide side_of(const Result& result, const Measurement& measurement) {
  const ProcessTime own = process_time(measurement);
  return {.subject = result.subject,
          .provider = result.provider,
          .algorithm = result.algorithm,
          .held_memory = result.held_memory,
          .workspace = result.workspace,
          .conditions = measurement.conditions,
          .instrument = measurement.instrument,
          .time = measurement.time,
          .rounds = settled_times(measurement),
          .launches = settled_launches(measurement),
          .clock = own.clock,
          .cycles = own.cycles,
          .verification = result.verification,
          .amount = {},
          .counters = counters_of(result, measurement),
          .concurrency = result.concurrency,
          .without_kernels = result.without_kernels};
}

namespace {

// Returns the timer's step relative to the time; one reading may hold several launches.
double step_of(const Measurement& measurement) {
  const std::int64_t launches =
      measurement.rounds.empty() ? 1 : measurement.rounds.front().launches_per_value;
  const Nanoseconds step =
      measurement.constant.grain / static_cast<double>(std::max<std::int64_t>(1, launches));
  return step / measurement.time.median;
}

}  // namespace

double resolution_of(const Measurement& first, const Measurement& second, Beside beside) {
  if (!(first.time.median > Nanoseconds(0.0)) || !(second.time.median > Nanoseconds(0.0))) return 0.0;
  const double a = instrument_error(first) / first.time.median,
               b = instrument_error(second) / second.time.median;
  const bool is_shared = beside == Beside::same_process && first.instrument == second.instrument;
  const double constant = is_shared ? std::abs(a - b) : std::hypot(a, b);
  return std::max({step_of(first), step_of(second), constant});
}

RatioEstimate ratio_of(const Effect& effect) {
  return {std::exp(effect.value), std::exp(effect.interval.low), std::exp(effect.interval.high)};
}

void add_times(TimeEstimate& sum, const TimeEstimate& time, std::int64_t count) {
  const auto times = static_cast<double>(count);
  const bool is_first = sum.rounds == 0;
  sum.median += time.median * times;
  sum.low += time.low * times;
  sum.high += time.high * times;
  sum.rounds = is_first ? time.rounds : std::min(sum.rounds, time.rounds);
}

void judge(std::span<Comparison> comparisons, std::span<const std::optional<Effect>> effects, double margin,
           Judging judging) {
  // The time of a wrong result is neither faster nor slower than that of a right one.
  const auto counts = [&](std::size_t i) { return effects[i].has_value() && !is_wrong(comparisons[i]); };
  std::vector<double> p_values;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    if (counts(i)) p_values.push_back(effects[i]->p_value);
  }
  const std::vector<bool> shown = statistics::holm_rejects(p_values);
  std::size_t next = 0;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    if (counts(i)) {
      set_verdict(comparisons[i], *effects[i], margin, comparisons[i].resolution, shown[next++], judging);
    }
  }
}

void judge(TotalComparison& total, const Effect& effect, const ComparisonRecord& record, Judging judging) {
  total.time = ratio_of(effect);
  total.processes = effect.processes;
  total.p_value = effect.p_value;
  const std::size_t compared = total.alternative;
  if (left_out_of(record, 0, compared) || left_out_of(record, compared, compared)) return;
  set_verdict(total, effect, record.margin, resolution_of(record, total), effect.excludes_zero(), judging);
}

namespace {

constexpr std::size_t kMostOfRecord = 4000, kMostOfSide = 400;
constexpr std::size_t kLeastOfSide = 20;  // fewer show no shape

// Rounds to six digits: the numbers are derived, and more digits only make the record longer.
Nanoseconds with_six_digits(Nanoseconds time) {
  return Nanoseconds(std::strtod(fmt::format("{:.6g}", time.value()).c_str(), nullptr));
}

void keep_some(std::vector<Nanoseconds>& times, std::size_t most) {
  if (times.size() <= most) return;
  std::ranges::sort(times);
  std::vector<Nanoseconds> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(times[i * (times.size() - 1) / (most - 1)]);
  times = std::move(some);
}

}  // namespace

std::vector<Nanoseconds> settled_times(const Measurement& measurement) {
  std::vector<Nanoseconds> times;
  for (const Round& round : settled_rounds(measurement)) times.push_back(with_six_digits(round.time()));
  return times;
}

std::vector<Nanoseconds> settled_launches(const Measurement& measurement) {
  std::vector<Nanoseconds> times;
  for (const Round& round : settled_rounds(measurement)) {
    std::ranges::copy_if(round.launches, std::back_inserter(times),
                         [](Nanoseconds time) { return time > Nanoseconds(0); });
  }
  keep_some(times, kMostOfSide);
  std::ranges::transform(times, times.begin(), with_six_digits);
  return times;
}

void keep_some_rounds(std::span<Comparison> comparisons) {
  if (comparisons.empty()) return;
  const std::size_t most = std::min(kMostOfSide, kMostOfRecord / (2 * comparisons.size()));
  for (Comparison& comparison : comparisons) {
    for (ComparedSide* side : {&comparison.first, &comparison.second}) {
      if (most < kLeastOfSide || !comparison.layers.empty()) {
        side->rounds.clear();
        side->launches.clear();
      } else {
        keep_some(side->rounds, most);
        keep_some(side->launches, most);
      }
    }
  }
}

namespace {

constexpr std::size_t kNamedPairs = 3;

}  // namespace

std::string unlike_work(const Operation& first, const Operation& second) {
  std::vector<std::string> parts;
  if (first.flops() != second.flops()) {
    parts.push_back(
        fmt::format("{} and {}", rate_text(first.flops(), "FLOP"), rate_text(second.flops(), "FLOP")));
  }
  if (first.bytes() != second.bytes()) {
    parts.push_back(fmt::format("{} and {} to move", bytes_text(first.bytes()), bytes_text(second.bytes())));
  }
  return joined(parts);
}

std::string unlike_work_sentence(const std::string& first_label, const Operation& first,
                                 const std::string& second_label, const Operation& second) {
  const std::string difference = unlike_work(first, second);
  if (difference.empty()) return {};
  return fmt::format("{} and {} do different work: {}.", first_label, second_label, difference);
}

void UnlikeWork::add(const std::string& name, const Operation& first, const Operation& second,
                     std::int64_t count) {
  all_ += count;
  const std::string difference = unlike_work(first, second);
  if (difference.empty()) return;
  unlike_ += count;
  if (examples_.size() < kNamedPairs) examples_.push_back(fmt::format("{}: {}", name, difference));
}

std::string UnlikeWork::sentence(const std::string& first_label, const std::string& second_label) const {
  if (unlike_ == 0) return {};
  return fmt::format("{} of {} layers do different work in {} and {}, as {}.", unlike_, all_, first_label,
                     second_label, joined(examples_, "; "));
}

void note_unlike_layers(ComparisonRecord& record) {
  std::map<std::size_t, UnlikeWork> unlike;  // by the alternative
  std::vector<const Comparison*> known;
  for (const Comparison& each : record.comparisons) {
    const Operation *first = operation_of(each.first.subject), *second = operation_of(each.second.subject);
    // Counts each pair once, though it has a comparison for each kind of conditions.
    const bool is_known = std::ranges::any_of(known, [&](const Comparison* other) {
      return other->alternative == each.alternative && other->layers == each.layers &&
             other->first.subject == each.first.subject;
    });
    if (first == nullptr || second == nullptr || is_known) continue;
    known.push_back(&each);
    if (each.layers.empty()) {
      const std::string note = unlike_work_sentence(to_string(*first), *first, to_string(*second), *second);
      if (!note.empty()) add_once(record.notes, note);
      continue;
    }
    unlike[each.alternative].add(each.layers.front(), *first, *second, each.count);
  }
  for (const auto& [alternative, layers] : unlike) {
    const std::string sentence = layers.sentence(record.alternatives[0], record.alternatives[alternative]);
    if (!sentence.empty()) record.notes.push_back(sentence);
  }
}

void note_only_moved(ComparisonRecord& record) {
  const auto is_moved = [&](const ComparedSide& side) {
    const Operation* operation = operation_of(side.subject);
    return operation != nullptr && is_only_moved(*operation, record.device);
  };
  const bool any = std::ranges::any_of(record.comparisons, [&](const Comparison& each) {
    return is_moved(each.first) || is_moved(each.second);
  });
  if (any) record.notes.emplace_back(kOnlyMoved);
}

namespace {

constexpr std::string_view kWhatTimesLeaveOut =
    "the times leave that out, but not what the others did to caches and clock";

double share_taken(const RunRecord& record) {
  TakenByOthers others;
  for (const RunEntry& entry : record.entries) {
    for (const Measurement& measurement : entry.result.measurements) others.add(measurement.rounds);
  }
  return others.share();
}

// Returns what was seen of others on the device itself; empty if nothing was.
std::string seen_on_device(const RunRecord& record) {
  const auto sentence_of = [](const std::vector<Finding>& findings) {
    const auto found = std::ranges::find(findings, kOtherProcessFinding, &Finding::id);
    return found == findings.end() ? std::string() : found->sentence;
  };
  std::string sentence = sentence_of(record.findings);
  for (const RunEntry& entry : record.entries) {
    if (sentence.empty()) sentence = sentence_of(entry.result.findings);
  }
  return sentence;
}

}  // namespace

void note_other_work(std::span<const RunRecord> processes, ComparisonRecord& record) {
  std::vector<double> shares;
  std::string on_device;
  for (const RunRecord& process : processes) {
    const double share = share_taken(process);
    if (share >= kTakenWorthSaying) shares.push_back(share);
    if (on_device.empty()) on_device = seen_on_device(process);
  }
  if (!on_device.empty()) add_once(record.notes, on_device);
  if (shares.empty()) return;
  const auto [least, most] = std::ranges::minmax(shares);
  const std::string low = percent_text(least), high = percent_text(most);
  record.notes.push_back(fmt::format(
      "Other programs had this thread's core for {} of the time{}: {}. Close what else runs here, "
      "or give the measurement a free core with taskset -c.",
      low == high ? low : fmt::format("{} to {}", low, high),
      processes.size() == 1 ? std::string()
                            : fmt::format(" in {} of {} processes", shares.size(), processes.size()),
      kWhatTimesLeaveOut));
}

void note_other_work(const RunRecord& compared, const std::string& name, std::vector<std::string>& notes) {
  const double share = share_taken(compared);
  if (share >= kTakenWorthSaying) {
    add_once(notes, fmt::format("Other programs had the core of {} for {} of the time: {}.", name,
                                percent_text(share), kWhatTimesLeaveOut));
  }
  if (const std::string seen = seen_on_device(compared); !seen.empty())
    add_once(notes, fmt::format("In {}: {}", name, seen));
}

namespace {

// Returns the finding's sentence if the engine that was asked for did not run, else an empty string.
std::string ignored_by(const Result& result) {
  const auto found = std::ranges::find(result.findings, kEngineIgnoredFinding, &Finding::id);
  return found == result.findings.end() ? std::string() : found->sentence;
}

std::string ignored_by_either(const Result& first, const Result& second) {
  std::string sentence = ignored_by(first);
  return sentence.empty() ? ignored_by(second) : sentence;
}

std::string engine_asked(const Result& result) {
  const Operation* operation = operation_of(result.subject);
  return operation == nullptr ? std::string() : engine_of(*operation);
}

}  // namespace

std::string ignored_engine(const Result& first, const Result& second) {
  return engine_asked(first) == engine_asked(second) ? std::string() : ignored_by_either(first, second);
}

void note_ignored_engines(std::span<const RunRecord> processes, std::size_t alternatives,
                          ComparisonRecord& record) {
  if (processes.empty()) return;
  const std::vector<RunEntry>& entries = processes.front().entries;
  std::string first;
  int count = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Result &base = entries[i - i % alternatives].result, &other = entries[i].result;
    if (i % alternatives == 0 || engine_asked(base) != engine_asked(other)) continue;
    const std::string sentence = ignored_by_either(base, other);
    if (!sentence.empty() && count++ == 0) first = sentence;
  }
  if (count == 0) return;
  if (count > 1) first += fmt::format(" So in {} more comparison{}.", count - 1, count == 2 ? "" : "s");
  record.notes.push_back(first);
}

void LayerNames::add(const std::vector<std::string>& names) {
  if (names.empty()) return;
  firsts_.push_back(names.front());
  others_.insert(others_.end(), names.begin() + 1, names.end());
}

std::string LayerNames::some() const {
  constexpr std::size_t kShown = 6;
  std::vector<std::string> names = firsts_;
  names.insert(names.end(), others_.begin(), others_.end());
  names.resize(std::min(names.size(), kShown));
  const std::size_t more = size() - names.size();
  return more == 0 ? joined(names) : fmt::format("{} and {} more", joined(names), more);
}

}  // namespace jitterscope
