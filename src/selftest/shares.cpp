#include "selftest/shares.hpp"

#include <fmt/format.h>

#include "selftest/lines.hpp"
#include "statistics/binomial.hpp"

namespace jitterscope::selftest {
namespace {

ProofLine share_line(std::string name, std::string target, const Share& share, bool holds, std::string note) {
  const statistics::Interval interval = statistics::clopper_pearson(share.hits, share.trials);
  return judged_line(std::move(name), std::move(target), share_text(share),
                     {ValueKind::share, share.value(), interval.low, interval.high}, holds, std::move(note));
}

}  // namespace

std::string share_text(const Share& share) {
  const statistics::Interval interval = statistics::clopper_pearson(share.hits, share.trials);
  return fmt::format("{} of {}: {:.1f} % ({:.1f}–{:.1f} %)", share.hits, share.trials, share.value() * 100,
                     interval.low * 100, interval.high * 100);
}

ProofLine at_least_line(std::string name, const Share& share, double least, bool holds, std::string note) {
  const bool is_possible = statistics::clopper_pearson(share.hits, share.trials).high >= least;
  return share_line(std::move(name), fmt::format("at least {:g} %", least * 100), share, holds && is_possible,
                    std::move(note));
}

ProofLine at_most_line(std::string name, const Share& share, double most, std::string note) {
  const bool is_possible = statistics::clopper_pearson(share.hits, share.trials).low <= most;
  return share_line(std::move(name), fmt::format("at most {:g} %", most * 100), share, is_possible,
                    std::move(note));
}

}  // namespace jitterscope::selftest
