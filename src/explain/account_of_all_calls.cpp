#include "explain/account.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "experiment/judgement.hpp"
#include "experiment/processes.hpp"
#include "experiment/times_apart.hpp"
#include "explain/account_arithmetic.hpp"
#include "explain/unlike_work.hpp"
#include "finding/evidence.hpp"

namespace jitterscope::explain {
namespace {

ProcessValues values_of(const std::vector<Nanoseconds>& processes) {
  if (processes.empty()) return std::nullopt;
  std::vector<double> values;
  for (const Nanoseconds time : processes) values.push_back(time.value());
  return values;
}

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

// Returns half of the interval of the change of all calls.
Nanoseconds half_of_change(const Account& account) {
  return account.first.median *
         (static_cast<double>(account.count) * account.time.ratio * half_of(account.time));
}

TotalPart part_of_all(const std::vector<Account>& accounts, const std::string& name, double time) {
  TotalPart total{.name = name};
  RatioEstimate sum{1.0, 1.0, 1.0};
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
    total.change_half += half_of_change(account);
    total.acts_by_clock = part->source == kByTheClock;
    total.is_bound = total.is_bound || part->is_bound;
    is_known = is_known && part->ratio.has_value();
    if (!part->ratio) continue;
    const double weight = time_of_all(account) / time;
    // Ends are added: one error may be in all.
    sum.ratio += weight * (part->ratio->ratio - 1.0);
    sum.low += weight * (part->ratio->low - 1.0);
    sum.high += weight * (part->ratio->high - 1.0);
  }
  if (!is_same) total.of = name_of(*most);
  if (is_known) total.ratio = sum;
  total.is_bound = total.is_bound && total.ratio && is_wide(*total.ratio);
  return total;
}

}  // namespace

std::optional<RatioEstimate> effect_of_place(const Account& account) {
  return account.in_sequence ? std::optional(time_ratio(account.first, *account.in_sequence)) : std::nullopt;
}

Nanoseconds change_of_all(const Account& account) {
  return (account.second.median - account.first.median) * static_cast<double>(account.count);
}

namespace {

std::int64_t calls_of(const RunRecord& record) {
  std::int64_t calls = 0;
  for (const RunEntry& entry : record.entries) add_calls(calls, entry.count);
  return calls;
}

std::int64_t calls_of(const std::vector<Account>& accounts) {
  std::int64_t calls = 0;
  for (const Account& account : accounts) add_calls(calls, account.count);
  return calls;
}

}  // namespace

ComparedCalls compared_calls(const RunRecord& first, const RunRecord& second,
                             const std::vector<Account>& accounts) {
  return {calls_of(accounts), calls_of(first), calls_of(second)};
}

ComparedCalls compared_calls(const RunRecord& record, const Model& program,
                             const std::vector<Account>& accounts) {
  std::int64_t calls = 0;
  for (const Layer& layer : program.layers) add_calls(calls, layer.calls());
  for (const UntimedOperator& untimed : program.untimed) add_calls(calls, untimed.count);
  return {calls_of(accounts), calls_of(record), calls};
}

namespace {

// Held queues have nothing of the host in their times, and a program that launches eagerly has.
std::string note_on_host(const RunRecord& first, const RunRecord& second) {
  constexpr double kOther = 1.5;
  struct Costs {
    Nanoseconds first, second;
    double ratio() const { return second / first; }
  };
  if (first.device.capabilities.is_host) return {};
  std::vector<Costs> costs;
  for (const EntryPair& each : entries_in_common(first, second)) {
    const Result &a = each.first->result, &b = each.second->result;
    const auto is_held = [](const Result& result) {
      return !result.measurements.empty() && result.measurements.front().conditions.queue != QueueMode::eager;
    };
    if (is_held(a) && is_held(b) && a.launch_cost > Nanoseconds(0) && b.launch_cost > Nanoseconds(0))
      costs.push_back({a.launch_cost, b.launch_cost});
  }
  if (costs.empty()) return {};
  const auto middle = costs.begin() + std::ssize(costs) / 2;
  std::ranges::nth_element(costs, middle, {}, &Costs::ratio);
  if (middle->ratio() < kOther && middle->ratio() > 1.0 / kOther) return {};
  return fmt::format(
      "The host takes {} to launch a call, then {}: these times do not have it, a program that "
      "launches eagerly does (run --queue eager).",
      time_text(middle->first), time_text(middle->second));
}

}  // namespace

std::vector<std::string> notes_on(const RunRecord& first, const RunRecord& second,
                                  const std::vector<Account>& accounts) {
  const ComparedCalls calls = compared_calls(first, second, accounts);
  std::vector<std::string> notes;
  for (const auto& [name, own] : {std::pair("first", calls.of_first), {"second", calls.of_second}}) {
    if (own <= calls.together) continue;
    notes.push_back(
        fmt::format("{} of {} calls of the {} record have no partner in the other, or no time: nothing "
                    "here is about them.",
                    own - calls.together, own, name));
  }
  const bool over_processes = std::ranges::any_of(accounts, [](const Account& account) {
    return !account.first_processes.empty() && !account.second_processes.empty();
  });
  if (over_processes && are_on_hosts(first, second)) notes.emplace_back(kLeastDisturbedNote);
  note_other_work(first, "the first record", notes);
  note_other_work(second, "the second record", notes);
  if (const std::string host = note_on_host(first, second); !host.empty()) notes.push_back(host);
  return notes;
}

std::optional<AccountTotal> total_of(const std::vector<Account>& accounts) {
  AccountTotal total;
  SumsApart sums;
  for (const Account& account : accounts) {
    add_calls(total.calls, account.count);
    sums.add(account.first, values_of(account.first_processes), account.second,
             values_of(account.second_processes), account.count);
  }
  total.first = sums.first();
  total.second = sums.second();
  if (accounts.size() < 2 || !(total.first.median > Nanoseconds(0))) return std::nullopt;
  total.time = time_ratio(total.first, total.second);
  if (const auto apart = sums.times(1.0)) {
    total.first = apart->first;
    total.second = apart->second;
    total.time = ratio_of(apart->effect);
  }
  const bool is_of_program = accounts.front().is_of_program;
  total.rest = total.time;
  for (const std::string& name : names_of_parts(accounts)) {
    total.parts.push_back(part_of_all(accounts, name, total.first.median.value()));
    const TotalPart& part = total.parts.back();
    if (!part.ratio || part.is_bound || (is_only_uncertain(part.ratio) && !is_of_program)) continue;
    total.rest = without(total.rest, *part.ratio);
  }
  RatioEstimate left = total.rest;
  const bool is_open = std::ranges::any_of(
      total.parts, [](const TotalPart& part) { return !part.ratio && !part.acts_by_clock; });
  for (TotalPart& part : total.parts) {
    if (!part.ratio || !part.is_bound) continue;
    if (!is_open) part.ratio = within_change(*part.ratio, left);
    left.ratio /= part.ratio->ratio;
    total.rest = without(total.rest, *part.ratio);
  }
  return total;
}

namespace {

std::string change_words(const RatioEstimate& ratio) { return change_words_of(ratio).change; }

std::string range_words(const RatioEstimate& ratio) { return change_words_of(ratio).interval; }

// Returns "+5.2 % in time (+5.0 to +5.4 %)" or "1/4.68 of the time (1/4.70 to 1/4.66)".
std::string time_words(const RatioEstimate& ratio) {
  const std::string change = change_words(ratio), range = range_words(ratio);
  return change + (change.ends_with('%') ? " in time" : "") + (range.empty() ? "" : " (" + range + ')');
}

// The name of a circumstance within a sentence.
std::string cause_words(const std::string& name) { return name == "device" ? "another device" : name; }

// Says what accounts for the change, and what remains. `unknown` has the parts of unknown effect.
std::string reasons_words(std::vector<std::string> known, const std::vector<std::string>& unknown,
                          const RatioEstimate& time, const RatioEstimate& rest) {
  const bool is_explained = rest.low <= 1.0 && 1.0 <= rest.high;
  const bool is_unchanged = time.low <= 1.0 && 1.0 <= time.high;
  if (is_unchanged && known.empty() && unknown.empty()) return "no change is shown.";
  if (is_explained) {
    known.push_back(
        fmt::format("the rest, {}, is within what is not known ({})", change_words(rest), range_words(rest)));
  } else if (known.empty() && !unknown.empty()) {
    known.push_back("it may come from " + joined(unknown, " or "));  // the rest is the whole change
  } else {
    known.push_back(
        fmt::format("{} ({}) stays{}", change_words(rest), range_words(rest),
                    unknown.empty() ? " unexplained" : ", and may come from " + joined(unknown, " or ")));
  }
  return joined(known, "; ") + '.';
}

// True if the whole effect is less than what is not known of the time.
bool is_lost_in(const RatioEstimate& effect, const RatioEstimate& time) {
  return std::max(std::abs(effect.low - 1.0), std::abs(effect.high - 1.0)) < half_of(time);
}

template <class Part>
std::string known_words(const Part& part) {
  if (part.is_bound) return fmt::format("{} accounts for up to {}", part.name, most_text(*part.ratio));
  return fmt::format("{} accounts for {}", part.name, change_with_interval(*part.ratio));
}

// True if the part is worth a word: its effect is not lost in what is not known of the time, and what a bound
// may do was done.
template <class Part>
bool is_said(const Part& part, const RatioEstimate& time) {
  if (is_lost_in(*part.ratio, time)) return false;
  return part.is_bound ? time.low > 1.0 || time.high < 1.0 : !is_only_uncertain(part.ratio);
}

bool acts_by_clock(const AccountedPart& part) { return part.source == kByTheClock; }
bool acts_by_clock(const TotalPart& part) { return part.acts_by_clock; }

// True of a machine's difference that sets the clock: a cause, and no sign of one as power is.
template <class Part>
bool sets_the_clock(const Part& part) {
  return acts_by_clock(part) && (part.name == kMaximumClockDifference || part.name == kPowerLimitDifference);
}

// Returns ", by maximum clock 1980 MHz, then 1500 MHz"; empty if the machines set it alike.
template <class Parts>
std::string what_sets_the_clock(const Parts& parts) {
  std::vector<std::string> words;
  for (const auto& part : parts) {
    if (sets_the_clock(part))
      words.push_back(fmt::format("{} {}, then {}", part.name, part.first, part.second));
  }
  return words.empty() ? "" : ", by " + joined(words);
}

std::string account_sentence(const Account& account) {
  std::string text = fmt::format("{}, {}: {}", name_of(account), conditions_text(account.first_conditions),
                                 time_words(account.time));
  std::vector<std::string> known, unknown;
  for (const AccountedPart& part : account.parts) {
    if (acts_by_clock(part)) continue;
    if (!part.ratio) {
      const bool has_values =
          part.name == kOperationDifference || part.name == "queue" || part.name == "device";
      unknown.push_back(has_values
                            ? fmt::format("{} ({}, then {})", cause_words(part.name), part.first, part.second)
                            : part.name);
    } else if (account.is_of_program ? is_named(part) : is_said(part, account.time)) {
      known.push_back(known_words(part));
      if (part.name == kClock) known.back() += what_sets_the_clock(account.parts);
    }
  }
  return text + "; " + reasons_words(std::move(known), unknown, account.time, account.rest);
}

std::string share_of_change(Nanoseconds change, const AccountTotal& total) {
  return percent_text(change / total.change());
}

// Returns "All 403 calls", or "The 2 calls that both have (of 403, then 301)" where calls are left out.
std::string which_calls(const AccountTotal& total, bool are_typed,
                        const std::optional<ComparedCalls>& calls) {
  if (!calls || calls->are_all())
    return fmt::format("All {} {}", total.calls, are_typed ? "operations together" : "calls");
  return fmt::format("The {} {} that both have (of {}, then {})", total.calls,
                     are_typed ? "operations" : "calls", calls->of_first, calls->of_second);
}

// Says how all calls together changed, and which operations make that up.
std::string total_sentence(const AccountTotal& total, const std::vector<const Account*>& sorted,
                           const std::optional<ComparedCalls>& calls) {
  constexpr std::size_t kNamed = 4;
  std::string text =
      fmt::format("{}: {}, {}, then {}", which_calls(total, sorted.front()->layers.empty(), calls),
                  time_words(total.time), time_text(total.first.median, total.first.precision()),
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

// True if the change of the part's operations is the part's, and not that of other work or of noise.
bool has_share(const TotalPart& part, const AccountTotal& total) {
  if (part.acts_by_clock || !total.is_changed() || !part.is_change_shown()) return false;
  return part.name == kOperationDifference ||
         std::ranges::find(total.parts, kOperationDifference, &TotalPart::name) == total.parts.end();
}

// Returns "engine (in 3 of 117 operations, 38 % of the change)" or "driver (570.1, then 580.2)".
std::string named_part(const TotalPart& part, const AccountTotal& total, std::size_t operations) {
  std::vector<std::string> words;
  if (const std::string values = values_words(part); !values.empty()) words.push_back(values);
  if (part.operations < operations) {
    words.push_back(fmt::format("in {} of {} operations", part.operations, operations));
    if (has_share(part, total)) words.back() += ", " + share_of_change(part.change, total) + " of the change";
  }
  return words.empty() ? part.name : fmt::format("{} ({})", part.name, joined(words, "; "));
}

std::string causes_sentence(const AccountTotal& total, std::size_t operations, bool are_all) {
  std::vector<std::string> known, unknown, by_clock;
  bool is_clock_named = false;  // else nothing acted by it
  for (const TotalPart& part : total.parts) {
    const std::string words = named_part(part, total, operations);
    if (part.acts_by_clock) {
      if (!sets_the_clock(part)) by_clock.push_back(words);
    } else if (!part.ratio) {
      unknown.push_back(cause_words(part.name) + words.substr(part.name.size()));
      is_clock_named = is_clock_named || part.name == kClock;
    } else if (is_said(part, total.time)) {
      known.push_back(known_words(part) + words.substr(part.name.size()));
      if (part.name != kClock) continue;
      known.back() += what_sets_the_clock(total.parts);
      is_clock_named = true;
    }
  }
  if (known.empty() && unknown.empty() && !total.is_changed()) return {};
  std::string text = (are_all ? "Over all calls: " : "Over these calls: ") +
                     reasons_words(std::move(known), unknown, total.time, total.rest);
  if (total.is_explained() && !unknown.empty()) text += " Also different: " + joined(unknown) + '.';
  if (is_clock_named && !by_clock.empty()) text += " What acts by the clock: " + joined(by_clock) + '.';
  return text;
}

}  // namespace

std::vector<std::string> conclusions_of(const std::vector<Account>& accounts,
                                        const std::optional<ComparedCalls>& calls) {
  const std::vector<const Account*> sorted = largest_change_first(accounts);
  constexpr std::size_t kSaid = 3;
  std::vector<std::string> sentences, experiments, tried;
  if (std::string unlike = unlike_work_sentence(accounts); !unlike.empty())
    sentences.push_back(std::move(unlike));
  if (const std::optional<AccountTotal> total = total_of(accounts)) {
    sentences.push_back(total_sentence(*total, sorted, calls));
    if (std::string causes = causes_sentence(*total, accounts.size(), !calls || calls->are_all());
        !causes.empty())
      sentences.push_back(std::move(causes));
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
