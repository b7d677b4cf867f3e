// How and why the time of a launch depends on how many are run.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "finding/detectors.hpp"
#include "finding/evidence.hpp"

namespace jitterscope {
namespace {

constexpr double kNoticed = 0.02;  // of a time: below it a dependence is not worth a reason

struct Loops {
  const IterationRun& shortest;
  const IterationRun& longest;
};

Loops loops_of(const std::vector<IterationRun>& runs) {
  const auto [shortest, longest] = std::ranges::minmax_element(runs, {}, &IterationRun::count);
  return {*shortest, *longest};
}

// Of the launches past the first: the median of two launches would be half the first one.
Nanoseconds later_time(const IterationRun& run) { return run.count < 3 ? run.minimum : run.median; }

std::optional<Nanoseconds> burst_time(const Result& result, CacheState cache) {
  for (const Measurement& measurement : result.measurements) {
    const Conditions& conditions = measurement.conditions;
    const bool wanted =
        conditions.cache == cache && conditions.load == Load::burst && conditions.queue != QueueMode::eager;
    if (wanted && measurement.time.rounds > 0) return measurement.time.median;
  }
  return std::nullopt;
}

// By how much a first launch is longer than later ones, and what was measured that can make it so.
class FirstLaunch {
 public:
  FirstLaunch(const Result& result, const IterationRun& run, const IterationRun& longest, bool on_gpu)
      : run_(run), later_(later_time(longest)), excess_(run.first - later_), on_gpu_(on_gpu) {
    add_call(result);
    add_cold(result);
    add_clock(longest);
  }

  bool is_noticed() const { return excess_ > later_ * kNoticed; }

  std::string sentence(const std::string& name) const {
    std::string text =
        fmt::format("{} takes {}, later ones {}", name, time_text(run_.first), time_text(later_));
    if (!causes_.empty()) text += ": " + joined(causes_, "; ");
    const Nanoseconds rest = excess_ - explained_;
    if (rest <= std::max(later_ * kNoticed, excess_ * kRoughly)) return text + ".";
    text += causes_.empty() ? "; the difference is" : "; the other " + time_text(rest) + " are";
    text += " not explained by what was measured";
    return text + (cold_is_known_ ? "." : " (cold caches were not: --cache warm,cold).");
  }

 private:
  static constexpr double kRoughly = 0.2;  // the parts overlap, and add up no better than that

  // The queue is empty, so the GPU waits between the two events until the call has launched something. A
  // usual call is hidden by what lies between event and kernel; one longer than the excess cannot all lie
  // there. On a CPU the call is the work itself.
  void add_call(const Result& result) {
    const Nanoseconds more = run_.first_launch_call - result.launch_cost;
    if (!on_gpu_ || more < later_ * kNoticed || more > excess_ * (1.0 + kRoughly)) return;
    explained_ += more;
    causes_.push_back(fmt::format("its launch call keeps the host for {}, and meanwhile the GPU waits",
                                  time_text(run_.first_launch_call)));
  }

  void add_cold(const Result& result) {
    const auto warm = burst_time(result, CacheState::warm), cold = burst_time(result, CacheState::cold);
    cold_is_known_ = warm && cold;
    if (!cold_is_known_ || *cold - *warm < later_ * kNoticed) return;
    explained_ += *cold - *warm;
    causes_.push_back(fmt::format("cold caches add {}, measured apart", time_text(*cold - *warm)));
  }

  void add_clock(const IterationRun& longest) {
    if (run_.clocks.empty() || longest.clocks.empty()) return;
    const Hertz first = run_.clocks.front().clock, last = longest.clocks.back().clock;
    if (first.value() <= 0 || last / first - 1.0 < kNoticed) return;
    explained_ += later_ * (last / first - 1.0);
    causes_.push_back(fmt::format("it runs at {}, the last ones at {}", clock_text(first), clock_text(last)));
  }

  const IterationRun& run_;
  Nanoseconds later_, excess_, explained_;
  bool on_gpu_;
  bool cold_is_known_ = false;
  std::vector<std::string> causes_;
};

// A clock that falls makes nothing faster: only what goes the way of the change is a reason for it.
std::string clock_sentence(const Loops& loops, bool slower, bool on_gpu) {
  const auto& clocks = loops.longest.clocks;
  if (clocks.size() < 2) return {};
  const double change = clocks.back().clock / clocks.front().clock - 1.0;
  if (std::abs(change) < kNoticed || (change < 0) != slower) return {};
  return fmt::format("The {} {} from {} to {} within {} launches.", clock_word(on_gpu),
                     change > 0 ? "rises" : "falls", clock_text(clocks.front().clock),
                     clock_text(clocks.back().clock), loops.longest.count);
}

std::string cap_sentence(const Loops& loops, bool slower) {
  if (!slower) return {};
  const Nanoseconds length = loops.longest.host_time * static_cast<double>(loops.longest.count);
  const auto share = [&](const std::optional<Nanoseconds>& throttled) {
    return throttled && length.value() > 0 ? *throttled / length : 0.0;
  };
  const double power = share(loops.longest.throttled_power), heat = share(loops.longest.throttled_thermal);
  if (std::max(power, heat) < kNoticed) return {};
  return fmt::format("{} holds the clock down for {} of the longest loop.",
                     power >= heat ? "The power cap" : "Heat", percent_text(std::max(power, heat)));
}

// Not from the loop's own time: a host that waits for a full queue seems as slow as the GPU.
std::string host_sentence(const Result& result, const Loops& loops, bool on_gpu) {
  const auto time = burst_time(result, CacheState::warm);
  if (!on_gpu || !time || result.launch_cost <= *time) return {};
  if (later_time(loops.longest) < *time * (1.0 + kNoticed)) return {};
  return fmt::format(
      "A launch call takes the host {}, more than the {} that the GPU works: the queue runs empty, and the "
      "events around a launch hold a part of the wait.",
      time_text(result.launch_cost), time_text(*time));
}

// In percent, or in times where a percentage would read as -100 %.
std::string ratio_text(double longest_by_shortest) {
  constexpr double kTimes = 3.0;
  if (longest_by_shortest * kTimes > 1.0) return change_text(longest_by_shortest - 1.0);
  return fmt::format("{:.{}f} times less", 1.0 / longest_by_shortest,
                     longest_by_shortest * 100.0 > 1.0 ? 1 : 0);
}

double change_of(const Loops& loops) { return loops.longest.mean / loops.shortest.mean - 1.0; }

std::string dependence(const Loops& loops) {
  if (loops.shortest.count == loops.longest.count) {
    return fmt::format(
        "A loop of {} took {} for each launch; a second count would show whether it depends on that.",
        loops.longest.count, time_text(loops.longest.mean));
  }
  const std::string both =
      fmt::format("{} in a loop of {}, {} in one of {}", time_text(loops.shortest.mean), loops.shortest.count,
                  time_text(loops.longest.mean), loops.longest.count);
  if (std::abs(change_of(loops)) < kNoticed)
    return "The mean of a launch hardly depends on their number: " + both + ".";
  return fmt::format("The mean of a launch depends on their number: {} ({}).", both,
                     ratio_text(1.0 + change_of(loops)));
}

// Sentences that say why, or that it is not known.
std::vector<std::string> reasons(const Result& result, const Loops& loops, bool on_gpu) {
  std::vector<std::string> why;
  const auto add = [&](std::string sentence) {
    if (!sentence.empty()) why.push_back(std::move(sentence));
  };
  const double change = change_of(loops);
  // Where long loops are slower, the first launch is no reason: it is shared by fewer launches in a short
  // one.
  if (loops.longest.count > 1 && change < kNoticed) {
    const IterationRun& very_first = result.iterations.front();
    const FirstLaunch first(result, very_first, loops.longest, on_gpu);
    if (first.is_noticed()) add(first.sentence("The first launch of all"));
    const FirstLaunch again(result, loops.longest, loops.longest, on_gpu);
    if (&loops.longest != &very_first && again.is_noticed()) {
      add(again.sentence(fmt::format("The first launch of the loop of {}", loops.longest.count)));
    }
  }
  if (std::abs(change) >= kNoticed) {
    add(clock_sentence(loops, change > 0, on_gpu));
    add(cap_sentence(loops, change > 0));
    if (why.empty()) add("What was measured does not say why.");
  }
  add(host_sentence(result, loops, on_gpu));
  return why;
}

std::string remedy(const Result& result) {
  std::string times = "the times above, which leave out first launches and name their conditions";
  if (result.measurements.empty()) times = "a time in stated conditions, without first launches";
  return "Quote the number of launches with a loop's mean, or quote " + times + ".";
}

}  // namespace

std::vector<Finding> find_iteration_count(const Result& result, const FindingContext& context) {
  if (result.iterations.empty()) return {};
  const Loops loops = loops_of(result.iterations);
  Finding finding;
  finding.id = "iteration_count";
  finding.headline =
      fmt::format("{} a launch in a loop of {}, {} in one of {}", time_text(loops.shortest.mean),
                  loops.shortest.count, time_text(loops.longest.mean), loops.longest.count);
  finding.effect = std::abs(change_of(loops));
  finding.sentence = dependence(loops);
  for (const std::string& why : reasons(result, loops, context.on_gpu)) finding.sentence += ' ' + why;
  finding.remedy = remedy(result);
  const IterationRun& very_first = result.iterations.front();
  finding.evidence = {evidence_count("shortest_loop", loops.shortest.count),
                      evidence("shortest_loop_mean", loops.shortest.mean),
                      evidence_count("longest_loop", loops.longest.count),
                      evidence("longest_loop_mean", loops.longest.mean),
                      evidence("first_launch", very_first.first),
                      evidence("first_launch_call", very_first.first_launch_call)};
  return {finding};
}

}  // namespace jitterscope
