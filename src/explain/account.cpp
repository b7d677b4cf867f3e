#include "explain/account.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "experiment/processes.hpp"
#include "explain/unlike_work.hpp"
#include "finding/evidence.hpp"
#include "finding/finding.hpp"
#include "jitterscope/error.hpp"
#include "operation/operation.hpp"
#include "statistics/statistics.hpp"

// Arithmetic of ratios of times with their intervals, as accounts need it.

namespace jitterscope::explain {

RatioEstimate ratio_with(double logarithm, double half);
/// Returns the half-width of the interval's logarithm; the larger one if the value is not in the middle.
double half_of(const RatioEstimate& ratio);
/// Returns half of a time's interval over its median; 1 if too few rounds give no interval.
double relative_half(const TimeEstimate& time);
/// Returns the ratio of two times that were measured apart.
RatioEstimate time_ratio(const TimeEstimate& first, const TimeEstimate& second);
/// Returns the part of the time's change that no part accounts for.
RatioEstimate rest_of(const Account& account);

namespace {

constexpr double kNormal95 = 1.959964;

// One result of each record, in one of its conditions.
struct Sides {
  const RunRecord *first_record, *second_record;
  const RunEntry *first_entry, *second_entry;
  const Measurement *first, *second;

  const Result& first_result() const { return first_entry->result; }
  const Result& second_result() const { return second_entry->result; }
};

// Predicts second over first from one side's fit t = a + b/f, for the other side's clock.
std::optional<RatioEstimate> foretold(const Measurement& fitted, double clock_ratio) {
  const auto& fit = fitted.at_reference_clock;
  if (!fit) return std::nullopt;
  const auto at = [&](double share) {
    const double clamped = std::clamp(share, 0.0, 1.0);
    return 1.0 - clamped + clamped * clock_ratio;
  };
  const double spread = kNormal95 * fit->clock_share_error;
  const double low = at(fit->clock_share - spread), high = at(fit->clock_share + spread);
  return RatioEstimate{at(fit->clock_share), std::min(low, high), std::max(low, high)};
}

RatioEstimate inverse_of(const RatioEstimate& ratio) {
  return {1.0 / ratio.ratio, 1.0 / ratio.high, 1.0 / ratio.low};
}

// Returns the geometric mean if both sides predict: a fit over the few clocks of one record is a straight
// line that the time need not follow.
std::optional<RatioEstimate> foretold_by_either(const Sides& sides, double clock_ratio) {
  const std::optional<RatioEstimate> forward = foretold(*sides.first, clock_ratio);
  std::optional<RatioEstimate> backward = foretold(*sides.second, 1.0 / clock_ratio);
  if (backward) backward = inverse_of(*backward);
  if (!forward || !backward) return forward ? forward : backward;
  return RatioEstimate{std::sqrt(forward->ratio * backward->ratio), std::min(forward->low, backward->low),
                       std::max(forward->high, backward->high)};
}

// Widens the interval by a quarter of the effect. The clocks of one record lie within a percent or two, so
// the line may not hold at another clock. In 12 pairs of simulated runs whose clocks alone differed, by 7 to
// 12 %, the fit's own interval held the effect in 10, and with this quarter in 11.
RatioEstimate extrapolated(const RatioEstimate& ratio) {
  const double logarithm = std::log(ratio.ratio);
  return ratio_with(logarithm, std::hypot(half_of(ratio), 0.25 * logarithm));
}

std::optional<AccountedPart> clock_part(const Sides& sides, bool is_same_device) {
  if (!sides.first->clock || !sides.second->clock) return std::nullopt;
  const double clock_ratio = sides.first->clock->median / sides.second->clock->median;
  constexpr double kSame = 0.001;
  if (std::abs(clock_ratio - 1.0) < kSame) return std::nullopt;
  AccountedPart part{.name = "clock",
                     .first = clock_text(sides.first->clock->median),
                     .second = clock_text(sides.second->clock->median)};
  if (!is_same_device) {
    part.source = "a cycle of one device is not one of the other";
    return part;
  }
  const std::optional<RatioEstimate> fitted = foretold_by_either(sides, clock_ratio);
  if (fitted) {
    part.ratio = extrapolated(*fitted);
    part.source =
        "how the time follows the clock, by a fit over the rounds of each record, carried on to the "
        "other's clock";
  } else {
    part.ratio =
        RatioEstimate{std::sqrt(clock_ratio), std::min(1.0, clock_ratio), std::max(1.0, clock_ratio)};
    part.source = "how the time follows the clock is not known: between not at all and wholly";
  }
  return part;
}

// Returns the median over the rounds that have the reading.
std::optional<double> median_reading(const Measurement& measurement,
                                     const std::function<std::optional<double>(const SensorReading&)>& read) {
  std::vector<double> values;
  for (const Round& round : measurement.rounds) {
    if (!round.sensors) continue;
    if (const std::optional<double> value = read(*round.sensors)) values.push_back(*value);
  }
  if (values.empty()) return std::nullopt;
  return statistics::quantiles(values, std::vector{0.5}).front();
}

std::optional<AccountedPart> power_part(const Sides& sides) {
  const auto read = [](const SensorReading& sensors) {
    return sensors.power ? std::optional(sensors.power->value()) : std::nullopt;
  };
  const std::optional<double> a = median_reading(*sides.first, read), b = median_reading(*sides.second, read);
  constexpr double kSame = 0.05;
  if (!a || !b || !(*a > 0.0) || std::abs(*b / *a - 1.0) < kSame) return std::nullopt;
  return AccountedPart{.name = "power",
                       .first = power_text(Watts(*a)),
                       .second = power_text(Watts(*b)),
                       .source = kByTheClock};
}

std::optional<AccountedPart> temperature_part(const Sides& sides) {
  const auto read = [](const SensorReading& sensors) {
    return sensors.temperature ? std::optional(sensors.temperature->value()) : std::nullopt;
  };
  const std::optional<double> a = median_reading(*sides.first, read), b = median_reading(*sides.second, read);
  constexpr double kSame = 3.0;  // a chip warms by as much within a run
  if (!a || !b || std::abs(*b - *a) < kSame) return std::nullopt;
  return AccountedPart{.name = "temperature",
                       .first = fmt::format("{:.0f} °C", *a),
                       .second = fmt::format("{:.0f} °C", *b),
                       .source = kByTheClock};
}

// Returns the ratio between two cache states, or between two loads, that one record timed.
std::optional<RatioEstimate> contrast_in(const Result& result, CacheState from_cache, Load from_load,
                                         CacheState to_cache, Load to_load) {
  const Measurement *from = measurement_of(result, from_load, from_cache),
                    *to = measurement_of(result, to_load, to_cache);
  if (from == nullptr || to == nullptr) return std::nullopt;
  return time_ratio(from->repeatability, to->repeatability);
}

bool are_same_work(const Sides& sides) {
  return sides.first_result().subject == sides.second_result().subject;
}

// Returns a command for the second record's device, as that record is the later one.
std::string command_of(const Sides& sides, const std::string& verb, const std::string& flags) {
  const Operation* operation = operation_of(sides.first_entry->result.subject);
  if (operation == nullptr || !are_same_work(sides)) return {};
  return fmt::format("jitterscope {} {} {} --device {}", verb, operation->text(), flags,
                     sides.second_record->device.id);
}

std::string experiment_of(const Sides& sides, const std::string& vary) {
  return command_of(sides, "compare", "--vary " + vary);
}

template <class State>
std::optional<AccountedPart> state_part(const Sides& sides, const std::string& name, State Conditions::*state,
                                        const std::optional<RatioEstimate>& in_first,
                                        const std::optional<RatioEstimate>& in_second,
                                        const std::string& verb, const std::string& flag) {
  const State a = sides.first->conditions.*state, b = sides.second->conditions.*state;
  if (a == b) return std::nullopt;
  AccountedPart part{.name = name, .first = std::string(to_string(a)), .second = std::string(to_string(b))};
  part.ratio = in_first ? in_first : in_second;
  part.source = part.ratio ? fmt::format("as the {} record timed both", in_first ? "first" : "second")
                           : "neither record timed both";
  if (!part.ratio) part.experiment = command_of(sides, verb, flag + part.first + ',' + part.second);
  return part;
}

std::optional<AccountedPart> cache_part(const Sides& sides) {
  const Conditions &a = sides.first->conditions, &b = sides.second->conditions;
  return state_part(
      sides, "cache", &Conditions::cache, contrast_in(sides.first_result(), a.cache, a.load, b.cache, a.load),
      contrast_in(sides.second_result(), a.cache, b.load, b.cache, b.load), "compare", "--vary cache=");
}

std::optional<AccountedPart> load_part(const Sides& sides) {
  const Conditions &a = sides.first->conditions, &b = sides.second->conditions;
  return state_part(sides, "load", &Conditions::load,
                    contrast_in(sides.first_result(), a.cache, a.load, a.cache, b.load),
                    contrast_in(sides.second_result(), b.cache, a.load, b.cache, b.load), "run", "--load ");
}

// Returns the ratio between two engines if one record timed the same work with both.
std::optional<RatioEstimate> engine_contrast_in(const RunRecord& record, const RunEntry& entry,
                                                const Measurement& measured,
                                                const std::string& other_engine) {
  const Operation* operation = operation_of(entry.result.subject);
  if (operation == nullptr || other_engine.empty()) return std::nullopt;
  for (const RunEntry& other : record.entries) {
    const Operation* same = operation_of(other.result.subject);
    if (same == nullptr || other.result.algorithm != other_engine) continue;
    if (with_engine(*same, "") != with_engine(*operation, "")) continue;
    const Measurement* by_other =
        measurement_of(other.result, measured.conditions.load, measured.conditions.cache);
    if (by_other != nullptr) return time_ratio(measured.repeatability, by_other->repeatability);
  }
  return std::nullopt;
}

std::optional<AccountedPart> engine_part(const Sides& sides) {
  const Result &a = sides.first_result(), &b = sides.second_result();
  if (a.provider == b.provider && a.algorithm == b.algorithm) return std::nullopt;
  AccountedPart part{.name = "engine",
                     .first = joined(std::vector{a.provider, a.algorithm}, " "),
                     .second = joined(std::vector{b.provider, b.algorithm}, " "),
                     .source = "the records do not tell"};
  const std::optional<RatioEstimate> in_first =
      engine_contrast_in(*sides.first_record, *sides.first_entry, *sides.first, b.algorithm);
  std::optional<RatioEstimate> in_second =
      engine_contrast_in(*sides.second_record, *sides.second_entry, *sides.second, a.algorithm);
  if (in_second) in_second = inverse_of(*in_second);
  part.ratio = in_first ? in_first : in_second;
  if (part.ratio) {
    part.source = fmt::format("as the {} record timed both", in_first ? "first" : "second");
  } else if (a.provider == b.provider && !a.algorithm.empty() && !b.algorithm.empty()) {
    part.experiment = experiment_of(sides, fmt::format("engine={},{}", a.algorithm, b.algorithm));
  }
  return part;
}

std::string kernel_names(const Result& result) {
  std::vector<std::string> names;
  for (const LaunchKernel& kernel : result.kernels) names.push_back(kernel.name);
  return joined(names);
}

std::optional<AccountedPart> kernels_part(const Sides& sides) {
  const std::string a = kernel_names(sides.first_result()), b = kernel_names(sides.second_result());
  if (a == b || a.empty() || b.empty()) return std::nullopt;
  return AccountedPart{.name = "kernels", .first = a, .second = b, .source = "the records do not tell"};
}

std::optional<AccountedPart> problem_part(const Sides& sides) {
  const std::string a = to_string(sides.first_result().subject), b = to_string(sides.second_result().subject);
  if (a == b) return std::nullopt;
  auto [own, other] = differing_parameters(a, b);
  return AccountedPart{.name = "operation",
                       .first = std::move(own),
                       .second = std::move(other),
                       .source = "they are not the same work: compare like with like"};
}

std::optional<AccountedPart> data_part(const Sides& sides) {
  const auto word = [](const Measurement& measurement) {
    return std::string(measurement.conditions.data ? to_string(*measurement.conditions.data) : "unknown");
  };
  const std::string a = word(*sides.first), b = word(*sides.second);
  if (a == b) return std::nullopt;
  return AccountedPart{.name = "data",
                       .first = a,
                       .second = b,
                       .source = "the records do not tell",
                       .experiment = experiment_of(sides, fmt::format("data={},{}", a, b))};
}

// Returns a part with no known effect, only a known uncertainty.
AccountedPart uncertain(std::string name, Nanoseconds Uncertainty::*part, const Sides& sides,
                        std::string source) {
  const double half = std::hypot(sides.first->uncertainty.*part / sides.first->time.median,
                                 sides.second->uncertainty.*part / sides.second->time.median);
  return {.name = std::move(name), .ratio = ratio_with(0.0, half), .source = std::move(source)};
}

AccountedPart instrument_part(const Sides& sides) {
  AccountedPart part = uncertain("method", &Uncertainty::instrument, sides,
                                 "how well each process knows what its instrument adds");
  if (sides.first->instrument != sides.second->instrument) {
    part.first = to_string(sides.first->instrument);
    part.second = to_string(sides.second->instrument);
  }
  return part;
}

AccountedPart process_part(const Sides& sides) {
  return uncertain("process", &Uncertainty::processes, sides, "how far processes differ on such a device");
}

std::vector<AccountedPart> parts_of(const Sides& sides, const std::vector<RecordDifference>& machines) {
  std::vector<AccountedPart> parts;
  const auto add = [&](const std::optional<AccountedPart>& part) {
    if (part) parts.push_back(*part);
  };
  for (const RecordDifference& difference : machines) {
    if (!difference.may_explain) continue;
    parts.push_back({.name = difference.name,
                     .first = difference.first,
                     .second = difference.second,
                     .source = "the records do not tell: measure both on one machine"});
  }
  add(problem_part(sides));
  add(engine_part(sides));
  add(kernels_part(sides));
  const bool is_same_device =
      std::ranges::find(machines, "device", &RecordDifference::name) == machines.end();
  if (are_same_work(sides)) add(clock_part(sides, is_same_device));
  add(power_part(sides));
  add(temperature_part(sides));
  add(cache_part(sides));
  add(load_part(sides));
  add(data_part(sides));
  add(instrument_part(sides));
  add(process_part(sides));
  return parts;
}

Account account_of(const Sides& sides, std::int64_t count, const std::vector<RecordDifference>& machines) {
  Account account{.layers = sides.first_entry->layers,
                  .count = count,
                  .first_subject = to_string(sides.first_result().subject),
                  .second_subject = to_string(sides.second_result().subject),
                  .first_conditions = sides.first->conditions,
                  .second_conditions = sides.second->conditions,
                  .first = sides.first->repeatability,
                  .second = sides.second->repeatability};
  account.time = time_ratio(account.first, account.second);
  account.parts = parts_of(sides, machines);
  account.rest = rest_of(account);
  return account;
}

// Returns the pair of conditions that differ least; the first of several.
std::optional<Sides> sides_of(const RunRecord& first_record, const RunRecord& second_record,
                              const RunEntry& first, const RunEntry& second) {
  const auto distance = [](const Sides& sides) {
    const Conditions &a = sides.first->conditions, &b = sides.second->conditions;
    return (a.cache != b.cache ? 1 : 0) + (a.load != b.load ? 2 : 0);
  };
  std::optional<Sides> nearest;
  for (const Measurement& a : first.result.measurements) {
    for (const Measurement& b : second.result.measurements) {
      const Sides sides{&first_record, &second_record, &first, &second, &a, &b};
      if (!nearest || distance(sides) < distance(*nearest)) nearest = sides;
    }
  }
  return nearest;
}

}  // namespace

std::string_view rest_name(const RatioEstimate& rest, bool has_parts) {
  if (rest.low <= 1.0 && 1.0 <= rest.high) return "rest, none shown";
  return rest.ratio < 1.0 && has_parts ? "overlap of the parts" : "not explained";
}

const std::string& name_of(const Account& account) {
  return account.layers.empty() ? account.first_subject : account.layers.front();
}

std::vector<const Account*> largest_change_first(const std::vector<Account>& accounts) {
  std::vector<const Account*> sorted;
  for (const Account& account : accounts) sorted.push_back(&account);
  const auto weight = [](const Account* account) { return std::abs(change_of_all(*account).value()); };
  std::ranges::stable_sort(sorted, std::greater(), weight);
  return sorted;
}

std::vector<Account> account_for(const RunRecord& first, const RunRecord& second) {
  const std::vector<RecordDifference> machines = machine_differences(first, second);
  std::vector<Account> accounts;
  for (const auto& [a, b, count] : entries_in_common(first, second)) {
    if (const auto sides = sides_of(first, second, *a, *b))
      accounts.push_back(account_of(*sides, count, machines));
  }
  if (accounts.empty()) throw UsageError("the two records have no operation in common that both timed");
  return accounts;
}

// Compares three times of a layer: alone, in its network, and in PyTorch.

namespace {

// PyTorch's times are CUPTI's; ours agree with them within this (docs/evidence/benchmarks.md).
constexpr Nanoseconds kInstruments = microseconds(0.1);

// Returns the mean over all calls of one run; it does not tell how far another run would differ.
TimeEstimate recorded_time_of(const Layer& layer) {
  const Nanoseconds time = *layer.recorded_time / static_cast<double>(layer.count());
  return {time, time, time, layer.count()};
}

struct TracedSides {
  const RunRecord& record;
  const Model& trace;
  const RunEntry& entry;
  const Layer& layer;
  const Measurement& alone;
  const LayerInSequence* in_sequence;  // null if the record has none
};

std::string joined_names(const std::vector<LaunchKernel>& kernels) {
  std::vector<std::string> names;
  for (const LaunchKernel& kernel : kernels) names.push_back(kernel.name);
  return joined(names);
}

void add_if_different(Account& account, std::string name, std::string ours, std::string theirs) {
  if (ours.empty() || theirs.empty() || ours == theirs) return;
  account.parts.push_back({.name = std::move(name),
                           .first = std::move(ours),
                           .second = std::move(theirs),
                           .source = "record and trace do not tell what it does"});
}

std::string cudnn_of(const RunRecord& record) {
  const auto& libraries = record.device.libraries;
  const auto found = std::ranges::find(libraries, "cudnn", &LibraryInfo::name);
  return found == libraries.end() ? std::string() : found->version;
}

// A stand-in is not what PyTorch ran, whether or not the record names its kernels.
void add_kernels(Account& account, const Result& result, const Layer& layer) {
  std::string ours = joined_names(result.kernels);
  if (ours.empty() && result.stand_in) ours = result.algorithm + ", a stand-in";
  add_if_different(account, "kernels", std::move(ours), joined(layer.recorded_kernels));
}

void add_place_in_network(Account& account, const TracedSides& sides) {
  AccountedPart part{.name = "network", .first = "alone", .second = "where it runs"};
  if (sides.in_sequence != nullptr) {
    part.ratio = time_ratio(account.first, sides.in_sequence->in_place);
    part.source = "the record timed it in sequence too";
    if (!sides.in_sequence->reason.empty()) part.source += ": " + sides.in_sequence->reason;
  } else {
    part.source = "the record has the layer alone";
    part.experiment =
        "jitterscope run TRACE --in-sequence --json FILE, and explain FILE with the trace again";
  }
  account.parts.push_back(std::move(part));
}

// Adds a part with no known effect, only a known uncertainty.
void add_uncertainty(Account& account, std::string name, Nanoseconds uncertainty, std::string source) {
  const double half = uncertainty / account.first.median;
  account.parts.push_back(
      {.name = std::move(name), .ratio = ratio_with(0.0, half), .source = std::move(source)});
}

Account traced_account(const TracedSides& sides) {
  Account account{.layers = sides.layer.names,
                  .count = sides.layer.count(),
                  .first_subject = sides.layer.operation.text(),
                  .second_subject = sides.layer.operation.text(),
                  .first_conditions = sides.alone.conditions,
                  .second_conditions = sides.alone.conditions,
                  .first = sides.alone.repeatability,
                  .second = recorded_time_of(sides.layer)};
  account.time =
      ratio_with(std::log(account.second.median / account.first.median), relative_half(account.first));
  add_if_different(account, "device", sides.record.device.name, sides.trace.recorded_device);
  add_if_different(account, "cudnn", cudnn_of(sides.record), sides.trace.recorded_cudnn);
  add_kernels(account, sides.entry.result, sides.layer);
  add_place_in_network(account, sides);
  add_uncertainty(account, "method", sides.alone.uncertainty.instrument + kInstruments,
                  "our instrument's constant, and how far it and CUPTI agree");
  add_uncertainty(account, "process", sides.alone.uncertainty.processes,
                  "how far processes differ on such a device");
  account.rest = rest_of(account);
  return account;
}

const Layer* layer_of(const Model& trace, const Result& result) {
  const Operation* operation = operation_of(result.subject);
  if (operation == nullptr) return nullptr;
  const auto found = std::ranges::find(trace.layers, *operation, &Layer::operation);
  return found == trace.layers.end() || !found->recorded_time ? nullptr : &*found;
}

}  // namespace

std::vector<Account> account_for(const RunRecord& record, const Model& trace) {
  if (std::ranges::none_of(trace.layers,
                           [](const Layer& layer) { return layer.recorded_time.has_value(); })) {
    throw UsageError(trace.name +
                     " holds no times of a GPU: record it with torch.profiler and "
                     "ProfilerActivity.CUDA");
  }
  const std::vector<LayerInSequence> placed = layers_in_sequence(record);
  std::vector<Account> accounts;
  for (std::size_t i = 0; i < record.entries.size(); ++i) {
    const RunEntry& entry = record.entries[i];
    const Layer* layer = layer_of(trace, entry.result);
    if (layer == nullptr || entry.result.measurements.empty()) continue;
    const auto place = std::ranges::find(placed, i, &LayerInSequence::result);
    accounts.push_back(traced_account({record, trace, entry, *layer, entry.result.measurements.front(),
                                       place == placed.end() ? nullptr : &*place}));
  }
  if (!accounts.empty()) return accounts;
  throw UsageError(
      "record and trace have no operation in common that both timed: measure the trace's layers with "
      "`jitterscope run TRACE --json FILE`");
}

double relative_half(const TimeEstimate& time) {
  return std::isfinite(time.precision()) ? (time.high - time.low) / time.median / 2.0 : 1.0;
}

RatioEstimate ratio_with(double logarithm, double half) {
  return {std::exp(logarithm), std::exp(logarithm - half), std::exp(logarithm + half)};
}

double half_of(const RatioEstimate& ratio) {
  return std::max(std::log(ratio.high / ratio.ratio), std::log(ratio.ratio / ratio.low));
}

RatioEstimate time_ratio(const TimeEstimate& first, const TimeEstimate& second) {
  return ratio_with(std::log(second.median / first.median),
                    std::hypot(relative_half(first), relative_half(second)));
}

RatioEstimate rest_of(const Account& account) {
  double rest = std::log(account.time.ratio), half = half_of(account.time);
  for (const AccountedPart& part : account.parts) {
    if (!part.ratio) continue;
    rest -= std::log(part.ratio->ratio);
    half = std::hypot(half, half_of(*part.ratio));
  }
  return ratio_with(rest, half);
}

namespace {

// Returns all names of parts, each after those that stand before it in some account.
std::vector<std::string> names_of_parts(const std::vector<Account>& accounts) {
  std::vector<std::string> names;
  for (const Account& account : accounts) {
    auto place = names.begin();
    for (const AccountedPart& part : account.parts) {
      const auto known = std::ranges::find(names, part.name);
      place = (known == names.end() ? names.insert(place, part.name) : known) + 1;
    }
  }
  return names;
}

double time_of_all(const Account& account) {
  return account.first.median.value() * static_cast<double>(account.count);
}

TotalPart part_of_all(const std::vector<Account>& accounts, const std::string& name, double time) {
  TotalPart total{.name = name};
  double ratio = 1.0, half = 0.0;
  bool is_known = true, is_same = true;
  const Account* most = nullptr;
  for (const Account& account : accounts) {
    const auto part = std::ranges::find(account.parts, name, &AccountedPart::name);
    if (part == account.parts.end()) continue;
    ++total.operations;
    is_same = is_same && (most == nullptr || (total.first == part->first && total.second == part->second));
    if (most == nullptr ||
        std::abs(change_of_all(account).value()) > std::abs(change_of_all(*most).value())) {
      most = &account;
      total.first = part->first;
      total.second = part->second;
    }
    total.change += change_of_all(account);
    is_known = is_known && part->ratio.has_value();
    if (!part->ratio) continue;
    const double weight = time_of_all(account) / time;
    ratio += weight * (part->ratio->ratio - 1.0);
    half += weight * half_of(*part->ratio);  // added: one error may be in all
  }
  if (!is_same) total.of = name_of(*most);
  if (is_known) total.ratio = ratio_with(std::log(ratio), half);
  return total;
}

}  // namespace

Nanoseconds change_of_all(const Account& account) {
  return (account.second.median - account.first.median) * static_cast<double>(account.count);
}

std::vector<std::string> notes_on_left_out(const RunRecord& first, const RunRecord& second,
                                           const std::vector<Account>& accounts) {
  std::int64_t together = 0;
  for (const Account& account : accounts) together += account.count;
  std::vector<std::string> notes;
  for (const auto& [name, record] : {std::pair("first", &first), {"second", &second}}) {
    std::int64_t own = 0;
    for (const RunEntry& entry : record->entries) own += entry.count;
    if (own <= together) continue;
    notes.push_back(
        fmt::format("{} of {} calls of the {} record have no partner in the other, or no time: nothing "
                    "here is about them.",
                    own - together, own, name));
  }
  return notes;
}

std::optional<AccountTotal> total_of(const std::vector<Account>& accounts) {
  AccountTotal total;
  for (const Account& account : accounts) {
    total.calls += account.count;
    for (const auto& [sum, time] :
         {std::pair(&total.first, &account.first), {&total.second, &account.second}}) {
      const auto count = static_cast<double>(account.count);
      sum->rounds = sum->rounds == 0 ? time->rounds : std::min(sum->rounds, time->rounds);
      sum->median += time->median * count;
      sum->low += time->low * count;
      sum->high += time->high * count;
    }
  }
  if (accounts.size() < 2 || !(total.first.median > Nanoseconds(0))) return std::nullopt;
  total.time = time_ratio(total.first, total.second);
  double rest = std::log(total.time.ratio), half = half_of(total.time);
  for (const std::string& name : names_of_parts(accounts)) {
    total.parts.push_back(part_of_all(accounts, name, total.first.median.value()));
    const std::optional<RatioEstimate>& ratio = total.parts.back().ratio;
    if (!ratio) continue;
    rest -= std::log(ratio->ratio);
    half = std::hypot(half, half_of(*ratio));
  }
  total.rest = ratio_with(rest, half);
  return total;
}

namespace {

std::string change_words(const RatioEstimate& ratio) { return change_text(ratio.ratio - 1.0); }

std::string range_words(const RatioEstimate& ratio) {
  return fmt::format("{} to {}", change_text(ratio.low - 1.0), change_text(ratio.high - 1.0));
}

// Says what accounts for the change, and what remains. `unknown` has the parts of unknown effect.
std::string reasons_words(std::vector<std::string> known, const std::vector<std::string>& unknown,
                          const RatioEstimate& rest) {
  if (rest.low <= 1.0 && 1.0 <= rest.high) {
    known.push_back(
        fmt::format("the rest, {}, is within what is not known ({})", change_words(rest), range_words(rest)));
  } else {
    known.push_back(
        fmt::format("{} ({}) stays{}", change_words(rest), range_words(rest),
                    unknown.empty() ? " unexplained" : ", and may come from " + joined(unknown, " or ")));
  }
  return joined(known, "; ") + '.';
}

template <class Part>
std::string known_words(const Part& part) {
  return fmt::format("{} accounts for {} ({})", part.name, change_words(*part.ratio),
                     range_words(*part.ratio));
}

std::string account_sentence(const Account& account) {
  std::string text =
      fmt::format("{}, {}: time {} ({})", name_of(account), conditions_text(account.first_conditions),
                  change_words(account.time), range_words(account.time));
  std::vector<std::string> known, unknown;
  for (const AccountedPart& part : account.parts) {
    if (part.source == kByTheClock) continue;
    if (!part.ratio) {
      unknown.push_back(part.name == "operation"
                            ? fmt::format("operation ({}, then {})", part.first, part.second)
                            : part.name);
    } else if (part.ratio->ratio != 1.0) {
      known.push_back(known_words(part));
    }
  }
  return text + "; " + reasons_words(std::move(known), unknown, account.rest);
}

std::string share_of_change(Nanoseconds change, const AccountTotal& total) {
  return percent_text(change / total.change());
}

// Says how all calls together changed, and which operations make that up.
std::string total_sentence(const AccountTotal& total, const std::vector<const Account*>& sorted) {
  constexpr std::size_t kNamed = 4;
  const char* what = sorted.front()->layers.empty() ? "operations together" : "calls";
  std::string text =
      fmt::format("All {} {}: {} in time ({}), {}, then {}", total.calls, what, change_words(total.time),
                  range_words(total.time), time_text(total.first.median, total.first.precision()),
                  time_text(total.second.median, total.second.precision()));
  if (!total.is_changed()) return text + ": no change is shown.";
  std::vector<std::string> named;
  Nanoseconds rest = total.change();
  for (std::size_t i = 0; i < std::min(kNamed, sorted.size()); ++i) {
    const Nanoseconds change = change_of_all(*sorted[i]);
    const std::string name = sorted[i]->count > 1
                                 ? fmt::format("{} ×{}", name_of(*sorted[i]), sorted[i]->count)
                                 : name_of(*sorted[i]);
    named.push_back(fmt::format("{} {}", name, share_of_change(change, total)));
    rest -= change;
  }
  text += fmt::format(". Of the change: {}", joined(named));
  if (sorted.size() > kNamed)
    text += fmt::format(", {} others {}", sorted.size() - kNamed, share_of_change(rest, total));
  return text + '.';
}

std::string values_words(const TotalPart& part) {
  if (part.first.empty() && part.second.empty()) return {};
  const auto shown = [](const std::string& value) { return value.empty() ? std::string("none") : value; };
  return fmt::format("{}, then {}{}", shown(part.first), shown(part.second),
                     part.of.empty() ? "" : " in " + part.of);
}

// Returns "engine (in 3 of 117 operations, 38 % of the change)" or "driver (570.1, then 580.2)".
std::string named_part(const TotalPart& part, const AccountTotal& total, std::size_t operations) {
  std::vector<std::string> words;
  if (const std::string values = values_words(part); !values.empty()) words.push_back(values);
  if (part.operations < operations) {
    words.push_back(fmt::format("in {} of {} operations", part.operations, operations));
    if (total.is_changed()) words.back() += ", " + share_of_change(part.change, total) + " of the change";
  }
  return words.empty() ? part.name : fmt::format("{} ({})", part.name, joined(words, "; "));
}

std::string causes_sentence(const AccountTotal& total, std::size_t operations) {
  std::vector<std::string> known, unknown, by_clock;
  for (const TotalPart& part : total.parts) {
    const std::string words = named_part(part, total, operations);
    if (part.name == "power" || part.name == "temperature") {
      by_clock.push_back(words);
    } else if (!part.ratio) {
      unknown.push_back(words);
    } else if (part.ratio->ratio != 1.0) {
      known.push_back(known_words(part) + words.substr(part.name.size()));
    }
  }
  std::string text = "Over all calls: " + reasons_words(std::move(known), unknown, total.rest);
  if (total.is_explained() && !unknown.empty()) text += " Also different: " + joined(unknown) + '.';
  if (!by_clock.empty()) text += " What acts by the clock: " + joined(by_clock) + '.';
  return text;
}

}  // namespace

std::vector<std::string> conclusions_of(const std::vector<Account>& accounts) {
  const std::vector<const Account*> sorted = largest_change_first(accounts);
  constexpr std::size_t kSaid = 3;
  std::vector<std::string> sentences, experiments, tried;
  if (std::string unlike = unlike_work_sentence(accounts); !unlike.empty())
    sentences.push_back(std::move(unlike));
  if (const std::optional<AccountTotal> total = total_of(accounts)) {
    sentences.push_back(total_sentence(*total, sorted));
    sentences.push_back(causes_sentence(*total, accounts.size()));
  }
  for (std::size_t i = 0; i < std::min(kSaid, sorted.size()); ++i) {
    sentences.push_back(account_sentence(*sorted[i]));
    // The operation that changed most shows it best.
    for (const AccountedPart& part : sorted[i]->parts) {
      if (part.experiment.empty() || std::ranges::find(tried, part.name) != tried.end()) continue;
      tried.push_back(part.name);
      experiments.push_back(fmt::format("What {} does: {}", part.name, part.experiment));
    }
  }
  sentences.insert(sentences.end(), experiments.begin(), experiments.end());
  return sentences;
}

}  // namespace jitterscope::explain
