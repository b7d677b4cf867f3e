#include "measure/method_sentences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/quantity_text.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::method_sentences {
namespace {

constexpr double kHardlyMatters = 0.01;

// No timer here steps by less than a nanosecond.
std::string size_text(Nanoseconds time) {
  return duration_text(Nanoseconds(std::max(1.0, std::abs(time.value()))));
}

// Quartiles, not extremes: one repetition that something interrupted must not hide a difference.
bool middle_halves_overlap(const MethodReading& a, const MethodReading& b) {
  const auto quartiles = [](const MethodReading& reading) {
    std::vector<double> times;
    for (const Nanoseconds time : reading.times) times.push_back(time.value());
    return statistics::quantiles(times, std::array{0.25, 0.75});
  };
  const std::vector<double> of_a = quartiles(a), of_b = quartiles(b);
  return of_a[0] <= of_b[1] && of_b[0] <= of_a[1];
}

enum class Closeness { reference, equal, lost_in_noise, apart };

Closeness closeness(const MethodComparison& comparison, const MethodReading& reading, double ratio) {
  if (reading.id == comparison.reference) return Closeness::reference;
  if (std::abs(ratio) <= kHardlyMatters) return Closeness::equal;
  const MethodReading& reference = *find_reading(comparison, comparison.reference);
  return middle_halves_overlap(reading, reference) ? Closeness::lost_in_noise : Closeness::apart;
}

constexpr const char* kReference = "the reference here: the others are compared with it";
constexpr const char* kNoReference = "there is no reference to say how far off it is";

// A method that adds `what` to each launch. Below the reference something else is the matter.
std::string adds(const MethodComparison& comparison, const MethodReading& reading, const std::string& what) {
  const auto distance = distance_from_reference(comparison, reading);
  if (!distance) return fmt::format("adds {}; {}", what, kNoReference);
  const std::string change = change_text(distance->ratio), size = size_text(distance->time);
  switch (closeness(comparison, reading, distance->ratio)) {
    case Closeness::reference: return kReference;
    case Closeness::equal:
      return fmt::format("adds {}, but this operation is long enough that it hardly matters: {}", what,
                         change);
    case Closeness::lost_in_noise:
      return fmt::format("adds {}, which is lost in the noise here ({})", what, change);
    case Closeness::apart: break;
  }
  if (distance->time > Nanoseconds(0))
    return fmt::format("adds {} of {}: {} of this operation", size, what, change);
  return fmt::format(
      "reads {} less than the reference ({}): it adds {}, so the operation itself ran faster then", size,
      change, what);
}

// A method that should be right, but for its constant.
std::string corrected(const MethodComparison& comparison, const MethodReading& reading,
                      Nanoseconds uncertainty) {
  const auto distance = distance_from_reference(comparison, reading);
  if (!distance) return kNoReference;
  const std::string change = change_text(distance->ratio), size = size_text(distance->time);
  switch (closeness(comparison, reading, distance->ratio)) {
    case Closeness::reference: return kReference;
    case Closeness::equal: return fmt::format("right within {} ({})", size, change);
    case Closeness::lost_in_noise:
      return fmt::format("not told apart from the reference in the noise here ({})", change);
    case Closeness::apart: break;
  }
  if (std::abs(distance->time.value()) <= uncertainty.value()) {
    return fmt::format("right within its known uncertainty: {} ({}) of ± {}", size, change,
                       size_text(uncertainty));
  }
  return fmt::format("off by {} ({}), while its repetitions spread by {}", size, change,
                     percent_text(reading.range()));
}

std::string compared_with(const MethodComparison& comparison, const MethodReading& reading, const char* id,
                          const std::string& words) {
  const MethodReading* other = find_reading(comparison, id);
  if (other == nullptr) return {};
  const double ratio = (reading.time() - other->time()) / other->time();
  if (std::abs(ratio) <= kHardlyMatters || middle_halves_overlap(reading, *other)) {
    return fmt::format("no different from the {} time here ({})", words, change_text(ratio));
  }
  return fmt::format("{} of the {} time", change_text(ratio), words);
}

}  // namespace

std::string wall_without_wait(const MethodComparison& comparison, const MethodReading& reading) {
  if (!comparison.launches_return_early) {
    return adds(comparison, reading, "the host's work around a launch (which waits here by itself)");
  }
  const auto distance = distance_from_reference(comparison, reading);
  std::string text =
      fmt::format("reads the host's launch cost, not the kernel: {} each", size_text(reading.time()));
  // Within a quarter a reader could take the one for the other.
  if (distance && std::abs(distance->ratio) < 0.25) text += ", which comes near the kernel's time by chance";
  return text;
}

std::string wall_with_wait(const MethodComparison& comparison, const MethodReading& reading) {
  return adds(comparison, reading, "launching and waiting");
}

std::string events_empty_queue(const MethodComparison& comparison, const MethodReading& reading) {
  return adds(comparison, reading,
              comparison.launches_return_early ? "event overhead and waiting for the host's launch"
                                               : "two readings of the clock");
}

std::string events_without_warm_up(const MethodComparison& comparison, const MethodReading& reading) {
  const std::string first =
      fmt::format("; the first call of this process took {}", size_text(comparison.first_call));
  return adds(comparison, reading, "what the first launches after an idle cost more") + first;
}

std::string events_behind_gate(const MethodComparison& comparison, const MethodReading& reading) {
  return adds(comparison, reading, "event overhead");
}

std::string events_less_constant(const MethodComparison& comparison, const MethodReading& reading) {
  return corrected(comparison, reading, comparison.calibration.events.uncertainty);
}

std::string cold(const MethodComparison& comparison, const MethodReading& reading) {
  const std::string change = compared_with(comparison, reading, "events_less_constant", "warm");
  const std::string text = "not wrong but another condition: no operand cached, other lines clean";
  return change.empty() ? text : text + "; " + change;
}

std::string dirty(const MethodComparison& comparison, const MethodReading& reading) {
  const std::string change = compared_with(comparison, reading, "cold", "cold");
  const std::string text =
      "what a flush by memset gives: its lines are written back while the operation runs";
  return change.empty() ? text : text + "; " + change;
}

std::string graph_total(const MethodComparison& comparison, const MethodReading& reading) {
  return adds(
      comparison, reading,
      fmt::format("one part in {} of the start and end of a graph, and node gaps", comparison.launches));
}

std::string graph_slope(const MethodComparison& comparison, const MethodReading& reading) {
  return corrected(comparison, reading, comparison.calibration.graph.uncertainty);
}

std::string cupti(const MethodComparison&, const MethodReading&) {
  return "the reference: kernel start to end as the GPU notes them; it slows all else, so it ran in another "
         "process";
}

}  // namespace jitterscope::method_sentences
