#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "explain/account.hpp"
#include "finding/evidence.hpp"

namespace jitterscope::explain {
namespace {

std::string change_words(const RatioEstimate& ratio) { return change_text(ratio.ratio - 1.0); }

std::string range_words(const RatioEstimate& ratio) {
  return fmt::format("{} to {}", change_text(ratio.low - 1.0), change_text(ratio.high - 1.0));
}

std::string account_sentence(const Account& account) {
  std::string text =
      fmt::format("{}, {}: {} in time ({})", name_of(account), conditions_text(account.first_conditions),
                  change_words(account.time), range_words(account.time));
  std::vector<std::string> known, unknown;
  for (const AccountedPart& part : account.parts) {
    if (!part.ratio) {
      unknown.push_back(part.name);
    } else if (part.ratio->ratio != 1.0) {
      known.push_back(fmt::format("{} accounts for {} ({})", part.name, change_words(*part.ratio),
                                  range_words(*part.ratio)));
    }
  }
  if (!known.empty()) text += "; " + joined(known, "; ");
  if (account.is_explained()) {
    text += fmt::format("; the rest, {}, is within what is not known ({})", change_words(account.rest),
                        range_words(account.rest));
  } else {
    text += fmt::format("; {} ({}) stays", change_words(account.rest), range_words(account.rest));
    text += unknown.empty() ? " unexplained" : ", and may come from " + joined(unknown, " or ");
  }
  return text + '.';
}

}  // namespace

std::vector<std::string> conclusions_of(const std::vector<Account>& accounts) {
  const std::vector<const Account*> sorted = largest_change_first(accounts);
  constexpr std::size_t kSaid = 3;
  std::vector<std::string> sentences, experiments;
  for (std::size_t i = 0; i < std::min(kSaid, sorted.size()); ++i) {
    sentences.push_back(account_sentence(*sorted[i]));
    for (const AccountedPart& part : sorted[i]->parts) {
      if (part.experiment.empty()) continue;
      std::string sentence = fmt::format("What {} does: {}", part.name, part.experiment);
      if (std::ranges::find(experiments, sentence) == experiments.end())
        experiments.push_back(std::move(sentence));
    }
  }
  sentences.insert(sentences.end(), experiments.begin(), experiments.end());
  return sentences;
}

}  // namespace jitterscope::explain
