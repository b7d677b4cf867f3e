#include "explain/account.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "experiment/processes.hpp"
#include "explain/account_arithmetic.hpp"
#include "finding/evidence.hpp"
#include "finding/finding.hpp"
#include "jitterscope/error.hpp"
#include "operation/operation.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::explain {
namespace {

// PyTorch's times are CUPTI's; ours agree with them within this (docs/evidence/benchmarks.md).
constexpr Nanoseconds kInstruments = microseconds(0.1);
// Smallest step of CUPTI's times, of which a sum over kernels has one each.
constexpr Nanoseconds kTracersGrain(32.0);

struct ProgramSides {
  const RunRecord& record;
  const Model& program;
  const RunEntry& entry;
  const Layer& layer;
  const Measurement& alone;
  const LayerInSequence* in_sequence;  // null if the record has none

  const TimeEstimate& time_alone() const { return time_of(alone); }
  // Over several processes, the first one's own repeatability would leave out how they differ.
  static const TimeEstimate& time_of(const Measurement& measurement) {
    return measurement.processes.empty() ? measurement.repeatability : measurement.time;
  }
};

// Returns half of the interval of a recorded time over it; no calls are too few, as the record has no others.
double half_of_recorded(const TimeEstimate& time) { return (time.high - time.low) / time.median / 2.0; }

std::string cudnn_of(const RunRecord& record) {
  const auto& libraries = record.device.libraries;
  const auto found = std::ranges::find(libraries, "cudnn", &LibraryInfo::name);
  return found == libraries.end() ? std::string() : found->version;
}

// Adds a part whose effect is not known. Returns whether it differs.
bool add_if_different(Account& account, std::string name, std::string ours, std::string theirs) {
  if (ours.empty() || theirs.empty() || ours == theirs) return false;
  account.parts.push_back({.name = std::move(name),
                           .first = std::move(ours),
                           .second = std::move(theirs),
                           .source = "the two records do not tell what it does"});
  return true;
}

// CUPTI's and PyTorch's names of one kernel are written differently.
bool are_same_kernels(const std::vector<LaunchKernel>& ours, const std::vector<std::string>& theirs) {
  return std::ranges::equal(
      ours, theirs, {}, [](const LaunchKernel& kernel) { return kernel_identity(kernel.name); },
      [](const std::string& name) { return kernel_identity(name); });
}

// A stand-in is not what the program ran, whether or not the record names its kernels.
bool add_kernels(Account& account, const Result& result, const Layer& layer) {
  if (!result.kernels.empty() && are_same_kernels(result.kernels, layer.recorded_kernels)) return false;
  std::string ours = kernel_names(result);
  if (ours.empty() && result.stand_in) ours = result.algorithm + ", a stand-in";
  return add_if_different(account, "kernels", std::move(ours), joined(layer.recorded_kernels));
}

// The clock of the sequence is that of its whole pass, and a call may have run at another. So it is a part
// only where it brings the two times nearer to each other.
std::optional<AccountedPart> clock_in_sequence(const ProgramSides& sides) {
  const std::optional<Hertz>& there = sides.record.sequence->clock;
  constexpr double kSame = 0.001;
  if (!there || !sides.alone.clock) return std::nullopt;
  const double clock_ratio = sides.alone.clock->median / *there;
  const std::optional<RatioEstimate> ratio = foretold(sides.alone, clock_ratio);
  if (!ratio || std::abs(clock_ratio - 1.0) < kSame) return std::nullopt;
  const double place = std::log(sides.in_sequence->in_place.median / sides.time_alone().median);
  if (std::abs(place - std::log(ratio->ratio)) >= std::abs(place)) return std::nullopt;
  return AccountedPart{.name = kClock,
                       .first = clock_text(sides.alone.clock->median),
                       .second = clock_text(*there),
                       .ratio = extrapolated(*ratio),
                       .source = "the clock of the pass in sequence here; the program's own is not known"};
}

std::string state_of(const Measurement& measurement) {
  return std::string(to_string(measurement.conditions.cache));
}

// Returns the time over that alone, in another of the cache states that the record timed.
RatioEstimate in_state(const ProgramSides& sides, const Measurement& other) {
  return time_ratio(ProgramSides::time_of(sides.alone), ProgramSides::time_of(other));
}

// In sequence, the nearest of the cache states says what the caches held.
std::optional<AccountedPart> cache_in_sequence(const ProgramSides& sides) {
  const std::optional<Conditions>& nearest = sides.in_sequence->nearest;
  if (!nearest || *nearest == sides.alone.conditions) return std::nullopt;
  const Measurement* other = measurement_of(sides.entry.result, nearest->load, nearest->cache);
  if (other == nullptr || other == &sides.alone) return std::nullopt;
  return AccountedPart{.name = "cache",
                       .first = state_of(sides.alone),
                       .second = state_of(*other),
                       .ratio = in_state(sides, *other),
                       .source = "the nearest state that was timed alone to the call in sequence"};
}

// Without a sequence nothing tells the program's cache state: it lies between those that were timed.
std::optional<AccountedPart> cache_of_any_state(const ProgramSides& sides) {
  double low = 0.0, high = 0.0;  // logarithms
  std::vector<std::string> states;
  for (const Measurement& other : sides.entry.result.measurements) {
    if (other.conditions.load != sides.alone.conditions.load) continue;
    states.push_back(state_of(other));
    if (&other == &sides.alone) continue;
    const RatioEstimate ratio = in_state(sides, other);
    low = std::min(low, std::log(ratio.ratio));
    high = std::max(high, std::log(ratio.ratio));
  }
  if (states.size() < 2) return std::nullopt;
  const double middle = (low + high) / 2.0;
  return AccountedPart{.name = "cache",
                       .first = state_of(sides.alone),
                       .second = joined(states, " or "),
                       .ratio = ratio_with(middle, high - middle),
                       .source = "the program's is not known: between the states that were timed alone",
                       .experiment = "jitterscope replay FILE --in-sequence"};
}

// Returns the half-width of how far one more process differs, as a logarithm.
double half_of_process(const Measurement& measurement) {
  if (measurement.processes.empty()) return measurement.uncertainty.processes / measurement.time.median;
  // The interval is one of the mean over all of them.
  return relative_half(measurement.time) * std::sqrt(static_cast<double>(measurement.processes.size()));
}

double logarithm_of_parts(const Account& account) {
  double sum = 0.0;
  for (const AccountedPart& part : account.parts) {
    if (part.ratio) sum += std::log(part.ratio->ratio);
  }
  return sum;
}

// Returns how far our instrument and a tracer may differ, as a logarithm.
double half_of_instruments(const ProgramSides& sides) {
  return (sides.alone.uncertainty.instrument + kInstruments) / sides.time_alone().median;
}

// Adds what the place in the program does. In sequence, its parts make up the whole way from the time alone
// to that in place, and their errors are no errors of the rest, which begins from the time in place.
void add_place(Account& account, const ProgramSides& sides) {
  const auto add = [&](std::optional<AccountedPart> part) {
    if (part) account.parts.push_back(std::move(*part));
  };
  if (sides.in_sequence == nullptr) {
    add(cache_of_any_state(sides));
    return;
  }
  const TimeEstimate& in_place = sides.in_sequence->in_place;
  account.in_sequence = in_place;
  add(clock_in_sequence(sides));
  add(cache_in_sequence(sides));
  double half =
      std::hypot(relative_half(account.first), relative_half(in_place), half_of_process(sides.alone));
  half = std::hypot(half, half_of_instruments(sides));
  for (const AccountedPart& part : account.parts)
    half = std::hypot(half, part.ratio ? half_of(*part.ratio) : 0.0);
  account.parts.push_back(
      {.name = "kernel before",
       .first = "the call itself",
       .second = "the call before it",
       .ratio =
           ratio_with(std::log(in_place.median / account.first.median) - logarithm_of_parts(account), half),
       .source = "what the call takes longer in sequence here, beyond clock and cache"});
}

// The program's time of a call is its kernels' sum; ours is from the first one's start to the last one's end.
void add_gaps(Account& account, const Result& result) {
  if (result.kernels.size() < 2 || (result.concurrency && result.concurrency->most_at_once > 1)) return;
  Nanoseconds sum(0);
  for (const LaunchKernel& kernel : result.kernels) sum += kernel.median;
  const Nanoseconds whole = account.first.median;
  if (!(sum > Nanoseconds(0)) || sum > whole) return;
  const Nanoseconds grain = kTracersGrain * static_cast<double>(result.kernels.size());
  account.parts.push_back(
      {.name = "launch gaps",
       .first = fmt::format("{} between {} kernels", time_text(whole - sum), result.kernels.size()),
       .second = "not counted",
       .ratio = ratio_with(std::log(sum / whole), (grain + kInstruments) / whole),
       .source = "the program's time is its kernels' sum; alone, the time between them counts, too"});
}

// Adds a part with no known effect, only a known uncertainty.
void add_uncertainty(Account& account, std::string name, double half, std::string source) {
  account.parts.push_back(
      {.name = std::move(name), .ratio = ratio_with(0.0, half), .source = std::move(source)});
}

// Returns what stays from the time in place, or else alone, to the program's. Without a sequence, the place
// is a range and no error: the program may be at either end of it, so that its half is added whole.
RatioEstimate rest_of_program(const Account& account, std::size_t parts_of_place) {
  const TimeEstimate& from = account.in_sequence ? *account.in_sequence : account.first;
  double rest = std::log(account.second.median / from.median), range = 0.0;
  double half = std::hypot(relative_half(from), half_of_recorded(account.second));
  for (std::size_t i = account.in_sequence ? parts_of_place : 0; i < account.parts.size(); ++i) {
    const std::optional<RatioEstimate>& ratio = account.parts[i].ratio;
    if (!ratio) continue;
    rest -= std::log(ratio->ratio);
    if (i < parts_of_place) {
      range += half_of(*ratio);
    } else {
      half = std::hypot(half, half_of(*ratio));
    }
  }
  return ratio_with(rest, range + half);
}

Account program_account(const ProgramSides& sides) {
  Account account{.layers = sides.layer.names,
                  .count = sides.layer.count(),
                  .first_subject = sides.layer.operation.text(),
                  .second_subject = sides.layer.operation.text(),
                  .first_conditions = sides.alone.conditions,
                  .second_conditions = sides.alone.conditions,
                  .first = sides.time_alone(),
                  .second = *recorded_time_of(sides.layer),
                  .is_of_program = true};
  account.time = ratio_with(std::log(account.second.median / account.first.median),
                            std::hypot(relative_half(account.first), half_of_recorded(account.second)));
  if (add_if_different(account, "device", sides.record.device.name, sides.program.recorded_device))
    account.stopped_at = "device";
  add_if_different(account, "cudnn", cudnn_of(sides.record), sides.program.recorded_cudnn);
  if (add_kernels(account, sides.entry.result, sides.layer) && account.stopped_at.empty())
    account.stopped_at = "kernels";
  account.rest = account.time;
  if (!account.stopped_at.empty()) return account;
  add_place(account, sides);
  const std::size_t parts_of_place = account.parts.size();
  add_gaps(account, sides.entry.result);
  const bool both_traced = account.in_sequence && sides.record.sequence->instrument == Instrument::cupti;
  add_uncertainty(account, "instrument",
                  both_traced ? kTracersGrain / account.first.median : half_of_instruments(sides),
                  both_traced ? "the step of CUPTI's times, which read the program and the sequence"
                              : "our instrument's constant, and how far it and CUPTI agree");
  // The program is one more process, and so is the sequence.
  const double processes = account.in_sequence ? 2.0 : 1.0;
  add_uncertainty(account, "process", half_of_process(sides.alone) * std::sqrt(processes),
                  "how far processes differ on such a device");
  account.rest = rest_of_program(account, parts_of_place);
  return account;
}

const Layer* layer_of(const Model& program, const Result& result) {
  const Operation* operation = operation_of(result.subject);
  if (operation == nullptr) return nullptr;
  const auto found = std::ranges::find(program.layers, *operation, &Layer::operation);
  return found == program.layers.end() || !recorded_time_of(*found) ? nullptr : &*found;
}

}  // namespace

std::optional<TimeEstimate> recorded_time_of(const Layer& layer) {
  const std::vector<Nanoseconds>& times = layer.recorded_times;
  if (times.empty()) return std::nullopt;
  // Fewer than six calls give no interval. Neighbours of many calls are alike, so that blocks are the unit.
  // It does not tell how far another run would differ.
  constexpr std::size_t kFewest = 6, kMany = 60, kBlocks = 10;
  const std::size_t blocks = times.size() < kMany ? times.size() : kBlocks;
  std::vector<double> means;
  for (std::size_t block = 0; block < blocks; ++block) {
    const auto first = times.begin() + static_cast<std::ptrdiff_t>(block * times.size() / blocks);
    const auto last = times.begin() + static_cast<std::ptrdiff_t>((block + 1) * times.size() / blocks);
    means.push_back(std::accumulate(first, last, Nanoseconds(0)).value() / static_cast<double>(last - first));
  }
  const Nanoseconds mean = *layer.recorded_time() / static_cast<double>(layer.count());
  const statistics::Interval around = statistics::mean_interval(means).interval;
  const Nanoseconds half(times.size() < kFewest ? 0.0 : (around.high - around.low) / 2.0);
  return TimeEstimate{mean, mean - half, mean + half, std::ssize(times)};
}

std::vector<Account> account_for(const RunRecord& record, const Model& program) {
  if (std::ranges::none_of(program.layers,
                           [](const Layer& layer) { return recorded_time_of(layer).has_value(); })) {
    throw UsageError(program.name +
                     " holds no times of a GPU: record it with torch.profiler and "
                     "ProfilerActivity.CUDA");
  }
  const std::vector<LayerInSequence> placed = layers_in_sequence(record);
  std::vector<Account> accounts;
  for (std::size_t i = 0; i < record.entries.size(); ++i) {
    const RunEntry& entry = record.entries[i];
    const Layer* layer = layer_of(program, entry.result);
    if (layer == nullptr || entry.result.measurements.empty()) continue;
    const auto place = std::ranges::find(placed, i, &LayerInSequence::result);
    accounts.push_back(program_account({record, program, entry, *layer, entry.result.measurements.front(),
                                        place == placed.end() ? nullptr : &*place}));
  }
  if (!accounts.empty()) return accounts;
  throw UsageError(
      "record and trace have no operation in common that both timed: measure the trace's layers with "
      "`jitterscope run TRACE --json FILE`");
}

}  // namespace jitterscope::explain
