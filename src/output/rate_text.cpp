#include "output/rate_text.hpp"

#include <algorithm>

#include "base/names.hpp"
#include "base/quantity_text.hpp"

namespace jitterscope {
namespace {

bool contains(std::span<const std::string> shares, std::string_view word) {
  return std::ranges::find(shares, word) != shares.end();
}

}  // namespace

std::string ceiling_words_explained(std::span<const std::string> shares) {
  std::vector<std::string> sentences;
  if (contains(shares, kInCache)) {
    sentences.emplace_back(
        "in cache: more bytes per second than memory gives, since the operands stay in a cache.");
  }
  if (contains(shares, kAboveCeiling)) {
    sentences.emplace_back(
        "above: faster than the large product that was measured as the ceiling, so this device's ceiling is "
        "not known; other work on the machine may have slowed that product.");
  }
  return joined(sentences, " ");
}

std::string rate_text(const AchievedRate& rate) {
  return rate_text(rate.per_second, rate.compute_bound ? "FLOP/s" : "B/s");
}

std::string share_text(const AchievedRate& rate) {
  if (!rate.ceiling_share) return {};
  if (rate.is_above_ceiling()) return std::string(rate.compute_bound ? kAboveCeiling : kInCache);
  return percent_text(std::min(*rate.ceiling_share, 1.0));
}

}  // namespace jitterscope
