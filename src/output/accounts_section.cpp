#include "output/accounts_section.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/quantity_text.hpp"
#include "output/display_text.hpp"
#include "output/estimate_text.hpp"
#include "output/ratio_text.hpp"
#include "output/table.hpp"

namespace jitterscope {
namespace {

using explain::Account;
using explain::AccountedPart;

std::string change_or_open(const std::optional<RatioEstimate>& ratio) {
  return ratio ? change_of(*ratio) : std::string("not known");
}

std::string one_account(const Account& account, std::size_t width) {
  TableColumn parts{"", Align::left, {}}, firsts{"first", Align::left, {}},
      seconds{"second", Align::left, {}}, changes{"time", Align::right, {}};
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
    add(part.name, part.first, part.second, change_or_open(part.ratio));
  add("rest", "", "", change_of(account.rest));
  std::string text = fitted_table({parts, firsts, seconds, changes}, width) + '\n';
  for (const AccountedPart& part : account.parts) {
    text += wrapped(fmt::format("- {}: {}", part.name, one_line(part.source)), width, 2);
  }
  return text;
}

const AccountedPart* part_named(const Account& account, const std::string& name) {
  const auto found = std::ranges::find(account.parts, name, &AccountedPart::name);
  return found == account.parts.end() ? nullptr : &*found;
}

std::string several_accounts(const std::vector<Account>& accounts, const Page& page) {
  std::vector<const Account*> rows = explain::largest_change_first(accounts);
  const std::size_t all = rows.size();
  rows.resize(std::min(all, page.top.value_or(all)));
  // What most of a difference comes from: between two days the clock, between a layer alone and PyTorch's the
  // place in the network.
  const bool is_of_trace = accounts.front().is_of_trace();
  TableColumn names{"operation", Align::left, {}},
      firsts{is_of_trace ? "alone" : "first", Align::right, {}, 2},
      seconds{is_of_trace ? "PyTorch" : "second", Align::right, {}, 2}, changes{"time", Align::right, {}},
      sources{is_of_trace ? "by its place" : "by the clock", Align::right, {}},
      rests{"rest", Align::right, {}}, explained{"explained", Align::left, {}, 1};
  for (const Account* account : rows) {
    names.cells.push_back(one_line(explain::name_of(*account)));
    firsts.cells.push_back(time_text(account->first.median, account->first.precision()));
    seconds.cells.push_back(time_text(account->second.median, account->second.precision()));
    changes.cells.push_back(change_of(account->time));
    const AccountedPart* source = part_named(*account, is_of_trace ? "network" : "clock");
    sources.cells.push_back(source && source->ratio ? change_of(*source->ratio) : std::string(kAbsent));
    rests.cells.push_back(change_of(account->rest));
    explained.cells.emplace_back(account->is_explained() ? "yes" : "no");
  }
  std::string text = fitted_table({names, firsts, seconds, changes, sources, rests, explained}, page.width);
  if (rows.size() < all) text += fmt::format("{} of {} operations; all: --top all.\n", rows.size(), all);
  return text;
}

}  // namespace

std::string accounts_section(const std::vector<Account>& accounts, const Page& page) {
  if (accounts.empty()) return {};
  return accounts.size() == 1 ? one_account(accounts.front(), page.width) : several_accounts(accounts, page);
}

}  // namespace jitterscope
