#include "selftest/frequency.hpp"

#include <fmt/format.h>

#include "selftest/proof_lines.hpp"
#include "statistics/binomial.hpp"

namespace jitterscope::selftest {
namespace {

ProofLine share_line(std::string name, std::string words, const Frequency& share, ProofTarget target,
                     Verdict verdict, std::string note) {
  const statistics::Interval interval = statistics::clopper_pearson(share.hits, share.trials);
  return judged_line(std::move(name), std::move(words), frequency_text(share),
                     {ValueKind::share, share.value(), interval.low, interval.high, target}, verdict,
                     std::move(note));
}

}  // namespace

std::string frequency_text(const Frequency& share) {
  const statistics::Interval interval = statistics::clopper_pearson(share.hits, share.trials);
  return fmt::format("{} of {}: {:.1f} % ({:.1f}–{:.1f} %)", share.hits, share.trials, share.value() * 100,
                     interval.low * 100, interval.high * 100);
}

Verdict verdict_on(const Frequency& share, double least) {
  const statistics::Interval interval = statistics::clopper_pearson(share.hits, share.trials);
  if (interval.high < least) return Verdict::missed;
  const double refuting = 1.0 - 2.0 * (1.0 - least);
  return interval.low <= refuting ? Verdict::inconclusive : Verdict::passed;
}

ProofLine at_least_line(std::string name, const Frequency& share, double least, bool holds,
                        std::string note) {
  const Verdict verdict = holds ? verdict_on(share, least) : Verdict::missed;
  return share_line(std::move(name), fmt::format("at least {:g} %", least * 100), share, {least, 1.0},
                    verdict, std::move(note));
}

ProofLine at_most_line(std::string name, const Frequency& share, double most, std::string note) {
  const Verdict verdict = verdict_on({share.trials - share.hits, share.trials}, 1.0 - most);
  return share_line(std::move(name), fmt::format("at most {:g} %", most * 100), share, {0.0, most}, verdict,
                    std::move(note));
}

}  // namespace jitterscope::selftest
