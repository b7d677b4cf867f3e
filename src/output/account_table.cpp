#include "output/account_table.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "output/cells.hpp"

namespace jitterscope {
namespace {

using explain::Account;
using explain::AccountedPart;

template <class Part>
std::string change_or_open(const Part& part, bool acts_by_clock) {
  if (!part.ratio) return acts_by_clock ? "by the clock" : "not known";
  return part.is_bound ? "up to " + explain::most_text(*part.ratio) : change_of(*part.ratio);
}

// Returns a line where a reader who adds the parts up does not find the whole; `account` is one of an
// operation or of all.
template <class AnyAccount>
Text multiply_line(const AnyAccount& account, std::size_t width) {
  constexpr double kSeen = 0.01;
  double sum = account.rest.ratio - 1.0;
  for (const auto& part : account.parts) sum += part.ratio ? part.ratio->ratio - 1.0 : 0.0;
  if (std::abs(sum - (account.time.ratio - 1.0)) < kSeen) return {};
  return Text("\n") +
         wrapped("Effects multiply and do not add up: 1.5 times and 1.2 times are 1.8 times.", width);
}

Text one_account(const Account& account, std::size_t width) {
  TableColumn parts{"", Align::left, {}}, firsts{account.is_of_program ? "alone" : "first", Align::left, {}},
      seconds{account.is_of_program ? "in program" : "second", Align::left, {}},
      changes{"time", Align::right, {}};
  const auto add = [&](const std::string& name, const std::string& first, const std::string& second,
                       const std::string& change) {
    parts.cells.push_back(name);
    firsts.cells.push_back(one_line(first));
    seconds.cells.push_back(one_line(second));
    changes.cells.push_back(change);
  };
  add(account.count > 1 ? fmt::format("one of {} calls", account.count) : "measured",
      estimate_text(account.first), estimate_text(account.second), change_of(account.time));
  for (const AccountedPart& part : account.parts)
    add(part.name, part.first, part.second, change_or_open(part, part.source == explain::kByTheClock));
  add(std::string(explain::rest_name(account.rest)), "", "", change_of(account.rest));
  Text text = fitted_table({parts, firsts, seconds, changes}, width) + multiply_line(account, width) + '\n';
  for (const AccountedPart& part : account.parts) {
    text += list_item(fmt::format("{}: {}", part.name, one_line(part.source)), width);
  }
  return text;
}

std::string cell_of_part(const Account& account, const std::string& name) {
  const auto found = std::ranges::find(account.parts, name, &AccountedPart::name);
  return found == account.parts.end() || !found->ratio ? std::string(kAbsent) : change_or_open(*found, false);
}

std::string cell_of_place(const Account& account) {
  const std::optional<RatioEstimate> place = explain::effect_of_place(account);
  return place ? change_of(*place) : std::string(kAbsent);
}

std::string signed_time(Nanoseconds change) {
  return (change < Nanoseconds(0) ? "-" : "+") + time_text(Nanoseconds(std::abs(change.value())));
}

// Shows what each circumstance does to the time of all calls.
Text total_account(const explain::AccountTotal& total, std::size_t operations, bool are_all,
                   std::size_t width) {
  TableColumn parts{are_all ? "all calls" : "calls of both", Align::left, {}},
      firsts{"first", Align::left, {}, 1}, seconds{"second", Align::left, {}, 1},
      places{"in operations", Align::right, {}, 2}, changes{"time", Align::right, {}};
  const auto add = [&](const std::string& name, const std::string& first, const std::string& second,
                       const std::string& place, const std::string& change) {
    parts.cells.push_back(name);
    firsts.cells.push_back(one_line(first));
    seconds.cells.push_back(one_line(second));
    places.cells.push_back(place);
    changes.cells.push_back(change);
  };
  add("measured", time_text(total.first.median, total.first.precision()),
      time_text(total.second.median, total.second.precision()), "", change_of(total.time));
  for (const explain::TotalPart& part : total.parts) {
    // The sentences above have the values of the operation that changed most.
    const bool is_same = part.of.empty();
    add(part.name, is_same ? part.first : "", is_same ? part.second : "",
        part.operations == operations ? "all" : fmt::format("{} of {}", part.operations, operations),
        change_or_open(part, part.acts_by_clock));
  }
  add(std::string(explain::rest_name(total.rest)), "", "", "", change_of(total.rest));
  return fitted_table({parts, firsts, seconds, places, changes}, width) + multiply_line(total, width);
}

Text several_accounts(const std::vector<Account>& accounts, const Page& page, bool are_all) {
  std::vector<const Account*> rows = explain::largest_change_first(accounts);
  const std::size_t all = rows.size();
  rows.resize(std::min(all, page.top.value_or(all)));
  // The usual main cause: between two days the clock; between a layer alone and PyTorch's the layer's place
  // in the network.
  const bool is_of_program = accounts.front().is_of_program;
  TableColumn names{"operation", Align::left, {}},
      firsts{is_of_program ? "alone" : "first", Align::right, {}, 6},
      seconds{is_of_program ? "PyTorch" : "second", Align::right, {}, 5}, changes{"time", Align::right, {}},
      adds{"adds", Align::right, {}, 4}, shares{"of the change", Align::right, {}},
      sources{is_of_program ? "by its place" : "by the clock", Align::right, {}, 1},
      rests{"rest", Align::right, {}, 2}, explained{"explained", Align::left, {}, 3};
  const std::optional<explain::AccountTotal> total = explain::total_of(accounts);
  const bool has_shares = total && total->is_changed();
  for (const Account* account : rows) {
    names.cells.push_back(one_line(explain::name_of(*account)));
    firsts.cells.push_back(time_text(account->first.median, account->first.precision()));
    seconds.cells.push_back(time_text(account->second.median, account->second.precision()));
    changes.cells.push_back(change_of(account->time));
    const Nanoseconds change = explain::change_of_all(*account);
    adds.cells.push_back(signed_time(change));
    shares.cells.push_back(has_shares ? percent_text(change / total->change()) : "");
    sources.cells.push_back(is_of_program ? cell_of_place(*account)
                                          : cell_of_part(*account, explain::kClock));
    rests.cells.push_back(change_of(account->rest));
    explained.cells.emplace_back(account->is_explained() ? "yes" : "no");
  }
  std::vector<TableColumn> columns = {names, firsts, seconds, changes, adds};
  if (has_shares) columns.push_back(shares);
  columns.insert(columns.end(), {sources, rests, explained});
  Text text = total ? total_account(*total, all, are_all, page.width) + '\n' : Text();
  text += fitted_table(std::move(columns), page.width);
  if (rows.size() < all) text += fmt::format("{} of {} operations; all: --top all.\n", rows.size(), all);
  return text;
}

}  // namespace

Text accounts_section(const std::vector<Account>& accounts, const Page& page, bool are_all) {
  if (accounts.empty()) return {};
  return accounts.size() == 1 ? one_account(accounts.front(), page.width)
                              : several_accounts(accounts, page, are_all);
}

}  // namespace jitterscope
