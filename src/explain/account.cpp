#include "explain/account.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "experiment/judgement.hpp"
#include "experiment/processes.hpp"
#include "experiment/times_apart.hpp"
#include "explain/account_arithmetic.hpp"
#include "explain/account_of_clocks.hpp"
#include "finding/evidence.hpp"
#include "finding/finding.hpp"
#include "jitterscope/error.hpp"
#include "operation/operation.hpp"
#include "operation/unlike_parameters.hpp"

namespace jitterscope::explain {
namespace {

// One result of each record, in one of its conditions.
struct Sides {
  const RunRecord *first_record, *second_record;
  const RunEntry *first_entry, *second_entry;
  const Measurement *first, *second;

  const Result& first_result() const { return first_entry->result; }
  const Result& second_result() const { return second_entry->result; }
};

RatioEstimate inverse_of(const RatioEstimate& ratio) {
  return {1.0 / ratio.ratio, 1.0 / ratio.high, 1.0 / ratio.low};
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

// A record that timed both states has none to account for: its measurement in the other's state is nearer.
template <class State>
std::optional<AccountedPart> state_part(const Sides& sides, const std::string& name, State Conditions::*state,
                                        const std::string& verb, const std::string& flag) {
  const State a = sides.first->conditions.*state, b = sides.second->conditions.*state;
  if (a == b) return std::nullopt;
  AccountedPart part{.name = name,
                     .first = std::string(to_string(a)),
                     .second = std::string(to_string(b)),
                     .source = "neither record timed both"};
  part.experiment = command_of(sides, verb, flag + part.first + ',' + part.second);
  return part;
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

std::optional<AccountedPart> kernels_part(const Sides& sides) {
  const std::string a = kernel_names(sides.first_result()), b = kernel_names(sides.second_result());
  if (a == b || a.empty() || b.empty()) return std::nullopt;
  return AccountedPart{.name = "kernels", .first = a, .second = b, .source = "the records do not tell"};
}

std::optional<AccountedPart> problem_part(const Sides& sides) {
  const std::string a = to_string(sides.first_result().subject), b = to_string(sides.second_result().subject);
  if (a == b) return std::nullopt;
  auto [own, other] = differing_parameters(a, b);
  return AccountedPart{.name = kOperationDifference,
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

// Conditions that no other part looks at: how launches were queued, whose operands were new, where they lay.
std::vector<AccountedPart> other_conditions(const Sides& sides) {
  constexpr std::string_view kLookedAt[] = {"cache",           "load",     "data",
                                            "locked_clock_hz", "provider", "algorithm"};
  const auto word = [](const std::optional<Value>& value) {
    return value ? to_string(*value) : std::string("not set");
  };
  std::vector<AccountedPart> parts;
  for (const ConditionDifference& each :
       differing_conditions(sides.first_result(), *sides.first, sides.second_result(), *sides.second)) {
    // The seed sets idles and orders alone; the interval includes their effect.
    if (each.name == "seed" || std::ranges::find(kLookedAt, each.name) != std::end(kLookedAt)) continue;
    parts.push_back({.name = each.name,
                     .first = word(each.first),
                     .second = word(each.second),
                     .source = "the records do not tell: measure both alike"});
  }
  return parts;
}

// Launched eagerly, a call takes as long as the GPU works or as the host launches it, whichever is longer.
// How long the host takes is a median of its own, a few percent less than what it adds to a time.
std::optional<AccountedPart> host_part(const Sides& sides) {
  constexpr double kBound = 0.85, kSame = 0.05, kUnsure = 0.1;
  const Nanoseconds a = sides.first_result().launch_cost, b = sides.second_result().launch_cost;
  const auto is_eager = [](const Measurement& measurement) {
    return measurement.conditions.queue == QueueMode::eager;
  };
  if (!is_eager(*sides.first) || !is_eager(*sides.second) ||
      sides.first_record->device.capabilities.is_host || a <= Nanoseconds(0) || b <= Nanoseconds(0) ||
      std::abs(std::log(b / a)) <= kSame) {
    return std::nullopt;
  }
  const Nanoseconds first = sides.first->time.median, second = sides.second->time.median;
  const bool first_waits = a > first * kBound, second_waits = b > second * kBound;
  if (!first_waits && !second_waits) return std::nullopt;
  // If the first record alone waited for its host, the second one's time is the GPU's own.
  const double effect = first_waits && second_waits ? std::log(b / a)
                        : second_waits              ? std::log(std::max(b, first) / first)
                                                    : std::log(second / first);
  return AccountedPart{.name = "host launch",
                       .first = time_text(a),
                       .second = time_text(b),
                       .ratio = ratio_with(effect, std::hypot(kUnsure * effect, kSame)),
                       .source = "a call that is launched eagerly takes no less than its launch"};
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
  const bool is_same_device =
      std::ranges::find(machines, "device", &RecordDifference::name) == machines.end();
  const ClockedSides clocked{*sides.first, *sides.second, sides.first_record->device.maximum_clock,
                             sides.second_record->device.maximum_clock};
  for (const RecordDifference& difference : machines) {
    if (!difference.may_explain) continue;
    const bool is_by_clock = are_same_work(sides) && acts_by_clock(difference, clocked);
    parts.push_back(
        {.name = difference.name,
         .first = difference.first,
         .second = difference.second,
         .source = is_by_clock ? kByTheClock : "the records do not tell: measure both on one machine"});
  }
  add(problem_part(sides));
  add(engine_part(sides));
  add(kernels_part(sides));
  // Clock, power and heat of one operation say nothing of another, nor a cycle of one device of another's.
  if (are_same_work(sides) && is_same_device) {
    for (AccountedPart& part : parts_of_clocks(clocked)) parts.push_back(std::move(part));
  }
  add(host_part(sides));
  add(state_part(sides, "cache", &Conditions::cache, "compare", "--vary cache="));
  add(state_part(sides, "load", &Conditions::load, "run", "--load "));
  add(data_part(sides));
  for (const AccountedPart& part : other_conditions(sides)) parts.push_back(part);
  add(instrument_part(sides));
  add(process_part(sides));
  return parts;
}

// Cuts bounds to the change that the other parts leave. A part of unknown effect may have worked against
// them: beside one they stay whole.
void fit_bounds_into_change(Account& account) {
  RatioEstimate left = account.time;
  for (const AccountedPart& part : account.parts) {
    if (!part.ratio && part.source != kByTheClock) return;
    if (part.ratio && !part.is_bound && !is_only_uncertain(part.ratio)) left = without(left, *part.ratio);
  }
  for (AccountedPart& part : account.parts) {
    if (!part.is_bound) continue;
    part.ratio = within_change(*part.ratio, left);
    left.ratio /= part.ratio->ratio;  // the next can have done no more than all, but need not
  }
}

std::vector<Nanoseconds> processes_of(const Measurement& measurement) {
  std::vector<Nanoseconds> times;
  for (const double time : times_of(measurement).value_or(std::vector<double>())) times.emplace_back(time);
  return times;
}

Account account_of(const Sides& sides, std::int64_t count, const std::vector<RecordDifference>& machines) {
  Account account{.layers = sides.first_entry->layers,
                  .count = count,
                  .first_subject = to_string(sides.first_result().subject),
                  .second_subject = to_string(sides.second_result().subject),
                  .first_conditions = sides.first->conditions,
                  .second_conditions = sides.second->conditions,
                  .first = sides.first->time,
                  .second = sides.second->time};
  account.time = time_ratio(account.first, account.second);
  const bool on_hosts = are_on_hosts(*sides.first_record, *sides.second_record);
  if (const auto apart = times_apart(*sides.first, *sides.second, on_hosts, 1.0)) {
    account.first = apart->first;
    account.second = apart->second;
    account.time = ratio_of(apart->effect);
  }
  account.first_processes = processes_of(*sides.first);
  account.second_processes = processes_of(*sides.second);
  account.parts = parts_of(sides, machines);
  fit_bounds_into_change(account);
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

std::vector<Account> accounts_of(const RunRecord& first, const RunRecord& second,
                                 const std::vector<EntryPair>& pairs) {
  const std::vector<RecordDifference> machines = machine_differences(first, second);
  std::vector<Account> accounts;
  for (const auto& [a, b, count] : pairs) {
    if (const auto sides = sides_of(first, second, *a, *b))
      accounts.push_back(account_of(*sides, count, machines));
  }
  return accounts;
}

}  // namespace

std::string_view rest_name(const RatioEstimate& rest) {
  return rest.low <= 1.0 && 1.0 <= rest.high ? "rest, none shown" : "not explained";
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
  std::vector<Account> accounts = accounts_of(first, second, entries_in_common(first, second));
  if (accounts.empty()) throw UsageError("the two records have no operation in common that both timed");
  return accounts;
}

std::vector<Account> account_for_equal_work(const RunRecord& first, const RunRecord& second) {
  return accounts_of(first, second, equal_entries(first, second));
}

std::optional<RatioEstimate> foretold(const Measurement& fitted, double clock_ratio) {
  const auto& fit = fitted.at_reference_clock;
  if (!fit) return std::nullopt;
  const auto at = [&](double share) {
    const double clamped = std::clamp(share, 0.0, 1.0);
    return 1.0 - clamped + clamped * clock_ratio;
  };
  const auto rounds = static_cast<double>(std::max<std::int64_t>(fitted.time.rounds, 2));
  const double spread = statistics::student_critical(0.95, rounds - 1.0) * fit->clock_share_error;
  const double low = at(fit->clock_share - spread), high = at(fit->clock_share + spread);
  return RatioEstimate{at(fit->clock_share), std::min(low, high), std::max(low, high)};
}

RatioEstimate extrapolated(const RatioEstimate& ratio) {
  const double logarithm = std::log(ratio.ratio);
  return ratio_with(logarithm, std::hypot(half_of(ratio), 0.25 * logarithm));
}

std::string kernel_names(const Result& result) {
  std::vector<std::string> names;
  for (const LaunchKernel& kernel : result.kernels) names.push_back(kernel.name);
  return joined(names);
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

RatioEstimate without(const RatioEstimate& ratio, const RatioEstimate& part) {
  return {ratio.ratio / part.ratio, ratio.low / part.high, ratio.high / part.low};
}

std::string most_text(const RatioEstimate& bounds) {
  const double most = bounds.high - 1.0 > 1.0 - bounds.low ? bounds.high : bounds.low;
  return time_change_text(most - 1.0);
}

bool is_wide(const RatioEstimate& ratio) { return half_of(ratio) > 0.5 * std::abs(std::log(ratio.ratio)); }

RatioEstimate within_change(const RatioEstimate& bounds, const RatioEstimate& change) {
  RatioEstimate within = bounds;
  if (bounds.high > 1.0) within.high = std::min(bounds.high, std::max({1.0, change.high, bounds.low}));
  if (bounds.low < 1.0) within.low = std::max(bounds.low, std::min({1.0, change.low, bounds.high}));
  within.ratio = std::clamp(change.ratio, within.low, within.high);
  return within;
}

RatioEstimate rest_of(const Account& account) {
  RatioEstimate rest = account.time;
  for (const AccountedPart& part : account.parts) {
    if (part.ratio && (part.is_bound || !is_only_uncertain(part.ratio))) rest = without(rest, *part.ratio);
  }
  return rest;
}

}  // namespace jitterscope::explain
