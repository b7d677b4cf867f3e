#include "explain/unlike_work.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"
#include "operation/operation.hpp"
#include "operation/samples.hpp"
#include "operation/unlike_parameters.hpp"

namespace jitterscope::explain {
namespace {

std::optional<std::int64_t> number_in(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<Operation> parsed(const std::string& text) {
  try {
    return Operation::parse(text);
  } catch (const UsageError&) {
    return std::nullopt;  // a function of Python
  }
}

bool is_near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); }

// Returns how many times the samples the second record's operations take; nullopt if they take as many, or
// not all the same multiple.
std::optional<double> times_the_samples(const std::vector<const Account*>& unlike) {
  std::vector<Operation> parsed_operations;
  for (const Account* account : unlike) {
    for (const std::string& text : {account->first_subject, account->second_subject}) {
      std::optional<Operation> operation = parsed(text);
      if (!operation) return std::nullopt;
      parsed_operations.push_back(*std::move(operation));
    }
  }
  std::vector<std::pair<const Operation*, const Operation*>> operations;
  for (std::size_t i = 0; i < parsed_operations.size(); i += 2)
    operations.emplace_back(&parsed_operations[i], &parsed_operations[i + 1]);
  const std::optional<SampleChange> change = sample_change(operations);
  if (!change || !change->has_samples || !change->differs()) return std::nullopt;
  return change->times;
}

// Returns each change once, with the number of operations that have it, the most frequent first.
std::vector<UnlikeParameter> changes_in(const std::vector<const Account*>& unlike) {
  std::vector<UnlikeParameter> changes;
  for (const Account* account : unlike) {
    const auto own = unlike_parameters(account->first_subject, account->second_subject);
    for (const UnlikeParameter& each : own.value_or(std::vector<UnlikeParameter>())) {
      const auto known = std::ranges::find_if(
          changes, [&](const UnlikeParameter& change) { return change.is_same_change(each); });
      if (known == changes.end()) {
        changes.push_back(each);
      } else {
        ++known->operations;
      }
    }
  }
  std::ranges::stable_sort(changes, std::greater(), &UnlikeParameter::operations);
  return changes;
}

bool is_by_samples(const UnlikeParameter& change, double times) {
  const auto first = number_in(change.first), second = number_in(change.second);
  return first && second && *first > 0 &&
         is_near(static_cast<double>(*second) / static_cast<double>(*first), times);
}

// Says how much longer a sample takes; `batch` is the first record's, if it is known.
std::string sample_words(const std::vector<Account>& accounts, double times,
                         std::optional<std::int64_t> batch) {
  const std::optional<AccountTotal> total = total_of(accounts);
  const Account& only = accounts.front();
  const RatioEstimate ratio = total ? total->time : only.time;
  std::string text = fmt::format(" Per sample: {} in time ({} to {})", change_text(ratio.ratio / times - 1.0),
                                 change_text(ratio.low / times - 1.0), change_text(ratio.high / times - 1.0));
  if (batch && (total || only.count == 1)) {
    const TimeEstimate &first = total ? total->first : only.first,
                       &second = total ? total->second : only.second;
    const auto samples = static_cast<double>(*batch);
    text += fmt::format(", {}, then {}", time_text(first.median / samples, first.precision()),
                        time_text(second.median / (samples * times), second.precision()));
  }
  return text + '.';
}

}  // namespace

std::string unlike_work_sentence(const std::vector<Account>& accounts) {
  constexpr std::size_t kNamed = 3;
  std::vector<const Account*> unlike;
  for (const Account& account : accounts) {
    if (account.first_subject != account.second_subject) unlike.push_back(&account);
  }
  if (unlike.empty()) return {};
  const auto all = std::ssize(unlike);
  const std::string where =
      all == std::ssize(accounts) ? "" : fmt::format(" in {} of {} operations", all, accounts.size());
  std::vector<UnlikeParameter> changes = changes_in(unlike);
  std::vector<std::string> named;
  const std::optional<double> times = times_the_samples(unlike);
  std::optional<std::int64_t> batch;
  if (times) {
    const auto by_samples = [&](const UnlikeParameter& change) { return is_by_samples(change, *times); };
    const auto batches = std::ranges::find_if(changes, by_samples);
    std::string samples = fmt::format("{:.3g} times the samples", *times);
    if (batches != changes.end()) {
      // A network's layers call the same number n, rows or count: its user calls it the batch.
      const bool is_batch = batches->name == "n";
      if (is_batch) batch = number_in(batches->first);
      const bool is_network = !accounts.front().layers.empty();
      samples =
          fmt::format("{} ({})", batches->text(is_batch && is_network ? "batch" : batches->name), samples);
    }
    named.push_back(std::move(samples));
    std::erase_if(changes, by_samples);
  }
  for (const UnlikeParameter& change : changes) {
    if (named.size() == kNamed) break;
    named.push_back(change.text(change.name) +
                    (change.operations < all ? fmt::format(" in {} of them", change.operations) : ""));
  }
  if (named.empty()) {
    named.push_back(
        fmt::format("{}, then {}", unlike.front()->first_subject, unlike.front()->second_subject));
  }
  std::string text = fmt::format("**The work differs**{}: {}.", where, joined(named, "; "));
  return times ? text + sample_words(accounts, *times, batch) : text;
}

}  // namespace jitterscope::explain
