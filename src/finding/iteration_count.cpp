// How and why the time of a launch depends on how many are run.
#include <fmt/format.h>

#include <algorithm>
#include <string>

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

// Work that only the first launch of a process does: kernels are loaded, workspaces made.
std::string first_call_clause(const std::vector<IterationRun>& runs) {
  const IterationRun& first = runs.front();
  const Nanoseconds once = first.first_on_host - runs.back().first;
  const bool later_loops_are_quick =
      runs.size() == 1 || runs.back().first_on_host * 2.0 < first.first_on_host;
  if (once < first.median * 1.0 || !later_loops_are_quick) return {};
  return fmt::format(
      "the first launch of the process takes the host {}, since it loads kernels and makes what is "
      "made once",
      duration_text(first.first_on_host));
}

std::string cache_clause(const Loops& loops) {
  const double slower = loops.longest.first / loops.longest.median - 1.0;
  if (loops.longest.count < 2 || slower < kNoticed) return {};
  return fmt::format(
      "the first launch of a loop finds cold caches and an idle clock ({} on the GPU, {} over the median)",
      time_text(loops.longest.first), change_text(slower));
}

std::string clock_clause(const Loops& loops, bool on_gpu) {
  const auto& clocks = loops.longest.clocks;
  if (clocks.size() < 2) return {};
  const double change = clocks.back().clock / clocks.front().clock - 1.0;
  if (std::abs(change) < kNoticed) return {};
  return fmt::format("the {} {} from {} to {} within {} launches", clock_word(on_gpu),
                     change > 0 ? "rises" : "falls", clock_text(clocks.front().clock),
                     clock_text(clocks.back().clock), loops.longest.count);
}

std::string cap_clause(const Loops& loops) {
  const Nanoseconds length = loops.longest.host_time * static_cast<double>(loops.longest.count);
  const auto share = [&](const std::optional<Nanoseconds>& throttled) {
    return throttled && length.value() > 0 ? *throttled / length : 0.0;
  };
  if (const double power = share(loops.longest.throttled_power); power > kNoticed) {
    return fmt::format("the power cap holds the clock down for {} of the longest loop", percent_text(power));
  }
  if (const double heat = share(loops.longest.throttled_thermal); heat > kNoticed) {
    return fmt::format("heat holds the clock down for {} of the longest loop", percent_text(heat));
  }
  return {};
}

std::string host_clause(const Loops& loops) {
  if (loops.longest.host_time < loops.longest.mean * 1.2) return {};
  return fmt::format(
      "the host needs {} for each launch, more than the GPU, so that the queue runs empty and the marks "
      "around a launch take in its wait",
      time_text(loops.longest.host_time));
}

// In percent, or in times where a percentage would read as -100 %.
std::string ratio_text(double longest_by_shortest) {
  constexpr double kTimes = 3.0;
  if (longest_by_shortest * kTimes > 1.0) return change_text(longest_by_shortest - 1.0);
  return fmt::format("{:.{}f} times less", 1.0 / longest_by_shortest,
                     longest_by_shortest * 100.0 > 1.0 ? 1 : 0);
}

std::string dependence(const Loops& loops) {
  const double ratio = loops.longest.mean / loops.shortest.mean;
  if (loops.shortest.count == loops.longest.count) {
    return fmt::format("{} launches take {} each", loops.longest.count, time_text(loops.longest.mean));
  }
  const std::string both =
      fmt::format("{} in a loop of {}, {} in one of {}", time_text(loops.shortest.mean), loops.shortest.count,
                  time_text(loops.longest.mean), loops.longest.count);
  if (std::abs(ratio - 1.0) < kNoticed) return "The mean of a launch hardly depends on their number: " + both;
  return fmt::format("The mean of a launch depends on their number: {} ({})", both, ratio_text(ratio));
}

}  // namespace

std::vector<Finding> find_iteration_count(const Result& result, const FindingContext& context) {
  if (result.iterations.empty()) return {};
  const Loops loops = loops_of(result.iterations);
  std::vector<std::string> clauses = {first_call_clause(result.iterations), cache_clause(loops),
                                      clock_clause(loops, context.on_gpu), cap_clause(loops),
                                      host_clause(loops)};
  std::erase(clauses, std::string());
  Finding finding;
  finding.id = "iteration_count";
  finding.sentence = dependence(loops);
  finding.sentence += clauses.empty() ? "." : ", since " + joined(clauses, "; ") + ".";
  finding.remedy =
      "Quote the conditions with the number: the times above are of launches past the first, in rounds "
      "behind a "
      "gate, and do not depend on how many there are.";
  finding.evidence = {evidence_count("shortest_loop", loops.shortest.count),
                      evidence("shortest_loop_mean", loops.shortest.mean),
                      evidence_count("longest_loop", loops.longest.count),
                      evidence("longest_loop_mean", loops.longest.mean)};
  return {finding};
}

}  // namespace jitterscope
