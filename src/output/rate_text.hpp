// Rates in words, and their shares of a ceiling.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "measure/achieved_rate.hpp"

namespace jitterscope {

/// In place of a share: a copy through memory is no ceiling for operands that stay in a cache.
inline constexpr std::string_view kInCache = "in cache";
/// In place of a share: what was to be the fastest was not.
inline constexpr std::string_view kAboveCeiling = "above";
/// For below a table with these words in its column of shares; empty where it has none.
std::string ceiling_words_explained(std::span<const std::string> shares);

/// "795 TFLOP/s" or "4.31 TB/s".
std::string rate_text(const AchievedRate& rate);
/// "79 %" of the measured ceiling, kInCache or kAboveCeiling; empty where none was measured.
std::string share_text(const AchievedRate& rate);

}  // namespace jitterscope
